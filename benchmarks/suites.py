"""The suites of `crbm bench`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.base import clone

from benchmarks import (
    cluster,
    floor,
    growth,
    images,
    large_data,
    large_table,
    loops,
    memory,
    multilabel,
    network,
    peers,
    precision,
    ranks,
    serving,
)
from crbm import checks, paths
from crbm.estimators import HashCRBMClassifier

Echo = Callable[[str], None]


def run(
    suite: str, echo: Echo, *, peer_pythons: Sequence[str] = (), out: Path | None = None
) -> list[dict[str, Any]]:
    """Run one suite; returns its rows.

    Parameters
    ----------
    suite
        One of `SUITES`.
    echo
        Prints a line of progress.
    peer_pythons
        Interpreters that have packages to compare with.
    out
        A JSON file for the rows. The suite `stored` writes each row when it is measured
        and skips those in the file, so that a run that was cut off continues.
    """
    checks.one_of("suite", suite, SUITES)
    if suite == "peers":
        found = peers.rows(echo, peer_pythons)
    elif suite == "stored" and out is not None:
        done = json.loads(out.read_text()) if out.exists() else []
        found = large_data.rows(echo, done=done, keep=partial(_write, out))
    else:
        found = SUITES[suite](echo)
    if out is not None:
        _write(out, found)
    return found


def _write(out: Path, rows: list[dict[str, Any]]) -> None:
    with paths.replacing(out) as draft:
        draft.write_text(json.dumps(rows, indent=1) + "\n")


def _multilabel(echo: Echo) -> list[dict[str, Any]]:
    names = ("scene", "yeast")
    return [row for name in names for row in multilabel.compare(name, echo)]


def _large(echo: Echo) -> list[dict[str, Any]]:
    """Time and memory of HashCRBM on data with many labels."""
    common = HashCRBMClassifier(
        learning_rate=2**-2,
        n_hidden=128,
        init_scale=0.01,
        preprocessing="none",
        base_measure="uniform",
        random_state=0,
    )
    params_by_dataset: dict[str, dict[str, Any]] = {
        "bibtex": {"n_bits": 11, "radius": 1, "n_epochs": 10},
        "delicious": {"n_bits": 32, "radius": 0, "n_epochs": 5},
    }
    rows = []
    for name, params in params_by_dataset.items():
        echo(f"{name}: HashCRBM ...")
        data = multilabel.split(name)
        classifier = clone(common).set_params(**params)
        row = multilabel.measure(classifier, data)
        peak = memory.peak_megabytes()
        recall = classifier.candidate_recall_
        rows.append({"dataset": name, **row, "recall": recall, "peak_MB": peak})
    return rows


SUITES: dict[str, Callable[[Echo], list[dict[str, Any]]]] = {
    "floor": floor.rows,
    "gpu": floor.gpu_rows,
    "multilabel": _multilabel,
    "peers": peers.rows,
    "growth": growth.rows,
    "loops": loops.rows,
    "images": images.rows,
    "network": network.rows,
    "precision": precision.rows,
    "ranks": ranks.rows,
    "cluster": cluster.rows,
    "large": _large,
    "stored": large_data.rows,
    "table": large_table.rows,
    "serve": serving.rows,
}
