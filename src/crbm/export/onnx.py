"""The marginals of a fitted classifier, or the means of a regressor, in ONNX."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

import crbm
from crbm.estimators import (
    AutoClassifier,
    CRBMClassifier,
    CRBMRegressor,
    CRFClassifier,
    HashCRBMClassifier,
    LabelSetClassifier,
    LogisticClassifier,
)
from crbm.estimators.crbm import INFERENCES
from crbm.estimators.encoding import has_base, precision
from crbm.export import candidates, energies, pool, regression
from crbm.export.graph import Graph, Value, mean, write
from crbm.export.scaling import fill_missing, preprocess
from crbm.inference import exact, loopy_bp, mean_field, search

INPUT = "X"
TINY = 1e-12  # as in `predict_proba`


class Exported(NamedTuple):
    """What an ONNX model takes and gives.

    Parameters
    ----------
    output
        The name of its output: "probabilities" or, of a regressor, "targets".
    output_names
        The columns of its output: labels or targets.
    n_inputs, dtype
        The number of columns of its input `X`, and their type.
    input_names
        Their names, if they have any.
    encoded
        Whether they are not the columns of the training data, but what the encoder of
        tables makes of them.
    """

    output: str
    output_names: list[str]
    n_inputs: int
    dtype: str
    input_names: list[str] | None
    encoded: bool


def to_onnx(estimator: Any, path: str | Path) -> Exported:
    """Write p(v_i = 1 | u), or the expected targets, as an ONNX model.

    The model takes the inputs `X`, (cases, inputs), and gives `probabilities`, (cases,
    labels), or `targets`. Missing values, scalings and kernels are in it. Where the
    estimator was fitted to a table with other columns than numbers, `X` is what
    `estimator.encoder_.transform` returns. Not in it: outputs that are known already,
    thresholds, and the choice of whole label sets.

    Parameters
    ----------
    estimator
        A fitted classifier of `crbm` or a `CRBMRegressor`; not one with a `base` of
        another library, a class of your own, or a `PixelClassifier`.
    path
        The .onnx file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> classifier = crbm.CRBMClassifier(n_epochs=5, random_state=0).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exported = to_onnx(classifier, Path(folder, "model.onnx"))
    >>> exported.output, exported.n_inputs, exported.dtype
    ('probabilities', 20, 'float64')
    """
    _check(estimator)
    graph = Graph()
    found = describe(estimator)
    x = graph.input(INPUT, found.dtype, found.n_inputs)
    if hasattr(estimator, "missing_"):
        x = fill_missing(x, estimator.missing_)
    if getattr(estimator, "preprocessing", "none") != "none":
        x = preprocess(x, estimator.preprocessor_)
    y = FORMS[type(estimator)](estimator, x)
    about = {name: json.dumps(value) for name, value in found._asdict().items()}
    about |= {"kind": type(estimator).__name__, "crbm": crbm.__version__}
    model = graph.model(found.output, y, len(found.output_names), about)
    write(model, Path(path))
    return found


def describe(estimator: Any) -> Exported:
    """What the ONNX model of an estimator takes and gives."""
    encoder = getattr(estimator, "encoder_", None)
    names = getattr(estimator, "feature_names_in_", None)
    if encoder is not None:
        names = encoder.get_feature_names_out()
    elif names is None:
        names = getattr(estimator, "trained_on_", {}).get("feature_names")
    n_inputs = estimator.n_features_in_ if encoder is None else encoder.n_outputs
    is_regressor = isinstance(estimator, CRBMRegressor)
    kind = precision(estimator)  # of estimators that do not say, double
    return Exported(
        "targets" if is_regressor else "probabilities",
        estimator.target_names_ if is_regressor else list(estimator.label_names_),
        int(n_inputs),
        "float64" if kind is None else str(kind).removeprefix("torch."),
        None if names is None else [str(name) for name in names],
        encoder is not None,
    )


def _check(estimator: Any) -> None:
    kind = type(estimator)
    if kind not in FORMS:
        known = ", ".join(f"`{each.__name__}`" for each in FORMS)
        raise TypeError(f"`{kind.__name__}` has no ONNX form; these have one: {known}.")
    check_is_fitted(estimator)
    if isinstance(estimator, LabelSetClassifier) and has_base(estimator):
        raise ValueError(
            "A classifier with a `base` cannot be exported, because the base is a "
            "model of another library. Fit one without."
        )


def _crbm(classifier: CRBMClassifier, u: Value) -> Value:
    infer = _inference(classifier)
    members = [infer(energies.Bipartite.of(m, u)) for m in classifier.models_]
    return _inside(mean(members))


def _inference(classifier: CRBMClassifier) -> Callable[[energies.Bipartite], Value]:
    """The form of a classifier's `inference` for ONNX, with its parameters."""
    way, options = classifier.inference, dict(classifier.inference_params or {})
    if isinstance(way, str):
        way = INFERENCES[classifier._choose("inference", "exact", "mean_field")]
    if isinstance(way, partial) and not way.args:
        options, way = way.keywords, way.func
    if way not in INFERENCE or not set(options) <= {"n_steps", "damping"}:
        raise ValueError(
            f"The inference {classifier.inference!r} has no ONNX form. Set `inference` "
            'to "mean_field", "search", "loopy_bp" or "exact".'
        )
    return partial(INFERENCE[way], **options)


def _crf(classifier: CRFClassifier, u: Value) -> Value:
    options = classifier.n_steps, classifier.damping
    beliefs = [energies.pairwise_beliefs(m, u, *options) for m in classifier.models_]
    return _inside(mean(beliefs))


def _logistic(classifier: LogisticClassifier, u: Value) -> Value:
    members = [energies.Bipartite.of(model, u) for model in classifier.models_]
    return _inside(mean([energies.exact(member) for member in members]))


def _hash(classifier: HashCRBMClassifier, u: Value) -> Value:
    weight = candidates.set_probabilities(classifier, u)
    return _inside(weight @ classifier.label_sets_.numpy())


def _inside(p: Value) -> Value:
    """Probabilities away from 0 and 1, as `predict_proba` gives them."""
    return p.clip(TINY, 1 - TINY)


INFERENCE: dict[Any, Callable[..., Value]] = {
    mean_field.run: energies.mean_field,
    search.mean_field: energies.search,
    loopy_bp.run: energies.belief_propagation,
    exact.marginals: energies.exact,
}
FORMS: dict[type, Callable[[Any, Value], Value]] = {
    AutoClassifier: pool.marginals,
    CRBMClassifier: _crbm,
    CRBMRegressor: regression.expected,
    CRFClassifier: _crf,
    HashCRBMClassifier: _hash,
    LogisticClassifier: _logistic,
}
