"""PixelClassifier: predictions for an image and its mirror image."""

import numpy as np
import pytest

import crbm
from crbm import persistence

QUICK = {"channels": (4, 6), "n_hidden": 3, "n_epochs": 2, "random_state": 0}
RNG = np.random.default_rng(0)
IMAGES = RNG.random((6, 8, 12))
MASKS = (IMAGES + np.linspace(0, 1, 12) > 0.9).astype(int)


def fit(**parameters):
    return crbm.PixelClassifier(**{**QUICK, **parameters}).fit(IMAGES, MASKS)


def nothing(images, masks, generator):
    return images, masks


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, True),
        ({"augment": ("shift", "flip")}, True),
        ({"augment": ("shift",)}, False),
        ({"augment": False}, False),
        ({"augment": nothing}, False),
        ({"augment": nothing, "mirror": True}, True),
        ({"mirror": False}, False),
        ({"n_hidden": 0}, True),
        ({"n_hidden_channels": 2}, False),
    ],
)
def test_predictions_mirror_where_training_does_or_it_is_asked(parameters, expected):
    fitted = fit(**parameters)
    p, of_mirrored = (fitted.predict_proba(x) for x in (IMAGES, IMAGES[:, :, ::-1]))
    assert np.allclose(p, of_mirrored[:, :, ::-1], atol=1e-5) == expected
    assert fitted.mirrors_ == expected


def test_files_keep_it_and_earlier_ones_do_without(tmp_path):
    fitted, path = fit(), tmp_path / "m.safetensors"
    fitted.save(path)
    assert np.array_equal(
        crbm.load(path).predict_proba(IMAGES), fitted.predict_proba(IMAGES)
    )
    tensors, description = persistence.read(path)
    del description["fitted"]["mirrors_"]
    persistence.write(path, tensors, description)
    earlier = crbm.load(path).predict_proba(IMAGES)
    fitted.mirrors_ = False
    assert np.array_equal(earlier, fitted.predict_proba(IMAGES))


def test_maps_of_hidden_units_are_refused():
    with pytest.raises(ValueError, match="`mirror` needs `n_hidden_channels`=0"):
        fit(mirror=True, n_hidden_channels=2)
