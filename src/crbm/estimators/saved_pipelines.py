"""A scikit-learn pipeline around one of our classifiers, as a model file."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from crbm.estimators.predictor import LabelSetClassifier
from crbm.preprocessing import TableEncoder
from crbm.preprocessing.pipeline_encoder import PipelineEncoder


def save(model: Any, path: str | Path) -> None:
    """Write a fitted estimator, or a pipeline that ends in one, to one file.

    A pipeline is stored as its classifier, which takes the raw columns that the
    pipeline takes: `load` returns a classifier that predicts as the pipeline did, and
    that can be served. Before it there must be parts of scikit-learn, or a single
    `TableEncoder`.

    Parameters
    ----------
    model
        An estimator of crbm, or a `Pipeline` whose last step is one.
    path
        The file.

    Examples
    --------
    >>> import crbm, tempfile
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> classifier = crbm.LogisticClassifier(n_epochs=2, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), classifier).fit(X, Y)
    >>> path = Path(tempfile.mkdtemp(), "model.safetensors")
    >>> crbm.save(pipeline, path)
    >>> bool((crbm.load(path).predict(X) == pipeline.predict(X)).all())
    True
    """
    if isinstance(model, Pipeline):
        model = with_steps(model)
    if not hasattr(model, "save"):
        raise TypeError(
            "`model` must be an estimator of crbm, or a scikit-learn Pipeline whose "
            f"last step is one; got {type(model).__name__}."
        )
    model.save(path)


def with_steps(pipeline: Pipeline) -> LabelSetClassifier:
    """The classifier of a fitted pipeline, with the steps before it as its encoder."""
    last = pipeline[-1]
    if not isinstance(last, LabelSetClassifier):
        raise TypeError(
            "The last step of the pipeline must be a classifier of crbm, e.g. "
            f"HashCRBMClassifier; got {type(last).__name__}."
        )
    check_is_fitted(last)
    if len(pipeline) == 1:
        return last
    steps = pipeline[:-1]
    if hasattr(last, "encoder_"):
        raise ValueError(
            "The classifier itself encodes the columns that the steps return, as they "
            "are not all numbers. Let the steps return numbers, or leave them out."
        )
    if not hasattr(steps, "n_features_in_"):
        raise ValueError(
            f"The first step, {type(steps[0]).__name__}, takes no columns. Put it into "
            "a ColumnTransformer, which names the column that it takes."
        )
    classifier = copy.copy(last)
    classifier.encoder_ = _encoder(steps, last.n_features_in_)
    classifier.n_features_in_ = classifier.encoder_.n_features_in_
    classifier.__dict__.pop("feature_names_in_", None)
    classifier.__dict__.pop("examples_", None)
    if hasattr(classifier.encoder_, "feature_names_in_"):
        names = [str(name) for name in classifier.encoder_.feature_names_in_]
        classifier.feature_names_in_ = np.asarray(names, dtype=object)
    return classifier


def _encoder(steps: Pipeline, n_outputs: int) -> TableEncoder:
    """The steps as one encoder of tables, which a file can hold."""
    if len(steps) == 1 and type(steps[0]) is TableEncoder:
        return steps[0]
    return PipelineEncoder(steps, n_outputs)
