"""A small planted problem as files, and a model trained on them."""

import numpy as np
import pytest

from crbm import datasets
from crbm.commands import train
from planted import copied_patterns

NAMES = ("dog", "cat", "fish", "bird", "frog", "snake")
FEATURES = ("length", "weight", "legs", "teeth")


@pytest.fixture(scope="session")
def pets():
    """Inputs on wild scales, so that a model without its scaling would fail."""
    batch = copied_patterns(120)
    X = batch.u.numpy() * np.array([1e4, 1, 1e-3, 10]) + np.array([5e4, 0, 1, 0])
    return datasets.Dataset(
        X=X.astype(np.float32),
        Y=batch.v.numpy().astype(np.uint8),
        name="pets",
        feature_names=FEATURES,
        label_names=NAMES,
    )


@pytest.fixture(scope="session")
def folder(pets, tmp_path_factory):
    """The data in every format."""
    place = tmp_path_factory.mktemp("pets")
    for ending in ("csv", "arff", "npz", "libsvm", "parquet"):
        datasets.write(place / f"pets.{ending}", pets)
    labels = "".join(f'<label name="{name}"></label>' for name in NAMES)
    xml = f'<labels xmlns="http://mulan.sourceforge.net/labels">{labels}</labels>'
    (place / "mulan.xml").write_text(xml)
    datasets.write(place / "mulan.arff", pets)
    return place


@pytest.fixture(scope="session")
def trained(folder, tmp_path_factory):
    """A model file, from the CSV file."""
    out = tmp_path_factory.mktemp("models") / "pets.safetensors"
    train.run(
        str(folder / "pets.csv"),
        out,
        parameters={"n_epochs": 40, "learning_rate": 0.1, "random_state": 0},
        reading=train.Reading(labels=NAMES),
    )
    return out
