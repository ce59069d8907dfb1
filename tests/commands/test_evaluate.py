"""`crbm evaluate`: the measures of `crbm.metrics`, overall and per label."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

import crbm
from crbm import datasets, metrics
from crbm.commands import evaluate, measures, train
from crbm.commands.reading import Reading
from crbm.preprocessing import TableWarning


def test_measures_equal_those_of_crbm_metrics(trained, folder, pets):
    report = evaluate.run(trained, str(folder / "pets.csv"), per_label=True)
    model = crbm.load(trained)
    Y, predicted, p = pets.Y, model.predict(pets.X), model.predict_proba(pets.X)
    assert report["n_cases"] == 120
    assert report["metrics"] == {
        "hamming_error": metrics.hamming_error(Y, predicted),
        "subset_accuracy": metrics.subset_accuracy(Y, predicted),
        "example_f1": metrics.example_f1(Y, predicted),
        "jaccard": metrics.jaccard(Y, predicted),
        "micro_f1": metrics.micro_f1(Y, predicted),
        "macro_f1": metrics.macro_f1(Y, predicted),
        "average_precision": metrics.average_precision(Y, p),
        "ranking_loss": metrics.ranking_loss(Y, p),
        "label_log_loss": metrics.label_log_loss(Y, p),
        "expected_calibration_error": metrics.expected_calibration_error(Y, p),
        "joint_log_loss": metrics.joint_log_loss(model.score_samples(pets.X, Y)),
        "impossible_share": metrics.impossible_share(model.score_samples(pets.X, Y)),
    }
    cat = report["labels"][1]
    assert cat["label"] == "cat"
    assert cat["frequency"] == Y[:, 1].mean()
    assert cat["error"] == pytest.approx((Y[:, 1] != predicted[:, 1]).mean())
    assert cat["f1"] == pytest.approx(f1_score(Y[:, 1], predicted[:, 1]))


def test_the_official_test_part_is_the_default(trained, pets, tmp_path):
    rows = {"train": np.arange(100), "test": np.arange(100, 120)}
    parts = datasets.Dataset(
        X=pets.X, Y=pets.Y, label_names=pets.label_names, splits=rows
    )
    datasets.write(tmp_path / "parts.npz", parts)
    source = str(tmp_path / "parts.npz")
    assert evaluate.run(trained, source)["n_cases"] == 20
    everything = evaluate.run(trained, source, reading=Reading(part="all"))
    assert everything["n_cases"] == 120


def test_noisy_images_get_the_error_on_changed_pixels(tmp_path):
    clean = np.eye(12, dtype=np.uint8)
    noisy = clean.copy()
    noisy[0, 0], noisy[1, 5] = 0, 1
    datasets.write(tmp_path / "d.npz", datasets.Dataset(X=noisy, Y=clean))
    out = tmp_path / "m.safetensors"
    train.run(
        str(tmp_path / "d.npz"),
        out,
        model="logreg",
        parameters={"n_epochs": 1, "random_state": 0},
    )
    found = evaluate.run(out, str(tmp_path / "d.npz"))["metrics"]
    predicted = crbm.load(out).predict(noisy)
    assert found["changed_error"] == metrics.changed_error(clean, predicted, noisy)


def test_data_without_the_labels_is_refused(trained, tmp_path):
    (tmp_path / "new.csv").write_text("length,weight,legs,teeth\n1,2,3,4\n")
    with pytest.raises(ValueError, match="all labels of the model, `dog`"):
        evaluate.run(trained, str(tmp_path / "new.csv"))


def test_sets_with_labels_that_the_model_does_not_know_are_noticed(tmp_path):
    file, out = tmp_path / "a.csv", tmp_path / "m.safetensors"
    rows = "".join(f"{i % 7},{('dog', 'dog;cat')[i % 2]}\n" for i in range(30))
    file.write_text("x,is\n" + rows)
    reading = Reading(labels=("is",), label_separator=";")
    parameters = {"n_epochs": 1, "random_state": 0}
    train.run(str(file), out, model="logreg", parameters=parameters, reading=reading)
    file.write_text("x,is\n1,dog;cow\n")
    with pytest.warns(TableWarning, match="the model does not know: `cow`"):
        evaluate.run(out, str(file))
    file.write_text("x\n1\n")
    with pytest.raises(ValueError, match="the column `is`, which holds the labels"):
        evaluate.run(out, str(file))


def test_the_calibration_curve_is_drawn(trained, folder, tmp_path):
    evaluate.run(trained, str(folder / "pets.csv"), draw=tmp_path / "c.svg")
    assert "observed frequency" in (tmp_path / "c.svg").read_text()


def test_every_measure_has_a_meaning():
    for name in ("label_log_loss", "joint_log_loss", "changed_error"):
        assert len(measures.meaning(name)) > 20
        assert not {"mask", "least"} & set(measures.meaning(name).split())
