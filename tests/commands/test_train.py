"""`crbm train` on files: the model, its file, and the errors."""

import numpy as np
import pytest
import torch

import crbm
from crbm import datasets, metrics
from crbm.commands import train
from crbm.commands.reading import Reading


def test_the_model_file_includes_the_scaling_of_the_inputs(trained, pets):
    model = crbm.load(trained)
    assert model.preprocessor_.kind == "standardise"
    assert (
        metrics.hamming_error(pets.Y, model.predict(pets.X)) < 0.12
    )  # one label in twenty is noise
    assert model.label_names_ == list(pets.label_names)
    assert model.trained_on_["feature_names"] == list(pets.feature_names)


@pytest.mark.parametrize("model", [name for name in train.MODELS if name != "auto"])
def test_every_kind_trains(model, folder, tmp_path):
    out = tmp_path / "m.safetensors"
    report = train.run(
        str(folder / "pets.npz"),
        out,
        model=model,
        parameters={"n_epochs": 2, "random_state": 0},
        validation=0.2,
    )
    assert type(crbm.load(out)) is train.MODELS[model]
    assert report["epochs"] <= 2
    assert 0 < report["validation"] < 1


def test_auto_trains_and_refuses_what_it_does_itself(folder, tmp_path):
    out = tmp_path / "m.safetensors"
    options = {"members": ["forest"], "metric": "jaccard", "random_state": 0}
    report = train.run(str(folder / "pets.npz"), out, parameters=options)
    assert crbm.load(out).metric == "jaccard"
    assert report["members"] == ["forest"]
    with pytest.raises(ValueError, match="Leave out --preprocessing"):
        train.run(
            str(folder / "pets.npz"), out, model="auto", validation=0.2, force=True
        )


def test_the_same_seed_gives_the_same_model(folder, tmp_path):
    for name in "ab":
        train.run(
            str(folder / "pets.npz"),
            tmp_path / f"{name}.safetensors",
            parameters={"n_epochs": 2, "random_state": 3},
        )
    one, other = (crbm.load(tmp_path / f"{name}.safetensors") for name in "ab")
    X = datasets.read(folder / "pets.npz").X
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_official_validation_rows_are_used_for_early_stopping(pets, tmp_path):
    rows = {"train": np.arange(80), "valid": np.arange(80, 120)}
    parts = datasets.Dataset(X=pets.X, Y=pets.Y, splits=rows)
    datasets.write(tmp_path / "parts.npz", parts)
    report = train.run(
        str(tmp_path / "parts.npz"),
        tmp_path / "m.safetensors",
        parameters={"n_epochs": 3, "random_state": 0},
    )
    assert report["n_cases"] == 80
    assert report["validation"] is not None


def test_parameters_parse_as_literals_or_words():
    pairs = ["early_stopping=true", "optimizer=Adam", "l2=0.5", "radius=none"]
    parameters = train.parse_parameters(pairs)
    assert parameters == {
        "early_stopping": True,
        "optimizer": "Adam",
        "l2": 0.5,
        "radius": None,
    }
    found = train.check_parameters(crbm.HashCRBMClassifier(), parameters)
    assert found["optimizer"] is torch.optim.Adam


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"n_bit": 3},
            "HashCRBMClassifier has no parameter `n_bit`. Did you mean `n_bits`",
        ),
        ({"optimizer": "Adamm"}, "no optimiser `Adamm`"),
        ({"prediction": "best"}, "`prediction` must be one of"),
        ({"preprocessing": "z"}, "`preprocessing` must be one of"),
    ],
)
def test_an_error_names_the_wrong_parameter(folder, tmp_path, parameters, message):
    with pytest.raises(ValueError, match=message):
        train.run(
            str(folder / "pets.npz"), tmp_path / "m.safetensors", parameters=parameters
        )


def test_data_without_labels_is_refused(folder, tmp_path):
    with pytest.raises(ValueError, match=r"has no labels\. Name them with --labels"):
        train.run(
            str(folder / "pets.csv"),
            tmp_path / "m.safetensors",
            reading=Reading(labels=()),
        )


def test_existing_files_are_not_overwritten(folder, trained):
    before = trained.read_bytes()
    with pytest.raises(
        FileExistsError, match=r"exists\. Choose another name, or add --force"
    ):
        train.run(str(folder / "pets.npz"), trained)
    assert trained.read_bytes() == before


def test_a_resumed_run_gives_the_same_model(folder, tmp_path):
    source, where = str(folder / "pets.npz"), tmp_path / "run"
    base = {"random_state": 0, "n_epochs": 4}
    train.run(source, tmp_path / "whole.safetensors", parameters=base)
    kept = {**base, "checkpoint_dir": where}
    train.run(source, tmp_path / "half.safetensors", parameters={**kept, "n_epochs": 2})
    train.run(
        source, tmp_path / "rest.safetensors", parameters={**kept, "resume": True}
    )
    whole, rest = (crbm.load(tmp_path / f"{n}.safetensors") for n in ("whole", "rest"))
    X = datasets.read(source).X
    assert np.array_equal(whole.predict_proba(X), rest.predict_proba(X))
