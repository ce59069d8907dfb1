"""Commands on tables whose labels are columns of classes."""

import numpy as np
import pandas as pd
import pytest

import crbm
from crbm.commands import evaluate, predict, train
from crbm.commands.reading import Reading
from crbm.web.prediction import Case, top_sets

RNG = np.random.default_rng(0)
KIND = RNG.integers(3, size=120)
COLOURS = (KIND + RNG.integers(2, size=120)) % 4
PETS = pd.DataFrame(
    {
        "weight": KIND + 0.2 * RNG.normal(size=120),
        "ears": RNG.normal(size=120),
        "animal": np.array(["cat", "dog", "mouse"])[KIND],
        "colour": np.array(["black", "white", "grey", "brown"])[COLOURS],
    }
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pets")
    PETS.to_csv(folder / "pets.csv", index=False)
    PETS[["animal"]].to_csv(folder / "known.csv", index=False)
    train.run(
        str(folder / "pets.csv"),
        folder / "m.safetensors",
        model="crbm",
        parameters={"n_hidden": 8, "n_epochs": 30, "random_state": 0},
        reading=Reading(labels=("animal", "colour")),
        held_out=0.2,
    )
    return folder


def test_predictions_are_the_classes_by_name(files):
    model, data = files / "m.safetensors", str(files / "pets.csv")
    columns = {c.name: c.values for c in predict.run(model, data).columns}
    assert list(columns) == ["animal", "colour"]
    assert (columns["animal"] == PETS["animal"]).mean() > 0.7
    given = predict.run(model, data, known=files / "known.csv").columns
    assert (given[0].values == PETS["animal"]).all()
    chances = predict.run(model, data, proba=True)
    assert [c.name for c in chances.columns][2:4] == ["animal=mouse", "colour=black"]
    total = chances.arrays["probability"].sum(1)
    np.testing.assert_allclose(total, 2, rtol=1e-5)  # single precision
    top = predict.run(model, data, top_k=2)
    assert top.arrays["labels"].shape == (120, 2, 2)
    assert set(top.arrays["labels"][..., 0].flat) <= {"cat", "dog", "mouse"}


def test_few_rows_need_not_have_all_classes(files):
    few = PETS[PETS["animal"] == "cat"].iloc[:2]
    few.to_csv(files / "few.csv", index=False)
    few[["animal"]].to_csv(files / "few-known.csv", index=False)
    model, data = files / "m.safetensors", str(files / "few.csv")
    whole = predict.run(model, str(files / "pets.csv")).columns
    for column, all_rows in zip(predict.run(model, data).columns, whole, strict=True):
        assert (column.values == all_rows.values[few.index]).all()
    given = predict.run(model, data, known=files / "few-known.csv").columns
    assert list(given[0].values) == ["cat", "cat"]
    assert evaluate.run(model, data)["metrics"]["subset_accuracy"] >= 0


def test_evaluation_and_pages_know_the_names(files):
    model = files / "m.safetensors"
    found = evaluate.run(model, str(files / "pets.csv"))
    labels = crbm.load(model).predict(PETS[["weight", "ears"]].to_numpy())
    right = (labels == PETS[["animal", "colour"]].to_numpy()).all(1).mean()
    assert found["metrics"]["subset_accuracy"] == pytest.approx(right)
    assert "animal=mouse" in (files / "m.report.html").read_text()
    sets = top_sets(crbm.load(model), Case(np.array([2.0, 0.0])), 2).sets
    assert sets[0].labels[0] == "animal=mouse"


def test_a_model_of_labels_refuses_classes(files):
    with pytest.raises(
        ValueError, match=r"column `animal`: .mouse. .* `crf` does not predict"
    ):
        train.run(
            str(files / "pets.csv"),
            files / "n.safetensors",
            model="crf",
            reading=Reading(labels=("animal",)),
        )
