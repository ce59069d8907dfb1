"""`crbm train`: fit a classifier to a named data set or a file."""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse

from crbm import paths
from crbm.commands import judging, report
from crbm.commands.data import identity, load, select_part
from crbm.commands.output import (
    check_checkpoint_dir,
    check_output_path,
    save_or_keep,
)
from crbm.commands.reading import Reading
from crbm.commands.tables import no_classes, note_on_sets, to_inputs
from crbm.datasets import Dataset
from crbm.estimators import LabelSetClassifier, PixelClassifier, StructuredClassifier
from crbm.preprocessing import TableWarning

N_EXAMPLES = 8
MOST_EXAMPLE_INPUTS = 5000  # rows of more are not kept
MODELS: dict[str, type[LabelSetClassifier]] = {
    kind.short_name: kind
    for kind in LabelSetClassifier.registry.values()
    if kind.short_name is not None
}
# A larger model does not fit in memory, and that error says more than a full disk.
LARGEST_MODEL = 2**40


def run(
    source: str,
    out: Path,
    *,
    model: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    validation: float | None = None,
    preprocessing: str | None = None,
    held_out: float = 0.0,
    reading: Reading = Reading(),  # noqa: B008 - a constant
    n_examples: int = N_EXAMPLES,
    force: bool = False,
) -> dict[str, Any]:
    """Train a classifier, save it to `out` and return a summary as plain data.

    A page that describes the model is written beside it, `m.report.html` for
    `m.safetensors`.

    Parameters
    ----------
    source, reading
        A data set by name or a file, and how to read the file.
    out, force
        The model file, and whether an existing file may be replaced.
    model, parameters
        A key of `MODELS`, and parameters of that classifier; see `default_model`.
    validation
        Fraction of the rows to hold out for early stopping. By default the official
        validation rows, if the data set has any.
    preprocessing
        Preprocessing of the inputs; `auto` by default.
    held_out
        Fraction of the rows to measure the error on, with a second fit to the others
        after the model is saved; 0 measures nothing.
    n_examples
        How many rows of the data the model file keeps, to try the model on.
    """
    check_output_path(out, force=force, endings=(".safetensors",))
    check_output_path(report.path_of(out), force=force, endings=(".html",))
    if not 0 <= held_out <= 0.5:
        raise ValueError(f"`held_out` must be between 0 and 0.5; got {held_out}.")
    check_checkpoint_dir((parameters or {}).get("checkpoint_dir"))
    all_rows = load(source, reading)
    data = select_part(all_rows, reading.part, default="train")
    if not data.Y.shape[1]:
        raise ValueError(f"`{source}` has no labels. Name them with --labels.")
    if model is None:
        of_one_model = preprocessing is not None or validation is not None
        model = "hash-crbm" if of_one_model else default_model(parameters or {})
    classifier = make_classifier(model, {})
    if data.columns is not None:
        if not classifier.several_classes:
            raise no_classes(source, reading, model)
        if note := note_on_sets(data.columns):
            warnings.warn(note, TableWarning, stacklevel=2)
    if isinstance(classifier, StructuredClassifier):
        classifier.set_params(preprocessing=preprocessing or "auto")
    elif preprocessing is not None or validation is not None:
        raise ValueError(
            f"`{model}` scales its inputs and holds out rows by itself. Leave out "
            "--preprocessing and --validation."
        )
    classifier.set_params(**check_parameters(classifier, parameters or {}))
    valid = None
    if validation is not None:
        classifier.set_params(early_stopping=True, validation_fraction=validation)
    elif (
        "valid" in all_rows.splits
        and reading.part in (None, "train")
        and isinstance(classifier, StructuredClassifier)
    ):
        valid = select_part(all_rows, "valid")
    n_bytes = least_bytes(classifier, data)
    if n_bytes < LARGEST_MODEL:
        paths.check_space(out.parent, n_bytes)
    fit(classifier, data, valid, n_examples=n_examples)
    dropped = {"dropped": list(reading.drop)} if reading.drop else {}
    trained_on = classifier.trained_on_ | identity(source, data) | dropped
    classifier.describe(trained_on=trained_on)
    save_or_keep(classifier, out)
    found = {"out": str(out), **summary(classifier)}
    return found | judging.run(classifier, data, out, held_out, **_fit_options(valid))


def default_model(parameters: Iterable[str]) -> str:
    """`auto`, or `hash-crbm` for parameters that `auto` does not have.

    Examples
    --------
    >>> default_model(["metric"]), default_model(["n_epochs"])
    ('auto', 'hash-crbm')
    """
    known = make_classifier("auto", {}).get_params()
    return "auto" if all(name in known for name in parameters) else "hash-crbm"


def least_bytes(classifier: LabelSetClassifier, data: Dataset) -> int:
    """A lower bound on the size of the model's file: the weights that are sure."""
    n_labels, n_hidden = data.Y.shape[1], getattr(classifier, "n_hidden", 0)
    if not isinstance(classifier, StructuredClassifier):
        return 4 * n_labels
    of_kernel = classifier.preprocessing.startswith(("kernel", "rbf"))
    n_inputs = 0 if of_kernel else data.X.shape[1]
    n_members = getattr(classifier, "n_estimators", 1)
    return 4 * n_members * (n_inputs * (n_labels + n_hidden) + n_labels * n_hidden)


def make_classifier(model: str, parameters: Mapping[str, Any]) -> LabelSetClassifier:
    """Make an unfitted classifier of a kind in `MODELS`."""
    if model not in MODELS:
        known = ", ".join(f"`{name}`" for name in MODELS)
        raise ValueError(f"There is no model `{model}`; use one of {known}.")
    return MODELS[model](**parameters)


def fit(
    classifier: LabelSetClassifier,
    data: Dataset,
    held_out: Dataset | None = None,
    *,
    n_examples: int = N_EXAMPLES,
) -> None:
    """Fit to a data set and store its column names, to match files by name later."""
    X = to_inputs(data.X)
    classifier.fit(X, data.targets, **_fit_options(held_out))
    classifier.describe(
        label_names=None if data.columns else data.label_names,
        trained_on=data.summary(),
        examples=example_rows(X, n_examples),
        output_shape=data.output_shape,
    )


def _fit_options(valid: Dataset | None) -> dict[str, Any]:
    """The validation rows as an argument of `fit`, if there are any."""
    return {} if valid is None else {"validation": (to_inputs(valid.X), valid.targets)}


def example_rows(X: Any, count: int) -> Any:
    """Rows from all over the data, or nothing if there are none to keep."""
    if not count or X.shape[1] > MOST_EXAMPLE_INPUTS:
        return None
    rows = np.unique(np.linspace(0, X.shape[0] - 1, count).astype(int))
    return X[rows].toarray() if issparse(X) else X[rows]


def parse_parameters(pairs: Iterable[str]) -> dict[str, Any]:
    """Parse `name=value` pairs; values are Python literals or words.

    Examples
    --------
    >>> pairs = ["n_bits=9", "objective=cd", "objective_params={'n_steps': 5}"]
    >>> parse_parameters(pairs)
    {'n_bits': 9, 'objective': 'cd', 'objective_params': {'n_steps': 5}}
    """
    parameters = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"`--set` needs `name=value`; got `{pair}`.")
        parameters[name.strip()] = _parse_value(value.strip())
    return parameters


def check_parameters(
    classifier: LabelSetClassifier | PixelClassifier, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Check that the classifier has these parameters; look up `optimizer` by name."""
    known = classifier.get_params()
    for name in parameters:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"Use: {', '.join(known)}."
            raise ValueError(
                f"{type(classifier).__name__} has no parameter `{name}`. {hint}"
            )
    return {name: _find_optimizer(name, value) for name, value in parameters.items()}


def summary(classifier: LabelSetClassifier) -> dict[str, Any]:
    """The main figures of a fit: sizes and what the classifier reports of it."""
    return {
        "model": type(classifier).__name__,
        "n_cases": classifier.trained_on_["n_cases"],
        "n_features": classifier.n_features_in_,
        "n_labels": classifier.n_labels_,
        **classifier.training_summary(),
    }


def _parse_value(text: str) -> Any:
    words = {"true": True, "false": False, "null": None, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _find_optimizer(name: str, value: Any) -> Any:
    if name != "optimizer" or not isinstance(value, str):
        return value
    kind = getattr(torch.optim, value, None)
    if not (isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)):
        raise ValueError(f"torch.optim has no optimiser `{value}`; try `Adam`.")
    return kind
