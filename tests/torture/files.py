"""Damage data files and the store of results; reading must succeed or refuse."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from scipy.sparse import csr_array, issparse

from crbm import datasets
from crbm.datasets.formats import idx, mulan_xml
from paper.engine.store import Cell, Outcome, Store
from torture.mutations import mutate
from torture.tally import Tally, until

X = np.arange(24, dtype=np.float32).reshape(8, 3) / 7
Y = (np.arange(16).reshape(8, 2) % 3 == 0).astype(np.uint8)
Read = Callable[[Path], object]


def _write_set(path: Path, *, sparse: bool = False) -> None:
    inputs = csr_array(X) if sparse else X
    datasets.write(path, datasets.Dataset(X=inputs, Y=Y))


def _write_store(path: Path) -> None:
    store = Store(path)
    for fold in range(3):
        cell = Cell("table1", "scene", "HashCRBM", fold, 0, {"n_bits": 7})
        store.add(cell, Outcome({"hamming": 8.8}, {}), seconds=1.0)


def _frame() -> pd.DataFrame:
    words = ["a", "b c", "é", "", "a", "b c", "d", "e"]
    return pd.DataFrame({"x": X[:, 0], "word": words, "y": Y[:, 0]})


def _read_set(path: Path, **options: object) -> None:
    """Read a data set, whose inputs must be numbers that are finite."""
    found = datasets.read(path, **options).X
    if issparse(found) or isinstance(found, np.ndarray):
        values = found.data if issparse(found) else found
        assert np.isfinite(np.asarray(values, dtype=float)).all(), "not finite"


def _read_table(path: Path) -> None:
    datasets.read(path, labels=-1, raw=True)


def _read_rows(path: Path) -> None:
    """Read all pieces of a file that may be larger than memory."""
    rows = datasets.open_rows(path)
    found = np.concatenate(list(rows.all_pieces(4)))
    assert found.shape == rows.shape, "rows are missing"


def _write_image(path: Path) -> None:
    Image.fromarray((X * 50).astype(np.uint8)).save(path)


# How a sound file is written, and how a damaged one is read.
FORMATS: dict[str, tuple[Callable[[Path], object], Read]] = {
    "a.arff": (_write_set, _read_set),
    "a.libsvm": (_write_set, _read_set),
    "a.csv": (_write_set, partial(_read_set, labels=-2)),
    "b.csv": (lambda path: _frame().to_csv(path, index=False), _read_table),
    "a.parquet": (_write_set, partial(_read_set, labels=-2)),
    "a.arrow": (lambda path: _frame().to_feather(path), _read_table),
    "a.xlsx": (lambda path: _frame().to_excel(path, index=False), _read_table),
    "a.jsonl": (
        lambda path: _frame().to_json(path, orient="records", lines=True),
        _read_table,
    ),
    "a.npz": (_write_set, _read_set),
    "b.npz": (partial(_write_set, sparse=True), _read_set),
    "a.idx": (lambda path: idx.write_array(path, X), idx.read_array),
    "a.xml": (lambda path: mulan_xml.write(path, ["a", "b & c"]), mulan_xml.read),
    "rows.parquet": (_write_set, _read_rows),
    "rows.arrow": (
        lambda path: _frame()[["x", "y"]].to_feather(path),
        _read_rows,
    ),
    "rows.npy": (lambda path: np.save(path, X), _read_rows),
    "a.png": (_write_image, datasets.read_image),
    "a.jpg": (_write_image, datasets.read_image),
    "a.tif": (_write_image, datasets.read_image),
    "store.jsonl": (_write_store, Store),
}


def run(
    name: str, folder: Path, rng: random.Random, seconds: float, most: int | None = None
) -> Tally:
    """Read damaged copies of a file of one format."""
    write, read = FORMATS[name]
    tally = Tally(f"file {name}")
    sound = folder / name
    write(sound)
    read(sound)
    content, damaged = sound.read_bytes(), folder / f"damaged-{name}"
    for number in until(seconds, most):
        changed = mutate(content, rng)
        damaged.write_bytes(changed)
        tally.attempt(f"{name} {number}: {changed[-80:]!r}", lambda: read(damaged))
    return tally
