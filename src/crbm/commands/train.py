"""`crbm train`: a classifier learned from a named data set or a file."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse

from crbm.commands.data import Reading, chosen, load
from crbm.commands.output import claim
from crbm.datasets import Dataset
from crbm.estimators import (
    CRBMClassifier,
    CRFClassifier,
    HashCRBMClassifier,
    LogisticClassifier,
    StructuredClassifier,
)

MODELS: dict[str, type[StructuredClassifier]] = {
    "hash-crbm": HashCRBMClassifier,
    "crbm": CRBMClassifier,
    "crf": CRFClassifier,
    "logreg": LogisticClassifier,
}


def run(
    source: str,
    out: Path,
    *,
    model: str = "hash-crbm",
    settings: Mapping[str, Any] | None = None,
    validation: float | None = None,
    preprocessing: str | None = None,
    how: Reading = Reading(),  # noqa: B008 - a constant
    force: bool = False,
) -> dict[str, Any]:
    """Train, save to `out` and tell what was learned.

    Parameters
    ----------
    source
        A data set by name, or a file; see `how` for what a file does not tell.
    out
        The model file.
    model, settings
        A key of `MODELS`, and parameters of that classifier.
    validation
        Share of the rows to hold out, whose error chooses the epoch to keep. The
        official validation rows are used where there are any.
    preprocessing
        Of the inputs; standardised by default, and left alone where all are 0 or 1.
    force
        Whether an existing file may be replaced.
    """
    claim(out, force=force, endings=(".safetensors",))
    whole = load(source, how)
    data = chosen(whole, how.part, "train")
    if not data.Y.shape[1]:
        raise ValueError(f"`{source}` has no labels. Name them with --labels.")
    classifier = built(model, {"preprocessing": preprocessing or suited(data.X)})
    classifier.set_params(**checked(classifier, settings or {}))
    held_out = None
    if validation is not None:
        classifier.set_params(early_stopping=True, validation_fraction=validation)
    elif "valid" in whole.splits and how.part in (None, "train"):
        held_out = chosen(whole, "valid")
    fit(classifier, data, held_out)
    classifier.save(out)
    return {"out": str(out), **summary(classifier)}


def built(model: str, parameters: Mapping[str, Any]) -> StructuredClassifier:
    """An unfitted classifier of a kind."""
    if model not in MODELS:
        known = ", ".join(f"`{name}`" for name in MODELS)
        raise ValueError(f"There is no model `{model}`; use one of {known}.")
    return MODELS[model](**parameters)


def suited(X: Any) -> str:
    """No preprocessing where all inputs are 0 or 1, standardising elsewhere."""
    values = X.data if issparse(X) else X
    return "none" if np.isin(values, (0, 1)).all() else "standardise"


def fit(
    classifier: StructuredClassifier, data: Dataset, held_out: Dataset | None = None
) -> None:
    """Fit to a data set and keep its names, so that files can be matched later."""
    validation = None if held_out is None else (single(held_out.X), held_out.Y)
    classifier.fit(single(data.X), data.Y, validation=validation)
    classifier.label_names_ = list(data.label_names)
    classifier.trained_on_ = data.summary()
    if data.output_shape is not None:
        classifier.output_shape_ = data.output_shape


def single(X: Any) -> Any:
    """Inputs in single precision, in which models train twice as fast."""
    return X.astype(np.float32)


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Settings as a user writes them: `name=value` with values as in Python.

    Examples
    --------
    >>> parse_settings(["n_bits=9", "objective=cd", "objective_params={'n_steps': 5}"])
    {'n_bits': 9, 'objective': 'cd', 'objective_params': {'n_steps': 5}}
    """
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"A setting is written `name=value`; got `{pair}`.")
        settings[name.strip()] = _value(value.strip())
    return settings


def checked(
    classifier: StructuredClassifier, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings, once each is a parameter of the classifier."""
    known = classifier.get_params()
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"Use: {', '.join(known)}."
            raise ValueError(
                f"{type(classifier).__name__} has no setting `{name}`. {hint}"
            )
    return {name: _optimizer(name, value) for name, value in settings.items()}


def summary(classifier: StructuredClassifier) -> dict[str, Any]:
    """What was learned from what, in a few numbers."""
    history = classifier.histories_[0]
    best = history.best_epoch
    return {
        "model": type(classifier).__name__,
        "n_cases": classifier.trained_on_["n_cases"],
        "n_features": classifier.n_features_in_,
        "n_labels": classifier.n_labels_,
        "preprocessing": classifier.preprocessing,
        "epochs": classifier.n_iter_,
        "loss": history.loss[-1] if history.epochs else None,
        "validation": None if best is None else history.validation[best],
        "stopped": history.stopped,
        "seconds": sum(e.seconds for h in classifier.histories_ for e in h.epochs),
    }


def _value(text: str) -> Any:
    plain = {"true": True, "false": False, "null": None, "none": None}
    if text.lower() in plain:
        return plain[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _optimizer(name: str, value: Any) -> Any:
    if name != "optimizer" or not isinstance(value, str):
        return value
    found = getattr(torch.optim, value, None)
    if not (isinstance(found, type) and issubclass(found, torch.optim.Optimizer)):
        raise ValueError(f"torch.optim has no optimiser `{value}`; try `Adam`.")
    return found
