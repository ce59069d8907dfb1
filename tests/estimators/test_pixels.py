"""PixelClassifier: images of any size, files, known pixels, wrong inputs."""

import itertools

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import nn

import crbm
from conftest import seeded
from crbm.commands.pixels.baselines import mean_mask
from crbm.estimators.pixels import answers, augmentation
from crbm.estimators.pixels.batches import ImageBatches, Scaling
from discs import disc

QUICK = {"channels": (4, 6), "n_hidden": 3, "n_epochs": 2, "batch_size": 2}


def pictures(n_labels=2, channels=3, sizes=((8, 10), (6, 6), (8, 10), (7, 9))):
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (*size, channels), np.uint8) for size in sizes]
    masks = [(image[..., 0].astype(int) * n_labels) // 256 for image in images]
    return images, masks


@pytest.fixture(scope="module")
def fitted():
    images, masks = pictures(n_labels=3)
    return crbm.PixelClassifier(**QUICK, random_state=0).fit(images, masks)


@pytest.fixture(scope="module")
def tiny():
    """A model of 2 x 3 images, whose masks can be enumerated."""
    rng = np.random.default_rng(1)
    images = rng.random((400, 2, 3))
    masks = np.where(rng.random((400, 1, 1)) < 0.5, images > 0.4, images < 0.6)
    return crbm.PixelClassifier(
        **{**QUICK, "n_epochs": 10, "batch_size": 20},
        patch=1,
        augment=False,
        learning_rate=0.03,
        random_state=0,
    ).fit(images, masks), images


ALL_MASKS = np.array(list(itertools.product((0, 1), repeat=6))).reshape(-1, 2, 3)


def probabilities(classifier, image):
    """p of all masks of a 2 x 3 image."""
    return np.exp(classifier.score_samples(np.stack([image] * 64), ALL_MASKS))


def test_probabilities_of_all_masks_sum_to_one_and_give_the_marginals(tiny):
    classifier, images = tiny
    p = probabilities(classifier, images[0])
    assert p.sum() == pytest.approx(1, abs=1e-4)
    expected = np.tensordot(p, ALL_MASKS, 1)
    found = classifier.predict_proba(images[0])
    np.testing.assert_allclose(found[..., 1], expected, atol=1e-4)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-6)
    np.testing.assert_array_equal(classifier.predict(images[0]), expected > 0.5)


def test_training_raises_the_joint_likelihood_above_independent_pixels(tiny):
    classifier, images = tiny
    p = probabilities(classifier, images[0])
    marginal = np.tensordot(p, ALL_MASKS, 1)
    apart = np.where(ALL_MASKS, marginal, 1 - marginal).prod((1, 2))
    assert np.abs(p - apart).max() > 0.01  # the pixels depend on each other


def test_few_updates_by_the_defaults_beat_the_mean_mask():
    rng = np.random.default_rng(0)
    data = [disc(rng, *rng.integers(24, 33, 2)) for _ in range(32)]
    images, masks = zip(*data, strict=True)
    classifier = crbm.PixelClassifier(n_epochs=4, random_state=0)
    classifier.fit(list(images[:20]), list(masks[:20]))
    common = mean_mask(masks[:20], n_labels=2)
    found = [classifier.predict(list(images[20:])), [common(x) for x in images[20:]]]
    ours, baseline = (
        crbm.metrics.iou(masks[20:], answer, "image", classes=[1]) for answer in found
    )
    assert ours > baseline + 0.1


def test_known_pixels_condition_the_others(tiny):
    classifier, images = tiny
    p = probabilities(classifier, images[0])
    known = np.full((2, 3), -1)
    known[0, 0], known[1, 2] = 1, 0
    agrees = (ALL_MASKS[:, 0, 0] == 1) & (ALL_MASKS[:, 1, 2] == 0)
    expected = np.tensordot(p * agrees, ALL_MASKS, 1) / p[agrees].sum()
    found = classifier.predict_proba(images[0], known=known)[..., 1]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    as_nan = np.where(known == -1, np.nan, known)
    np.testing.assert_array_equal(
        classifier.predict_proba(images[0], known=as_nan)[..., 1], found
    )
    drawn = classifier.sample(images[0], n=20, known=known, random_state=0)
    assert (drawn[:, 0, 0] == 1).all()
    assert (drawn[:, 1, 2] == 0).all()


def test_unlabelled_pixels_are_summed_out_of_scores(tiny):
    classifier, images = tiny
    p = probabilities(classifier, images[0])
    partly = np.where(np.arange(6).reshape(2, 3) < 4, ALL_MASKS[9], -1)
    agrees = (ALL_MASKS.reshape(64, 6)[:, :4] == partly.reshape(6)[:4]).all(1)
    score = classifier.score_samples(images[0], partly)
    assert score[0] == pytest.approx(np.log(p[agrees].sum()), abs=1e-4)


def test_samples_follow_the_joint_distribution(tiny):
    classifier, images = tiny
    p = probabilities(classifier, images[0])
    drawn = classifier.sample(images[0], n=4000, random_state=0).reshape(-1, 6)
    places = drawn @ (2 ** np.arange(5, -1, -1))
    share = np.bincount(places, minlength=64) / 4000
    # five standard errors of a share of 4,000 samples
    assert (np.abs(share - p) < 5 * np.sqrt(p / 4000) + 1e-3).all()
    again = classifier.sample(images[0], n=4000, random_state=0).reshape(-1, 6)
    np.testing.assert_array_equal(drawn, again)


def test_the_mode_is_likelier_than_the_marginals_answer(tiny):
    classifier, images = tiny
    mode = clone(classifier).set_params(prediction="mode")
    mode.__dict__.update({k: v for k, v in vars(classifier).items() if k[-1] == "_"})
    likely = mode.score_samples(images)
    assert (likely >= classifier.score_samples(images) - 1e-4).all()
    p = probabilities(classifier, images[0])
    assert likely[0] == pytest.approx(np.log(p.max()), abs=1e-3)


def test_mixed_sizes_are_answered_as_each_alone(fitted):
    images, masks = pictures(n_labels=3)
    together = fitted.predict_proba(images)
    scores = fitted.score_samples(images, masks)
    for image, mask, found, score in zip(images, masks, together, scores, strict=True):
        np.testing.assert_allclose(fitted.predict_proba(image), found, atol=1e-5)
        alone = fitted.score_samples(image, mask)[0]
        assert alone == pytest.approx(score, rel=1e-4)
        assert found.shape == (*mask.shape, 3)


def test_the_form_of_the_answer_follows_the_images(fitted):
    images, _ = pictures(n_labels=3)
    assert isinstance(fitted.predict(images), list)
    stack = np.stack([images[0], images[2]])
    assert fitted.predict(stack).shape == (2, 8, 10)
    assert fitted.predict(images[0]).shape == (8, 10)
    assert fitted.predict_proba(stack).shape == (2, 8, 10, 3)
    assert fitted.sample(stack, n=4).shape == (2, 4, 8, 10)


def test_large_images_are_joined_from_windows(fitted, monkeypatch):
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (40, 23, 3), np.uint8)
    monkeypatch.setattr(answers, "TILE", 16)
    monkeypatch.setattr(answers, "OVERLAP", 4)
    seen = np.zeros((40, 23), int)
    for window in answers.windows(40, 23):
        seen[window.keep] += 1
        assert window.read[0].stop - window.read[0].start <= 16
        np.testing.assert_array_equal(
            image[window.read][window.inside], image[window.keep]
        )
    assert (seen == 1).all()
    proba = fitted.predict_proba(image)
    assert proba.shape == (40, 23, 3)
    first = fitted.predict_proba(image[:16, :16])
    np.testing.assert_allclose(proba[:12, :12], first[:12, :12], atol=1e-5)
    assert fitted.sample(image, n=2).shape == (2, 40, 23)


def test_a_saved_classifier_predicts_the_same_bit_for_bit(fitted, tmp_path):
    images, masks = pictures(n_labels=3)
    fitted.save(tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    assert repr(loaded) == repr(clone(fitted).set_params(channels=[4, 6]))
    for one, other in zip(
        fitted.predict_proba(images), loaded.predict_proba(images), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(
        fitted.score_samples(images, masks), loaded.score_samples(images, masks)
    )
    assert loaded.history_.loss == fitted.history_.loss


class Network(nn.Module):
    def __init__(self, n_inputs, n_maps):
        super().__init__()
        self.layer = nn.Conv2d(n_inputs, n_maps, 3, padding=1)

    def forward(self, u):
        return self.layer(u)


def test_a_network_of_ones_own_is_trained_on_a_copy_and_passed_to_load(tmp_path):
    images, masks = pictures()
    own = Network(3, 7)
    before = own.layer.weight.detach().clone()
    classifier = crbm.PixelClassifier(**{**QUICK, "network": own}).fit(images, masks)
    assert torch.equal(own.layer.weight, before)
    path = tmp_path / "m.safetensors"
    classifier.save(path)
    with pytest.raises(ValueError, match=r"crbm.load\(path, network=module\)"):
        crbm.load(path)
    loaded = crbm.load(path, network=Network(3, 7))
    np.testing.assert_array_equal(
        loaded.predict(images[0]), classifier.predict(images[0])
    )
    made = crbm.PixelClassifier(**{**QUICK, "network": Network}).fit(images, masks)
    assert isinstance(made.model_.network, Network)


def test_linear_and_convolutional_models_fit(tmp_path):
    images, masks = pictures(channels=1)
    classifier = crbm.PixelClassifier(
        network=None, n_hidden_channels=2, kernel_size=3, n_epochs=2, random_state=0
    ).fit(images, masks)
    assert classifier.model_.network is None
    assert classifier.sample(images[1], n=2).shape == (2, 6, 6)
    assert np.isfinite(classifier.score_samples(images[1], masks[1])).all()
    classifier.save(tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(
        loaded.predict(images[0]), classifier.predict(images[0])
    )


def test_bytes_and_floats_of_the_same_numbers_train_alike():
    images, masks = pictures()
    first = crbm.PixelClassifier(**QUICK, random_state=0).fit(images, masks)
    floats = [image.astype(np.float64) for image in images]
    second = crbm.PixelClassifier(**QUICK, random_state=0).fit(floats, masks)
    np.testing.assert_array_equal(
        first.predict_proba(images[0]), second.predict_proba(floats[0])
    )


def test_ignored_pixels_change_nothing():
    images, masks = pictures()
    ignored = [np.where(np.arange(m.shape[1]) < 3, 255, m) for m in masks]
    other = [np.where(m == 255, np.nan, m) for m in ignored]
    one = crbm.PixelClassifier(**QUICK, ignore=255, random_state=0)
    two = crbm.PixelClassifier(**QUICK, random_state=0)
    np.testing.assert_array_equal(
        one.fit(images, ignored).predict_proba(images[0]),
        two.fit(images, other).predict_proba(images[0]),
    )


def test_changes_keep_image_and_mask_aligned():
    mask = torch.zeros(8, 24, 32, dtype=torch.int64)
    mask[:, 6:15, 4:19] = 1
    images = mask[:, None].float() * 2 + 1  # brightness tells the label
    changes = augmentation.Changes(("flip", "shift", "scale", "rotate"))
    moved, labels = changes(images, mask, seeded(0))
    assert (labels != mask).any((1, 2)).all()
    sure = (moved[:, 0] < 1.02) | (moved[:, 0] > 2.98)  # away from blended edges
    assert sure.float().mean() > 0.8
    assert torch.equal((moved[:, 0] > 2)[sure], (labels == 1)[sure])
    recoloured, same = augmentation.Changes(("colour",))(images, mask, seeded(0))
    assert torch.equal(same, mask)
    assert not torch.equal(recoloured, images)


def test_padding_of_a_batch_has_unknown_labels():
    images, masks = pictures(sizes=((4, 6), (5, 3)))
    batches = ImageBatches(images, masks, 2, Scaling.fit(images), None, 2)
    (batch,) = batches.loader()
    assert batch.u.shape == (2, 3, 5, 6)
    unknown = sorted(int(v.isnan().sum()) for v in batch.v)
    assert unknown == [30 - 24, 30 - 15]


def test_a_function_augments_each_batch():
    images, masks = pictures()
    seen = []

    def augment(u, labels, generator):
        seen.append((tuple(u.shape), labels.dtype))
        return u, labels

    crbm.PixelClassifier(**QUICK, augment=augment).fit(images, masks)
    assert len(seen) == 4
    assert all(dtype == torch.int64 for _, dtype in seen)


def test_images_of_many_pixels_are_labelled_in_any_sequence():
    image = np.random.default_rng(0).random((40, 30))
    classifier = crbm.PixelClassifier(**QUICK, random_state=0)
    classifier.fit((image,), ((image > 0.5).astype(int),))
    assert classifier.predict((image,))[0].shape == (40, 30)
    assert np.isfinite(classifier.score_samples(image, image > 0.5)).all()


def test_parameters_follow_the_contract_of_scikit_learn():
    classifier = crbm.PixelClassifier(n_hidden=3, augment=("flip",))
    copied = clone(classifier)
    assert copied.get_params() == classifier.get_params()
    assert repr(copied) == "PixelClassifier(augment=('flip',), n_hidden=3)"
    with pytest.raises(NotFittedError):
        copied.predict(np.zeros((4, 4)))


def test_an_interrupted_fit_leaves_the_classifier_as_it_was(fitted):
    images, masks = pictures(n_labels=3)
    classifier = clone(fitted).fit(images, masks)
    before = classifier.predict_proba(images[0])

    def interrupt(u, labels, generator):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        classifier.set_params(augment=interrupt).fit(images, masks)
    np.testing.assert_array_equal(classifier.predict_proba(images[0]), before)


IMAGE, MASK = np.zeros((4, 5)), np.zeros((4, 5), int)
WRONG = {
    "no images": (([], []), "at least one image"),
    "one dimension": (([np.zeros(4)], [MASK]), "image 0 has"),
    "an empty image": (([np.zeros((0, 5))], [np.zeros((0, 5))]), "none of them 0"),
    "text": (([np.array([["a"]])], [MASK]), "must hold numbers"),
    "NaN": (([np.full((4, 5), np.nan)], [MASK]), "must be finite"),
    "channels": (([IMAGE, np.zeros((4, 5, 3))], [MASK, MASK]), "1 channels; image 1"),
    "too few masks": (([IMAGE, IMAGE], [MASK]), "one mask per image; got 1 for 2"),
    "size": (([IMAGE], [MASK.T]), "as large as its image"),
    "fractions": (([IMAGE], [MASK + 0.5]), "whole numbers"),
    "negative": (([IMAGE], [MASK - 7]), "numbered from 0"),
    "0 and 255": (([IMAGE], [np.array([[0, 255] * 10]).reshape(4, 5)]), "mask // 255"),
    "nothing labelled": (([IMAGE], [MASK - 1]), "all pixels are ignored"),
    "masks as a number": ((IMAGE, 3), "one mask per image"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_images_get_one_clear_line(name):
    (images, masks), message = WRONG[name]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        crbm.PixelClassifier(**QUICK).fit(images, masks)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"network": "resnet"}, "`network` must be"),
        ({"augment": "flip"}, "`augment` must be"),
        ({"augment": ("blur",)}, "`augment` must be one of"),
        ({"prediction": "best"}, "`prediction` must be one of"),
        ({"n_hidden": 1}, "from 2 to 256"),
        ({"n_labels": 2}, "labels from 0 to 1; got 2"),
    ],
)
def test_wrong_parameters_are_refused_in_fit(parameters, message):
    masks = [np.arange(20).reshape(4, 5) % 3]
    with pytest.raises((ValueError, TypeError), match=message):
        crbm.PixelClassifier(**{**QUICK, **parameters}).fit([IMAGE], masks)


def test_wrong_images_and_known_pixels_are_refused_in_predict(fitted):
    with pytest.raises(ValueError, match="3 channels"):
        fitted.predict([IMAGE])
    image = np.zeros((4, 5, 3))
    with pytest.raises(ValueError, match="labels from 0 to 2; got 3"):
        fitted.predict(image, known=MASK + 3)
    with pytest.raises(ValueError, match="`known`, mask 0"):
        fitted.predict(image, known=MASK.T)
