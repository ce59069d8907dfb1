"""Objectives side by side: the same model, budget and choice of the learning rate.

Labels: folds of Table 1; a CRBM with 64 hidden units is trained and stopped early by
the error on the validation cases. Digits: the occluded digits of Table 2, of which
20,000 are for training. The learning rate (with max margin also the L2 penalty) is
found by climbing over one grid for all objectives, by the validation error.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Generator

from crbm import metrics, objectives, training
from crbm.estimators import CRBMClassifier, HashCRBMClassifier, LogisticClassifier
from crbm.kernels import onednn
from crbm.models import CRBM
from crbm.objectives import Objective
from paper.engine import runs
from paper.engine.climbing import Axis, Found, climb
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables import denoising, table1

EXPERIMENT = "rules"
DATASETS = ("scene", "yeast")
DIGITS = "occluded"
NAMES = (*DATASETS, DIGITS)
N_FOLDS, SEEDS = 3, (0,)
RATES = [2.0**-power for power in range(-4, 15, 2)]
PENALTIES = [0.0] + [2.0**-power for power in range(16, 3, -2)]
START = {"labels": 2**-4, "digits": 2**-2}  # of the rates
START_PENALTY = 2**-10
LABELS: dict[str, Any] = {
    "n_hidden": 64,
    "n_epochs": 60,
    "batch_size": 64,
    "patience": 8,
    "init_scale": 0.1,
}
PIXELS: dict[str, Any] = {"n_hidden": 64, "n_epochs": 6, "batch_size": 32}
N_TRAIN, N_VALID = 20000, 2000  # digits
HIDDEN_BIAS = -2.0


class Rule(NamedTuple):
    """An objective, and what goes with it.

    Parameters
    ----------
    objective
        None for HashCRBM and logistic regression, which have their own.
    penalised
        Whether the L2 penalty is chosen too. Max margin needs one, as margins can be
        bought by larger weights.
    on
        The data sets for which it is affordable.
    make
        The classifier of labels.
    """

    objective: Objective | None
    penalised: bool = False
    on: Sequence[str] = NAMES
    make: Callable[..., Any] = CRBMClassifier
    fixed: tuple[tuple[str, Any], ...] = ()


# With 14 labels an epoch over all label sets takes 9 s, so Scene only.
EXACT = (("inference", "exact"),)
RULES = {
    "CD-1": Rule(objectives.ContrastiveDivergence(1)),
    "CD-10": Rule(objectives.ContrastiveDivergence(10)),
    "persistent chain per case": Rule(
        objectives.PersistentContrastiveDivergence(1, per_case=True)
    ),
    "CD-PercLoss": Rule(objectives.Perceptron(10)),
    "CD-PercLoss, exact minimum": Rule(
        objectives.Perceptron(search="exact"), on=("scene",), fixed=EXACT
    ),
    "max margin": Rule(objectives.MaxMargin(10), penalised=True),
    "CCG": Rule(objectives.ContrastiveConstraints(10, 10)),
    "pseudo-likelihood": Rule(objectives.PseudoLikelihood(16), on=DATASETS),
    "pseudo-likelihood, 4 pixels": Rule(objectives.PseudoLikelihood(4), on=(DIGITS,)),
    "ratio matching": Rule(objectives.RatioMatching(16), on=DATASETS),
    "ratio matching, 4 pixels": Rule(objectives.RatioMatching(4), on=(DIGITS,)),
    "mean-field likelihood": Rule(objectives.MeanFieldLikelihood()),
    "exact likelihood": Rule(objectives.ExactLikelihood(), on=("scene",), fixed=EXACT),
    "HashCRBM": Rule(
        None, on=DATASETS, make=HashCRBMClassifier, fixed=(("radius", None),)
    ),
    "HashCRBM, max margin": Rule(
        None,
        penalised=True,
        on=DATASETS,
        make=HashCRBMClassifier,
        fixed=(("radius", None), ("objective", "max_margin"), ("prediction", "mode")),
    ),
    "LogReg": Rule(None, make=LogisticClassifier),
}


def cells() -> list[Cell]:
    """All runs: the folds of labels one after the other, then digits."""
    found = [
        Cell(EXPERIMENT, name, title, number, 0, _config(rule, "labels"))
        for number in range(N_FOLDS)
        for name in DATASETS
        for title, rule in RULES.items()
        if name in rule.on
    ]
    # objectives with two parameters to choose take longest
    rules = sorted(RULES.items(), key=lambda each: each[1].penalised)
    return found + [
        Cell(EXPERIMENT, DIGITS, title, None, seed, _config(rule, "digits"))
        for seed in SEEDS
        for title, rule in rules
        if DIGITS in rule.on
    ]


def _config(rule: Rule, kind: str) -> dict[str, Any]:
    """Everything that the outcome depends on, as JSON."""
    return {
        "objective": _name(rule.objective) if rule.objective else rule.make.__name__,
        "rates": RATES,
        "start": START[kind],
        "penalties": PENALTIES if rule.penalised else [0.0],
        **(LABELS if kind == "labels" else {**PIXELS, "n_train": N_TRAIN}),
        **dict(rule.fixed),
    }


def _name(objective: Objective) -> str:
    """An objective with its parameters, as in rows from before `marginals`."""
    return repr(objective).replace("(marginals=0.0)", "()")


def complete(
    store: Store, names: Sequence[str] | None = None, **run_options: Any
) -> list[Row]:
    """Run the cells that are missing; all data sets unless names are given."""
    wanted = runs.chosen(names, NAMES)
    chosen = [cell for cell in cells() if cell.dataset in wanted]
    return runs.complete(chosen, run_cell, store, **run_options)


@onednn.disabled()  # so that published rows repeat
def run_cell(cell: Cell) -> Outcome:
    """Train with each rate tried and test the one with the lowest validation error."""
    rule = RULES[cell.model]
    with warnings.catch_warnings():
        # rates that are too large are tried too
        warnings.simplefilter("ignore", ConvergenceWarning)
        if cell.dataset == DIGITS:
            return _digits(rule, cell.seed)
        return _labels(rule, cell)


class Search:
    """Climbs over rates and penalties, and keeps what was fitted with the best ones.

    Parameters
    ----------
    fit
        From a learning rate and a penalty to what was fitted and its validation error.
    """

    def __init__(self, fit: Callable[[float, float], tuple[Any, float]]) -> None:
        self.fit = fit
        self.lowest = math.inf
        self.best: Any = None
        self.tried: list[dict[str, float]] = []

    def error(self, params: dict[str, Any]) -> float:
        """The validation error with these parameters."""
        fitted, error = self.fit(params["learning_rate"], params["l2"])
        error = error if math.isfinite(error) else math.inf
        self.tried.append({**params, "error": 100 * error})
        if error < self.lowest:
            self.lowest, self.best = error, fitted
        return error

    def run(self, rule: Rule, kind: str) -> Found:
        """The parameters from which no step lowers the error."""
        axes = {"learning_rate": Axis(RATES, RATES.index(START[kind]))}
        penalties = PENALTIES if rule.penalised else [0.0]
        start = penalties.index(START_PENALTY) if rule.penalised else 0
        last = not rule.penalised
        axes["l2"] = Axis(penalties, start, closed=(True, last))
        return climb(self.error, axes)

    def details(self, found: Found) -> dict[str, Any]:
        """What was tried and chosen, and axes at whose edge the choice lies."""
        return {
            "chosen": found.params,
            "tried": self.tried,
            "edges": found.edges,
            "threads": torch.get_num_threads(),
        }


def _labels(rule: Rule, cell: Cell) -> Outcome:
    data = table1.load_fold(cell.dataset, cell.fold or 0)

    def fit(rate: float, l2: float) -> tuple[Any, float]:
        classifier = _classifier(rule, rate, l2)
        classifier.fit(*data.train, validation=data.valid)
        predicted = classifier.predict(data.valid.X)
        return classifier, metrics.hamming_error(data.valid.Y, predicted)

    search = Search(fit)
    found = search.run(rule, "labels")
    predicted = search.best.predict(data.test.X)
    p, Y = search.best.predict_proba(data.test.X), data.test.Y
    wrong = (np.asarray(predicted) != Y).sum(1)
    return Outcome(
        {
            "hamming": 100 * metrics.hamming_error(Y, predicted),
            "subset": 100 * metrics.subset_accuracy(Y, predicted),
            "example_f1": 100 * metrics.example_f1(Y, predicted),
            "average_precision": 100 * metrics.average_precision(Y, p),
            "validation": 100 * found.loss,
        },
        {**search.details(found), "wrong_labels": wrong.tolist()},
    )


def _classifier(rule: Rule, rate: float, l2: float) -> Any:
    # inputs are scaled before, and candidates count alike
    shared = {**LABELS, "preprocessing": "none", "stop_by": "error", **dict(rule.fixed)}
    if rule.make is HashCRBMClassifier:
        shared["base_measure"] = "uniform"
    if rule.make is LogisticClassifier:
        del shared["n_hidden"], shared["init_scale"]
    if rule.objective is not None:
        shared = {"inference": "mean_field", "objective": rule.objective, **shared}
    return rule.make(
        learning_rate=rate, l2=l2, early_stopping=True, random_state=0, **shared
    )


def _digits(rule: Rule, seed: int) -> Outcome:
    data = denoising.load_digits(DIGITS)
    train = data.train.select(torch.arange(N_TRAIN))
    valid = data.valid.select(torch.arange(N_VALID))

    def fit(rate: float, l2: float) -> tuple[Any, float]:
        generator = Generator().manual_seed(seed)
        n_pixels = denoising.N_PIXELS
        n_hidden = PIXELS["n_hidden"] if rule.objective else 0
        model = CRBM(n_pixels, n_pixels, n_hidden, generator)
        model.start_biases(train.v, hidden=HIDDEN_BIAS)
        history = training.fit(
            model,
            rule.objective or objectives.ExactLikelihood(),
            train,
            n_epochs=PIXELS["n_epochs"],
            batch_size=PIXELS["batch_size"],
            learning_rate=rate,
            l2=l2,
            generator=generator,
            validation=valid,
            hooks=[training.CosineSchedule()],
            progress=False,
        )
        errors = [error for error in history.validation if error is not None]
        return model, min(errors, default=math.inf)

    search = Search(fit)
    found = search.run(rule, "digits")
    assert data.test.u is not None
    predicted = denoising.predict(search.best, data.test.u)
    return Outcome(
        denoising.pixel_errors(data.test, predicted),
        {
            **search.details(found),
            "blocks": denoising.errors_by_block(data.test, predicted),
        },
    )
