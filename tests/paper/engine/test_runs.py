"""Missing runs are made up for, by several processes where there are."""

import os
import time

import numpy as np
import pytest

from paper.engine import runs
from paper.engine.store import Cell, Outcome, Store, key

CELLS = [Cell("table1", "scene", "LogReg", fold, 0, {}) for fold in range(6)]


def outcome(cell):
    """An outcome that tells its cell."""
    return Outcome({"hamming": 10.0 + cell.fold}, {})


def test_rows_come_in_the_order_of_their_cells(tmp_path):
    store = Store(tmp_path / "rows.jsonl")
    runs.complete(CELLS[2:3], outcome, store, echo=lambda text: None)
    told = []
    rows = runs.complete(CELLS, outcome, store, echo=told.append)
    assert [key(row) for row in rows] == [cell.key for cell in CELLS]
    assert [row["metrics"]["hamming"] for row in rows] == [10, 11, 12, 13, 14, 15]
    assert told[0] == "1 of 6 runs are finished already."
    assert [line.split()[0] for line in told[1:]] == ["1/5", "2/5", "3/5", "4/5", "5/5"]


@pytest.mark.slow
def test_a_worker_that_has_grown_is_renewed_in_silence(tmp_path, recwarn):
    def grown(cell):  # defined here, so that workers need not find this file
        runs.kept = [*getattr(runs, "kept", []), np.ones(2**26)]  # half a gigabyte
        time.sleep(1.2)  # joblib looks at its workers once a second
        return Outcome({"pid": os.getpid()}, {})

    store = Store(tmp_path / "rows.jsonl")
    rows = runs.complete(CELLS, grown, store, n_jobs=2, echo=lambda text: None)
    assert [key(row) for row in rows] == [cell.key for cell in CELLS]
    assert len({row["metrics"]["pid"] for row in rows}) > 2
    assert [str(warning.message) for warning in recwarn] == []
