"""Fit and predict with hostile data: a finite answer or one clear error."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import crbm
from planted import copied_patterns
from torture.tally import Tally, until

DATA = copied_patterns(24)
X, Y = DATA.u.numpy(), DATA.v.numpy()
QUICK = {"n_epochs": 2, "random_state": 0}
KINDS: dict[str, Callable[..., Any]] = {
    "logistic": lambda **options: crbm.LogisticClassifier(**QUICK, **options),
    "crf": lambda **options: crbm.CRFClassifier(**QUICK, **options),
    "crbm": lambda **options: crbm.CRBMClassifier(**QUICK, n_hidden=3, **options),
    "exact": lambda **options: crbm.CRBMClassifier(
        **QUICK, n_hidden=3, objective="exact", inference="exact", **options
    ),
    "hash": lambda **options: crbm.HashCRBMClassifier(**QUICK, n_hidden=3, **options),
    "mode": lambda **options: crbm.HashCRBMClassifier(
        **QUICK, n_hidden=3, prediction="mode", **options
    ),
}
OPTIONS = {
    "l2": [1e-30, 1.0, 1e30, -1.0, float("nan"), float("inf"), "x"],
    "learning_rate": [1e-30, 1e30, 0.0, -1.0, float("nan"), None],
    "n_epochs": [0, -1, 1.5, "2", 10**6 * 0],
    "batch_size": [0, 1, 10**9, None, 2.5],
    "preprocessing": ["standardise", "rank", "robust", "kernel", "magic", 3],
    "thresholds": ["macro_f1", "micro_f1", "magic"],
    "early_stopping": [True, "x"],
    "n_estimators": [0, 2, -1],
    "class_weight": ["balanced", {0: 1e30}, {0: -1.0}, [1.0], "x"],
}
SCALES = [1e-45, 1e-30, 1.0, 1e8, 1e15, 1e30, 3e38, 1e39, 1e300]


def run(rng: random.Random, seconds: float, most: int | None = None) -> Tally:
    """Fit and predict with hostile data and parameters."""
    tally = Tally("estimators, hostile data")
    for _ in until(seconds, most):
        kind, options = rng.choice(sorted(KINDS)), {}
        if rng.random() < 0.4:
            name = rng.choice(sorted(OPTIONS))
            options = {name: rng.choice(OPTIONS[name])}
        seed = rng.randrange(2**32)
        what = f"{kind} {options} {seed}"
        tally.attempt(
            what,
            lambda kind=kind, options=options, seed=seed: _attempt(kind, options, seed),
            one_line=False,
        )
    return tally


def _attempt(kind: str, options: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = dict(QUICK) | options
    classifier = KINDS[kind]().set_params(**given)
    inputs, labels = _inputs(rng), _labels(rng)
    if rng.random() < 0.5:
        classifier.fit(inputs, labels)
        asked = inputs
    else:
        classifier.fit(X, Y)
        asked = _inputs(rng)
    require_sound(classifier, asked)


def require_sound(classifier: Any, asked: Any) -> None:
    """Refuse NaN, sums of probabilities above 1 and positive log probabilities."""
    p, labels = classifier.predict_proba(asked), classifier.predict(asked)
    assert ((p >= 0) & (p <= 1)).all(), "probabilities are wrong"
    total = classifier.predict_top_k(asked, k=3).probability.sum(1)
    assert (total <= 1 + 1e-6).all(), "the label sets' probabilities exceed 1"
    assert (classifier.score_samples(asked, labels) <= 0).all(), "log p is positive"


def _inputs(rng: np.random.Generator) -> Any:
    """Inputs with large, small, missing or no numbers, in various containers."""
    found = X.astype(float) * rng.choice(SCALES)
    found = found[: rng.choice([0, 1, 2, 24])] * rng.choice([-1, 1], found.shape[1])
    if len(found) and rng.random() < 0.3:
        place = rng.integers(len(found)), rng.integers(found.shape[1])
        found[place] = rng.choice([np.nan, np.inf, 3e38, 1e39, -1e300])
    how = rng.integers(9)
    if how == 0:
        return found[:, :0]
    if how == 1:
        return found[:, :-1]
    if how == 2:
        return found.astype(object)
    if how == 3:
        return np.array([["a"] * 4] * len(found))
    if how == 4:
        return sparse.csr_array(found)
    with np.errstate(over="ignore"):
        return found.astype(np.float32) if how == 5 else found


def _labels(rng: np.random.Generator) -> Any:
    """Labels: constant, one set, missing, no numbers, or of the wrong size."""
    found = Y.astype(float)
    how = rng.integers(10)
    changes = {
        0: np.zeros_like(found),
        1: np.ones_like(found),
        2: np.tile(found[:1], (len(found), 1)),
        3: found[:, 0],
        4: found[:, :0],
        5: found * 2,
        6: np.where(rng.random(found.shape) < 0.5, np.nan, found),
        7: np.full_like(found, np.nan),
    }
    found = changes.get(int(how), found)
    return found[: rng.choice([1, 2, 24, 24, 24])]
