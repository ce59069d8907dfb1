"""The suites of `crbm bench`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.base import clone

from benchmarks import (
    floor,
    growth,
    loops,
    memory,
    multilabel,
    peers,
    precision,
    serving,
)
from crbm import checks
from crbm.estimators import HashCRBMClassifier

Say = Callable[[str], None]


def run(
    suite: str, say: Say, *, peer_pythons: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The rows of one suite.

    Parameters
    ----------
    suite
        One of `SUITES`.
    say
        Told what is being measured.
    peer_pythons
        Interpreters that have packages to compare with.
    """
    checks.one_of("suite", suite, SUITES)
    if suite == "peers":
        return peers.rows(say, peer_pythons)
    return SUITES[suite](say)


def _multilabel(say: Say) -> list[dict[str, Any]]:
    return [row for name in ("scene", "yeast") for row in multilabel.compare(name, say)]


def _large(say: Say) -> list[dict[str, Any]]:
    """HashCRBM on many labels: time and memory."""
    common = HashCRBMClassifier(learning_rate=2**-2, random_state=0)
    settings: dict[str, dict[str, Any]] = {
        "bibtex": {"n_bits": 11, "radius": 1, "n_epochs": 10},
        "delicious": {"n_bits": 32, "radius": 0, "n_epochs": 5},
    }
    rows = []
    for name, options in settings.items():
        say(f"{name}: HashCRBM ...")
        data = multilabel.split(name)
        classifier = clone(common).set_params(**options)
        row = multilabel.measure(classifier, data)
        peak = memory.peak_megabytes()
        recall = classifier.candidate_recall_
        rows.append({"dataset": name, **row, "recall": recall, "peak_MB": peak})
    return rows


SUITES: dict[str, Callable[[Say], list[dict[str, Any]]]] = {
    "floor": floor.rows,
    "multilabel": _multilabel,
    "peers": peers.rows,
    "growth": growth.rows,
    "loops": loops.rows,
    "precision": precision.rows,
    "large": _large,
    "serve": serving.rows,
}
