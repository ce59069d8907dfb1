"""The commands on folders of images: what is trained, written, measured, refused."""

import json
import weakref

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import crbm
from crbm import metrics
from crbm.cli import app
from crbm.commands.pixels import baselines, measures, predict
from crbm.commands.pixels.data import ImageReading, is_images
from crbm.commands.pixels.progress import track
from discs import quick_classifier, write_folder


def run(*arguments):
    """The exit code, standard output and standard error of a command."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr


QUICK = ["--epochs", "12", "--set", "channels=(8,)", "--set", "patch=1"]
QUICK += ["--set", "n_hidden=2", "--set", "batch_size=4", "--set", "augment=False"]
QUICK += ["--set", "learning_rate=0.02"]


def test_a_folder_becomes_a_model_then_masks_then_measures(discs, tmp_path):
    model, out = tmp_path / "m.safetensors", tmp_path / "predicted"
    masks = ["--masks", discs / "masks"]
    code, printed, errors = run(
        *("train", discs / "images", *masks, "--out", model, *QUICK),
        *("--labels", "background,disc", "--json"),
    )
    assert code == 0, errors
    report = json.loads(printed)
    own = report["held_out"]["metrics"]["PixelClassifier"]
    assert list(report["held_out"]["metrics"]) == [
        "PixelClassifier",
        "most common answer",
        "logistic regression",
    ]
    assert (report["held_out"]["n_cases"], report["held_out"]["n_train"]) == (2, 18)
    assert own["image_iou"] > 0.7
    page = (tmp_path / "m.report.html").read_text()
    assert "2 held-out images" in page
    assert page.count("data:image/png;base64") == 6

    code, printed, errors = run("predict", model, discs / "images", "--out", out)
    assert (code, printed) == (0, f"20 label PNGs written to {out}\n"), errors
    assert len(list(out.iterdir())) == 20
    overlaps = []
    for place in range(20):
        found = np.array(Image.open(out / f"image-{place}.png"))
        truth = np.array(Image.open(discs / "masks" / f"mask-{place}.png"))
        assert set(np.unique(found)) <= {0, 255}  # the coding of the training masks
        overlaps.append(metrics.iou(truth // 255, found // 255))

    code, printed, errors = run("evaluate", model, discs / "images", *masks, "--json")
    assert code == 0, errors
    report = json.loads(printed)
    assert report["metrics"]["image_iou"] == pytest.approx(np.mean(overlaps))
    assert "trained on these" in report["notices"][0]

    code, printed, errors = run("inspect", model)
    assert code == 0, errors
    assert "background, disc" in printed
    assert "PixelClassifier" in printed


def test_probability_maps_are_those_of_the_model(discs, disc_model, tmp_path):
    code, _, errors = run(
        "predict",
        disc_model,
        discs / "images/image-3.png",
        "--out",
        tmp_path,
        "--proba",
    )
    assert code == 0, errors
    found = np.array(Image.open(tmp_path / "probability/1-disc/image-3.png")) / 65535
    image = crbm.datasets.read_image(discs / "images/image-3.png")
    expected = crbm.load(disc_model).predict_proba(image)[..., 1]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    mask = np.array(Image.open(tmp_path / "image-3.png"))
    np.testing.assert_array_equal(mask == 255, expected > 0.5)


def test_a_model_of_three_labels_ignores_pixels_that_nobody_labelled(tmp_path):
    folder = write_folder(tmp_path, 8, n_labels=3)
    for path in (folder / "masks").iterdir():  # 0, 127, 254; a strip is not labelled
        mask = np.array(Image.open(path))
        mask[:2] = 255
        Image.fromarray(mask).save(path)
    model = tmp_path / "m.safetensors"
    masks = ["--masks", folder / "masks"]
    code, printed, errors = run(
        *("train", folder / "images", *masks, "--ignore", "255", "--held-out", "0"),
        *("--out", model, *QUICK, "--json"),
    )
    assert code == 0, errors
    classifier = crbm.load(model)
    assert classifier.n_labels_ == 3
    code, printed, errors = run(
        "evaluate", model, folder / "images", *masks, "--per-label", "--json"
    )
    assert code == 0, errors
    rows = json.loads(printed)["labels"]
    assert [row["label"] for row in rows] == ["0", "127", "254"]
    assert sum(row["share"] for row in rows) == pytest.approx(1)


def test_arrays_and_names_are_images_too(discs, tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (4, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", images=images, masks=(images > 127).astype(np.uint8))
    np.savez(tmp_path / "b.npz", X=np.zeros((3, 2)), Y=np.zeros((3, 2)))
    assert is_images(str(tmp_path / "a.npz"))
    assert not is_images(str(tmp_path / "b.npz"))
    assert is_images(str(discs / "images"))
    assert is_images("camvid")
    assert not is_images("yeast")
    model = tmp_path / "m.safetensors"
    code, _, errors = run("train", tmp_path / "a.npz", "--out", model, *QUICK)
    assert code == 0, errors
    code, printed, errors = run("evaluate", model, tmp_path / "a.npz", "--json")
    assert code == 0, errors
    assert json.loads(printed)["metrics"]["accuracy"] > 0.9
    assert run("predict", model, tmp_path / "a.npz", "--out", tmp_path / "o")[0] == 0
    assert (tmp_path / "o" / "00003.png").exists()


def one_line(result):
    code, printed, errors = result
    assert code == 2, (printed, errors)
    assert errors.count("\n") == 1, errors
    return errors


def test_wrong_calls_get_one_line(discs, disc_model, tmp_path):
    images, masks = discs / "images", discs / "masks"
    out = ["--out", tmp_path / "m.safetensors"]
    assert "has no masks to learn from" in one_line(run("train", images, *out))
    (tmp_path / "empty").mkdir()
    assert "no image files" in one_line(
        run("train", tmp_path / "empty", "--masks", masks, *out)
    )
    assert "--preprocessing does not apply" in one_line(
        run("train", images, "--masks", masks, "--preprocessing", "rank", *out)
    )
    assert "--validation does not apply" in one_line(
        run("train", images, "--masks", masks, "--validation", "0.1", *out)
    )
    assert "no parameter `n_hiden`. Did you mean `n_hidden`?" in one_line(
        run("train", images, "--masks", masks, "--set", "n_hiden=3", *out)
    )
    assert "no label `7`" in one_line(
        run("train", images, "--masks", masks, "--ignore", "7", *out)
    )
    assert "3 names were given for the 2 labels" in one_line(
        run("train", images, "--masks", masks, "--labels", "a,b,c", *out)
    )
    assert "name it with --out" in one_line(run("predict", disc_model, images))
    assert "holds the images themselves" in one_line(
        run("predict", disc_model, images, "--out", images, "--force")
    )
    assert "give the name of a folder" in one_line(
        run("predict", disc_model, images / "image-0.png", "--out", tmp_path / "o.png")
    )
    assert "no masks to compare with" in one_line(run("evaluate", disc_model, images))
    assert "--top-k and --known do not apply" in one_line(
        run("predict", disc_model, images, "--out", tmp_path / "o", "--top-k", "2")
    )
    assert "There is no folder or file" in one_line(
        run("predict", disc_model, tmp_path / "nowhere", "--out", tmp_path / "o")
    )
    assert not (tmp_path / "m.safetensors").exists()


def test_wrong_files_among_good_ones_are_named(disc_model, tmp_path):
    folder = write_folder(tmp_path, 3)
    path = folder / "images" / "image-1.png"
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    call = ["predict", disc_model, folder / "images", "--out", tmp_path / "out"]
    assert "image-1.png`: truncated or damaged" in one_line(run(*call))
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["image-0.png"]
    path.write_bytes(whole)
    assert "image-0.png` exists" in one_line(run(*call))
    assert run(*call, "--force")[0] == 0
    mask = folder / "masks" / "mask-1.png"
    shape = crbm.datasets.read_image(path).shape[:2]
    Image.fromarray(np.full(shape, 9, np.uint8)).save(mask)
    call = ["evaluate", disc_model, folder / "images", "--masks", folder / "masks"]
    assert "mask-1.png`: has pixels of value 9; the labels are 0, 255" in one_line(
        run(*call)
    )
    Image.new("L", (3, 3)).save(mask)
    assert "3 x 3; they must be of one size" in one_line(run(*call))


def test_grey_images_are_read_in_colour_for_a_colour_model(disc_model, tmp_path):
    Image.new("L", (9, 7), 80).save(tmp_path / "grey.png")
    code, _, errors = run("predict", disc_model, tmp_path, "--out", tmp_path / "out")
    assert code == 0, errors
    found = crbm.datasets.read_image(tmp_path / "out" / "grey.png")
    assert found.shape[:2] == (7, 9)


def test_interrupted_labelling_keeps_what_is_done(discs, disc_model, tmp_path):
    classifier = crbm.load(disc_model)
    seen = []

    class Impatient(crbm.PixelClassifier):
        def predict(self, images, known=None):
            seen.append(1)
            if len(seen) == 3:
                raise KeyboardInterrupt
            return classifier.predict(images)

    impatient = Impatient()
    impatient.n_channels_, impatient.n_labels_ = 3, 2
    with pytest.raises(KeyboardInterrupt, match="stopped: 2 of 20 images"):
        predict.run(impatient, str(discs / "images"), tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_measures_agree_with_the_metrics():
    rng = np.random.default_rng(0)
    for n_labels in (2, 4):
        truth = [rng.integers(0, n_labels, (5, 6)) for _ in range(4)]
        truth[2] = np.zeros((3, 3), dtype=int)
        said = [np.where(rng.random(t.shape) < 0.7, t, 0) for t in truth]
        said[1] = truth[1]
        counts = np.stack(
            [
                measures.confusion(t, s, n_labels)
                for t, s in zip(truth, said, strict=True)
            ]
        )
        found = measures.measures(counts)
        assert found["image_iou"] == pytest.approx(metrics.iou(truth, said))
        for key, average in {"class_iou": "class", "pixel_iou": "pixels"}.items():
            assert found[key] == pytest.approx(metrics.iou(truth, said, average))
        right = np.concatenate(
            [(t == s).ravel() for t, s in zip(truth, said, strict=True)]
        )
        assert found["accuracy"] == pytest.approx(right.mean())
        assert found["whole"] == np.mean(
            [(t == s).all() for t, s in zip(truth, said, strict=True)]
        )


def test_pixels_without_a_label_do_not_count():
    truth, said = np.array([[0, 1, -1]]), np.array([[0, 0, 1]])
    assert measures.confusion(truth, said, 2).tolist() == [[1, 0], [1, 0]]


def test_the_mean_mask_is_the_most_common_label_of_each_place():
    rng = np.random.default_rng(0)
    masks = [rng.integers(0, 3, (64, 64)) for _ in range(5)]
    answer = baselines.mean_mask(masks, 3)(np.zeros((64, 64)))
    counts = np.stack([(np.stack(masks) == label).sum(0) for label in range(3)])
    np.testing.assert_array_equal(answer, counts.argmax(0))


def test_logistic_regression_learns_brightness_and_place():
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (20, 30), dtype=np.uint8) for _ in range(4)]
    bright = [(image > 127).astype(np.int64) for image in images]
    answer = baselines.logistic_regression(images[:3], bright[:3])
    assert (answer(images[3]) == bright[3]).mean() > 0.95
    left = [np.tile(np.arange(30) < 15, (20, 1)).astype(np.int64)] * 4
    answer = baselines.logistic_regression(images[:3], left[:3])
    assert (answer(images[3]) == left[3]).mean() > 0.95
    assert baselines.logistic_regression(images, [np.zeros((20, 30), int)] * 4) is None


def test_progress_is_printed_where_it_is_asked_for(capsys):
    assert list(track(range(30), "Labelling", show=True)) == list(range(30))
    assert "Labelling 30/30" in capsys.readouterr().err
    assert list(track(range(3), "Labelling")) == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_images_are_read_and_forgotten_one_at_a_time(discs, disc_model, tmp_path):
    alive, most = [], []

    def read(path, **options):
        image = crbm.datasets.read_image(path, **options)
        alive.append(path)
        weakref.finalize(image, alive.remove, path)
        most.append(len(alive))
        return image

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crbm.datasets.images.dataset.read_image", read)
        predict.run(crbm.load(disc_model), str(discs / "images"), tmp_path / "out")
    assert len(most) == 20
    assert max(most) <= 2  # the next one is read before the last one is replaced


def test_reading_of_images_is_made_from_the_options_of_tables():
    from crbm.commands.reading import Reading

    found = ImageReading.of(Reading(labels=("a", "b"), part="test"), ignore="b")
    assert found == ImageReading(names=("a", "b"), part="test", ignore="b")
    with pytest.raises(ValueError, match="--labels must be the names"):
        ImageReading.of(Reading(labels=-3))
    assert quick_classifier().n_epochs == 12
