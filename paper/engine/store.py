"""An append-only file of finished runs, one JSON row each."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy
import sklearn
import torch

import crbm

Row = dict[str, Any]


class Cell(NamedTuple):
    """A run, identified by these fields.

    Parameters
    ----------
    experiment
        The table or figure that the run belongs to.
    dataset, model
        Their names in the table.
    fold, seed
        The fold of the data, if any, and the random seed.
    config
        Everything else that the outcome depends on, as JSON.
    """

    experiment: str
    dataset: str
    model: str
    fold: int | None
    seed: int
    config: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Identifies the cell: equal for equal cells."""
        return key(self._asdict())


# Every row has these fields.
FIELDS = (*Cell._fields, "metrics", "details", "versions", "seconds", "finished")


class Outcome(NamedTuple):
    """Result of a run: test metrics in percent, and details of the training."""

    metrics: dict[str, float]
    details: dict[str, Any]


class Store:
    """Rows in a file; a row that a crash left incomplete is ignored and overwritten.

    Parameters
    ----------
    path
        A .jsonl file, created when the first row is added.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> cell = Cell("table1", "scene", "HashCRBM", 0, 0, {"n_bits": 7})
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(Path(folder) / "table1.jsonl")
    ...     _ = store.add(cell, Outcome({"hamming": 8.8}, {}), seconds=1.0)
    ...     store.find(cell)["metrics"]
    {'hamming': 8.8}
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = {key(row): row for row in _read(path)}

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def find(self, cell: Cell) -> Row | None:
        """The row of a cell, if it has been run."""
        return self._rows.get(cell.key)

    def add(self, cell: Cell, outcome: Outcome, seconds: float) -> Row:
        """Append a finished run; the row is on disk when this returns."""
        row = {
            **cell._asdict(),
            "metrics": outcome.metrics,
            "details": outcome.details,
            "versions": versions(),
            "seconds": round(seconds, 1),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            _drop_partial_row(file)
            file.write(json.dumps(row).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        row = json.loads(json.dumps(row))
        self._rows[cell.key] = row
        return row


def versions() -> dict[str, str]:
    """Versions of the code and of the packages that the results depend on."""
    return {
        "crbm": crbm.__version__,
        "source": source_digest(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


@cache
def source_digest() -> str:
    """A digest of the library's source files."""
    folder = Path(crbm.__file__).parent
    digest = sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def key(row: Mapping[str, Any]) -> str:
    """Identifies the cell of a row: equal for rows of equal cells."""
    return json.dumps([row[field] for field in Cell._fields], sort_keys=True)


def _read(path: Path) -> Iterator[Row]:
    """All complete rows."""
    *lines, last = path.read_bytes().split(b"\n") if path.exists() else [b""]
    if _is_json(last):  # complete; only its newline is missing
        lines.append(last)
    for number, line in enumerate(lines, 1):
        row = json.loads(line) if _is_json(line) else None
        if not isinstance(row, dict) or not row.keys() >= set(FIELDS):
            raise ValueError(
                f"{path}, line {number}: not the JSON row of a run, whose fields are "
                f"{', '.join(FIELDS)}. Remove that line and try again."
            )
        yield row


def _drop_partial_row(file: BinaryIO) -> None:
    """Remove an incomplete last row, so that the next one starts on a new line."""
    file.seek(0)
    content = file.read()
    start = content.rfind(b"\n") + 1
    if start == len(content):
        return
    if _is_json(content[start:]):  # complete; only its newline is missing
        file.write(b"\n")
    else:
        file.truncate(start)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
