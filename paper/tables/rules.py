"""Objectives side by side: the same model, budget and choice of the learning rate.

Labels: folds of Table 1; a CRBM with 64 hidden units is trained with each rate, stopped
early by the error on the validation cases, and the rate with the lowest error is kept.
Digits: occluded digits of `mnist-5k`, 4,000 for training, chosen in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Generator

from crbm import metrics, objectives, training
from crbm.estimators import CRBMClassifier, HashCRBMClassifier, LogisticClassifier
from crbm.models import CRBM
from crbm.objectives import Objective
from paper.engine import runs
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables import denoising, table1

EXPERIMENT = "rules"
DATASETS = ("scene", "yeast")
DIGITS = "occluded"
N_FOLDS, SEEDS = 3, (0, 1)
RATES = {"labels": [2**-2, 2**-4, 2**-6], "digits": [2**0, 2**-2]}
LABELS: dict[str, Any] = {
    "n_hidden": 64,
    "n_epochs": 40,
    "batch_size": 64,
    "patience": 8,
    "init_scale": 0.1,
}
PIXELS: dict[str, Any] = {"n_hidden": 64, "n_epochs": 10, "batch_size": 128}
HIDDEN_BIAS = -2.0


class Rule(NamedTuple):
    """An objective, and what goes with it.

    Parameters
    ----------
    objective
        None for HashCRBM and logistic regression, which have their own.
    l2
        Max margin needs some, as margins can be bought by larger weights.
    on
        The data sets for which it is affordable.
    make
        The classifier of labels.
    """

    objective: Objective | None
    l2: float = 0.0
    on: Sequence[str] = (*DATASETS, DIGITS)
    make: Callable[..., Any] = CRBMClassifier
    fixed: tuple[tuple[str, Any], ...] = ()


RULES = {
    "CD-1": Rule(objectives.ContrastiveDivergence(1)),
    "CD-10": Rule(objectives.ContrastiveDivergence(10)),
    "persistent chain per case": Rule(
        objectives.PersistentContrastiveDivergence(1, per_case=True)
    ),
    "CD-PercLoss": Rule(objectives.Perceptron(10)),
    "CD-PercLoss, exact minimum": Rule(
        objectives.Perceptron(search="exact"), on=("scene",)
    ),
    "max margin": Rule(objectives.MaxMargin(10), l2=2**-10),
    "CCG": Rule(objectives.ContrastiveConstraints(10, 10)),
    "pseudo-likelihood": Rule(objectives.PseudoLikelihood(16), on=DATASETS),
    "pseudo-likelihood, 4 pixels": Rule(objectives.PseudoLikelihood(4), on=(DIGITS,)),
    "ratio matching": Rule(objectives.RatioMatching(16), on=DATASETS),
    "ratio matching, 4 pixels": Rule(objectives.RatioMatching(4), on=(DIGITS,)),
    "mean-field likelihood": Rule(objectives.MeanFieldLikelihood()),
    "exact likelihood": Rule(objectives.ExactLikelihood(), on=("scene",)),
    "HashCRBM": Rule(
        None, on=DATASETS, make=HashCRBMClassifier, fixed=(("radius", None),)
    ),
    "HashCRBM, max margin": Rule(
        None,
        l2=2**-10,
        on=DATASETS,
        make=HashCRBMClassifier,
        fixed=(("radius", None), ("objective", "max_margin"), ("prediction", "mode")),
    ),
    "LogReg": Rule(None, on=DATASETS, make=LogisticClassifier),
}


def cells() -> list[Cell]:
    """All runs, one fold or seed after the other, so that a first table is early."""
    found = []
    for number in range(N_FOLDS):
        for name in DATASETS:
            found += [
                Cell(EXPERIMENT, name, title, number, 0, _config(rule, "labels"))
                for title, rule in RULES.items()
                if name in rule.on
            ]
        if number < len(SEEDS):
            seed = SEEDS[number]
            found += [
                Cell(EXPERIMENT, DIGITS, title, None, seed, _config(rule, "digits"))
                for title, rule in RULES.items()
                if DIGITS in rule.on
            ]
    return found


def _config(rule: Rule, kind: str) -> dict[str, Any]:
    """Everything that the outcome depends on, as JSON."""
    return {
        "objective": repr(rule.objective) if rule.objective else rule.make.__name__,
        "l2": rule.l2,
        "rates": RATES[kind],
        **(LABELS if kind == "labels" else {**PIXELS, "hidden_bias": HIDDEN_BIAS}),
        **dict(rule.fixed),
    }


def complete(store: Store, **run_options: Any) -> list[Row]:
    """Run the cells that are missing; returns all rows."""
    return runs.complete(cells(), run_cell, store, **run_options)


def run_cell(cell: Cell) -> Outcome:
    """Train with each rate and test the one with the lowest validation error."""
    rule = RULES[cell.model]
    return _digits(rule, cell.seed) if cell.dataset == DIGITS else _labels(rule, cell)


def _labels(rule: Rule, cell: Cell) -> Outcome:
    data = table1.load_fold(cell.dataset, cell.fold or 0)
    tried = {}
    for rate in RATES["labels"]:
        classifier = _classifier(rule, rate)
        classifier.fit(*data.train, validation=data.valid)
        error = metrics.hamming_error(data.valid.Y, classifier.predict(data.valid.X))
        tried[rate] = (error, classifier)
    rate = min(tried, key=lambda each: tried[each][0])
    classifier, Y = tried[rate][1], data.test.Y
    predicted, p = (
        classifier.predict(data.test.X),
        classifier.predict_proba(data.test.X),
    )
    return Outcome(
        {
            "hamming": 100 * metrics.hamming_error(Y, predicted),
            "subset": 100 * metrics.subset_accuracy(Y, predicted),
            "example_f1": 100 * metrics.example_f1(Y, predicted),
            "average_precision": 100 * metrics.average_precision(Y, p),
            "validation": 100 * tried[rate][0],
        },
        _chosen(rate, {each: error for each, (error, _) in tried.items()}),
    )


def _classifier(rule: Rule, rate: float) -> Any:
    shared = {**LABELS, **dict(rule.fixed)}
    if rule.make is LogisticClassifier:
        del shared["n_hidden"], shared["init_scale"]
    if rule.objective is not None:
        shared |= {"objective": rule.objective, "inference": "mean_field"}
    return rule.make(
        learning_rate=rate, l2=rule.l2, early_stopping=True, random_state=0, **shared
    )


def _digits(rule: Rule, seed: int) -> Outcome:
    data, tried = denoising.load_digits(DIGITS, quick=True), {}
    assert rule.objective is not None
    for rate in RATES["digits"]:
        generator = Generator().manual_seed(seed)
        n_pixels = denoising.N_PIXELS
        model = CRBM(n_pixels, n_pixels, PIXELS["n_hidden"], generator)
        model.start_biases(data.train.v, hidden=HIDDEN_BIAS)
        history = training.fit(
            model,
            rule.objective,
            data.train,
            n_epochs=PIXELS["n_epochs"],
            batch_size=PIXELS["batch_size"],
            learning_rate=rate,
            l2=rule.l2,
            generator=generator,
            validation=data.valid,
            progress=False,
        )
        errors = [error for error in history.validation if error is not None]
        tried[rate] = (min(errors, default=np.inf), model)
    rate = min(tried, key=lambda each: tried[each][0])
    assert data.test.u is not None
    predicted = denoising.predict(tried[rate][1], data.test.u)
    return Outcome(
        denoising.pixel_errors(data.test, predicted),
        _chosen(rate, {each: error for each, (error, _) in tried.items()}),
    )


def _chosen(rate: float, errors: dict[float, float]) -> dict[str, Any]:
    return {
        "learning_rate": rate,
        "validation_errors": [100 * float(error) for error in errors.values()],
        "threads": torch.get_num_threads(),
    }
