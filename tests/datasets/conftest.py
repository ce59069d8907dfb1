"""Fixtures: the real data where there is any, and small data sets to write."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from crbm.datasets import Dataset


@pytest.fixture(scope="session")
def data_dir() -> Path:
    folder = os.environ.get("CRBM_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set CRBM_DATA to the folder of the real data sets")
    return Path(folder)


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for property tests, which may not use a folder per test."""
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Writes a file of the given content and returns its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        encoded = content.encode() if isinstance(content, str) else content
        path.write_bytes(encoded)
        return path

    return write


@pytest.fixture(params=["dense", "sparse"])
def small(request: pytest.FixtureRequest) -> Dataset:
    """Five rows with an empty one, a constant column and numbers of all sizes."""
    X = np.array(
        [[0.1, 0, -3e-7], [0, 0, 0], [1e13, 0, 2], [-1.5, 0, 0], [1 / 3, 0, 7]],
        dtype=np.float32,
    )
    Y = np.array([[1, 0], [0, 0], [1, 1], [0, 1], [0, 0]], dtype=np.uint8)
    return Dataset(
        X=csr_array(X) if request.param == "sparse" else X,
        Y=Y,
        feature_names=("a", "b c", "d%"),
        label_names=("rock", "hip hop, live"),
    )


def dense(matrix: object) -> np.ndarray:
    return matrix.toarray() if issparse(matrix) else matrix


@pytest.fixture(scope="session")
def assert_same() -> Callable[..., None]:
    """Asserts that values, storage and names agree."""

    def check(found: Dataset, expected: Dataset, *, names: bool = True) -> None:
        assert issparse(found.X) == issparse(expected.X)
        np.testing.assert_array_equal(dense(found.X), dense(expected.X))
        np.testing.assert_array_equal(dense(found.Y), dense(expected.Y))
        assert dense(found.X).dtype == dense(expected.X).dtype
        if names:
            assert found.feature_names == expected.feature_names
            assert found.label_names == expected.label_names

    return check
