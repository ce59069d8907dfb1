"""Time and memory of HashCRBM on generated cases in Parquet files.

Each size runs in a process of its own, which reports its peak memory. The number of
bits grows by one for ten times as many cases, so that a case has about as many
candidates at all sizes.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks import memory
from benchmarks.growth import exponent

N_INPUTS, N_LABELS, N_SETS = 200, 100, 100_000
N_DIRECTIONS = 16
ROWS_IN_GROUP = 50_000
N_BITS, CASES_OF_BITS = 14, 100_000  # bits for this many cases
SIZES = (100_000, 1_000_000, 10_000_000)


def rows(
    echo: Callable[[str], None],
    sizes: Sequence[int] | None = None,
    done: Sequence[dict[str, Any]] = (),
    keep: Callable[[list[dict[str, Any]]], None] = lambda found: None,
) -> list[dict[str, Any]]:
    """One row per size, and the exponents of the time.

    Sizes that are among the rows in `done` are not measured again; `keep` receives all
    rows after each size.
    """
    sizes = SIZES if sizes is None else sizes
    found = {row["cases"]: row for row in done if row["cases"] in sizes}
    for n_cases in sizes:
        if n_cases in found:
            continue
        echo(f"{n_cases} cases ...")
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), n_cases)
            found[n_cases] = _in_own_process(Path(folder), n_cases)
        keep(list(found.values()))
    measured = [found[n_cases] for n_cases in sizes]
    for row in measured:
        is_last = row is measured[-1]
        for what in ("fit", "predict"):
            seconds = [each[f"{what} CPU s"] for each in measured]
            row[f"{what} exponent"] = (
                exponent(tuple(sizes), seconds) if is_last else None
            )
    keep(measured)
    return measured


def write(folder: Path, n_cases: int) -> None:
    """Write generated cases as Parquet files, a row group at a time.

    Inputs are noisy copies of one of `N_SETS` prototypes, which has a label set; the
    prototypes lie in `N_DIRECTIONS` directions. Columns are lists, as embeddings are.
    """
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    place = rng.uniform(-1, 1, (N_SETS, N_DIRECTIONS)).astype(np.float32)
    spread = rng.normal(size=(N_DIRECTIONS, N_INPUTS)).astype(np.float32)
    of_labels = rng.normal(size=(N_DIRECTIONS, N_LABELS)).astype(np.float32)
    sets = place @ of_labels > 3
    sets[:, :17] = (np.arange(N_SETS)[:, None] >> np.arange(17)) & 1  # all distinct
    for start in range(0, n_cases, ROWS_IN_GROUP):
        size = min(ROWS_IN_GROUP, n_cases - start)
        own = rng.integers(0, N_SETS, size)
        inputs = place[own] @ spread
        inputs += 0.1 * rng.standard_normal(inputs.shape, dtype=np.float32)
        table = pa.table({"x": _lists(pa, inputs), "y": _lists(pa, sets[own])})
        parquet.write_table(
            table,
            folder / f"{start:09}.parquet",
            compression="none",
            use_dictionary=False,
        )


def _lists(pa: Any, values: np.ndarray) -> Any:
    kind = np.uint8 if values.dtype == bool else values.dtype
    flat = pa.array(values.astype(kind).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _in_own_process(folder: Path, n_cases: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.large_data", str(folder), str(n_cases)]
    tree = str(Path(__file__).parents[1])
    paths = os.pathsep.join([tree, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    return dict(json.loads(done.stdout))


def measure(folder: Path, n_cases: int) -> dict[str, Any]:
    """Fit one epoch and predict all cases, reading both from files."""
    from crbm.datasets import open_table
    from crbm.estimators import HashCRBMClassifier

    X, Y = open_table(folder, ["y"])
    classifier = HashCRBMClassifier(
        n_bits=round(N_BITS + math.log10(n_cases / CASES_OF_BITS)),
        radius=0,
        n_hidden=32,
        preprocessing="none",
        base_measure="uniform",
        learning_rate=2**-4,
        n_epochs=1,
        batch_size=128,
        random_state=0,
        n_threads=1,
    )
    _warm_up(classifier, X, Y)
    start = time.process_time()
    classifier.fit(X, Y)
    fitted = time.process_time()
    wrong = 0.0
    truth = Y.all_pieces(1024)
    for labels, v in zip(classifier.predict_batches(X), truth, strict=True):
        wrong += float((labels != v).sum())
    done = time.process_time()
    return {
        "cases": n_cases,
        "label sets": len(classifier.sets_.packed_),
        "bits": classifier.n_bits,
        "candidates": float(classifier.sets_.sizes(next(X.all_pieces())).mean()),
        "fit CPU s": fitted - start,
        "predict CPU s": done - fitted,
        "fit us per case": 1e6 * (fitted - start) / n_cases,
        "predict us per case": 1e6 * (done - fitted) / n_cases,
        "wrong labels %": 100 * wrong / (n_cases * N_LABELS),
        "peak MB": memory.peak_megabytes(),
    }


def _warm_up(classifier: Any, X: Any, Y: Any) -> None:
    """Load and compile what the first fit of a process loads and compiles."""
    u, v = next(X.all_pieces(1024)), next(Y.all_pieces(1024))
    clone(classifier).set_params(n_bits=5).fit(u, v).predict(u)


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]))))
