"""Fitted classifiers as files: what is kept of each, and how it comes back."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from torch import Tensor

from crbm import persistence
from crbm.estimators.base import StructuredClassifier
from crbm.estimators.crbm import CRBMClassifier
from crbm.estimators.crf import CRFClassifier
from crbm.estimators.hash_crbm import HashCRBMClassifier
from crbm.estimators.logistic import LogisticClassifier
from crbm.estimators.long_runs import OF_THE_RUN
from crbm.hashing import CandidateSets
from crbm.preprocessing import Preprocessor, check_gamma
from crbm.training import History

CLASSES: dict[str, type[StructuredClassifier]] = {
    kind.__name__: kind
    for kind in (LogisticClassifier, CRFClassifier, CRBMClassifier, HashCRBMClassifier)
}
PLAIN = ("n_labels_", "single_column_", "label_names_", "n_features_in_", "n_iter_")


def save(classifier: StructuredClassifier, path: str | Path) -> None:
    """Write a fitted classifier to one file."""
    sklearn.utils.validation.check_is_fitted(classifier)
    tensors = {"thresholds": torch.from_numpy(classifier.thresholds_)}
    for place, model in enumerate(classifier.models_):
        for name, weight in model.state_dict().items():
            tensors[f"models.{place}.{name}"] = weight
    if classifier.preprocessing != "none":
        for name, tensor in classifier.preprocessor_.state().items():
            tensors[f"preprocessing.{name}"] = tensor
    if hasattr(classifier, "examples_"):  # inputs to try the model on
        tensors["examples"] = torch.from_numpy(np.array(classifier.examples_))
    if isinstance(classifier, HashCRBMClassifier):
        tensors |= classifier.sets_.state()
    else:
        tensors["observed"] = classifier.observed_.to(torch.uint8)
    persistence.write(path, tensors, description(classifier))


def load(path: str | Path) -> StructuredClassifier:
    """The classifier that `save` wrote, predicting as it did, bit for bit.

    Nothing in the file is executed, so files of strangers are safe to load.

    Examples
    --------
    >>> import crbm, tempfile
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> classifier = crbm.LogisticClassifier(n_epochs=2, random_state=0).fit(X, Y)
    >>> path = Path(tempfile.mkdtemp(), "model.safetensors")
    >>> classifier.save(path)
    >>> bool((crbm.load(path).predict(X) == classifier.predict(X)).all())
    True
    """
    tensors, described = persistence.read(path)
    try:
        classifier = CLASSES[described["class"]](**_parameters(described["parameters"]))
        _restore(classifier, described["fitted"], tensors)
    except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
        raise ValueError(
            f"`{path}` does not hold a whole classifier: {str(error).rstrip('.')}. "
            "Save it again."
        ) from error
    return classifier


def description(classifier: StructuredClassifier) -> dict[str, Any]:
    """What a classifier is and how it was trained, as plain data."""
    fitted = {name: getattr(classifier, name) for name in PLAIN}
    fitted["classes_"] = np.asarray(classifier.classes_).tolist()
    if hasattr(classifier, "feature_names_in_"):
        fitted["feature_names_in_"] = list(classifier.feature_names_in_)
    if isinstance(classifier, HashCRBMClassifier):
        fitted["candidate_recall_"] = classifier.candidate_recall_
    if hasattr(classifier, "trained_on_"):
        fitted["trained_on_"] = classifier.trained_on_
    if hasattr(classifier, "output_shape_"):  # of outputs that are images
        fitted["output_shape_"] = list(classifier.output_shape_)
    fitted["histories_"] = [history.as_dict() for history in classifier.histories_]
    return {
        "class": type(classifier).__name__,
        "parameters": {
            name: _plain(name, value)
            for name, value in classifier.get_params().items()
            if name not in OF_THE_RUN
        },
        "fitted": fitted,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }


def _restore(
    classifier: StructuredClassifier, fitted: dict[str, Any], tensors: dict[str, Tensor]
) -> None:
    for name in PLAIN:
        setattr(classifier, name, fitted[name])
    classifier.classes_ = np.asarray(fitted["classes_"])
    if "feature_names_in_" in fitted:
        names = np.asarray(fitted["feature_names_in_"], dtype=object)
        classifier.feature_names_in_ = names
    if "trained_on_" in fitted:
        classifier.trained_on_ = dict(fitted["trained_on_"])
    if classifier.preprocessing != "none":
        check_gamma(classifier.kernel_gamma)
        classifier.preprocessor_ = Preprocessor.restored(
            classifier.preprocessing,
            _below("preprocessing.", tensors),
            classifier.kernel_gamma,
        )
    if "output_shape_" in fitted:
        classifier.output_shape_ = tuple(fitted["output_shape_"])
    if "examples" in tensors:
        classifier.examples_ = tensors["examples"].numpy()
    _restore_models(classifier, tensors)
    classifier.histories_ = [History.from_dict(h) for h in fitted["histories_"]]
    classifier.thresholds_ = tensors["thresholds"].numpy()
    if isinstance(classifier, HashCRBMClassifier):
        sets = CandidateSets(classifier.n_bits, classifier.radius)
        classifier.sets_ = sets.restored(tensors)
        classifier.candidate_recall_ = fitted["candidate_recall_"]
    else:
        classifier.observed_ = tensors["observed"].to(classifier._dtype)


def _restore_models(
    classifier: StructuredClassifier, tensors: dict[str, Tensor]
) -> None:
    dtype = tensors["models.0.bias_v"].dtype
    _check_claims(classifier, tensors)
    classifier._make_models(torch.Generator(), dtype)
    for place, model in enumerate(classifier.models_):
        model.load_state_dict(_below(f"models.{place}.", tensors))


def _check_claims(classifier: StructuredClassifier, tensors: dict[str, Tensor]) -> None:
    """Refuse sizes that a file claims and its tensors lack, before room is made."""
    n_labels = classifier.n_labels_
    claims: dict[str, tuple[int, ...]] = {"bias_v": (n_labels,)}
    if hasattr(classifier, "n_hidden"):
        claims["weight_vh"] = (n_labels, classifier.n_hidden)
    if classifier.preprocessing == "none":
        claims["weight_uv"] = (classifier.n_features_in_, n_labels)
    for place in range(classifier._n_members):
        for name, claimed in claims.items():
            found = tuple(tensors[f"models.{place}.{name}"].shape)
            if found != claimed:
                raise ValueError(f"`{name}` has shape {found}, not {claimed}")


def _below(start: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names start so, by the rest of their names."""
    return {
        name.removeprefix(start): tensor
        for name, tensor in tensors.items()
        if name.startswith(start)
    }


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON: classes of torch.optim by name, generators not at all."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, type) and value.__module__.startswith("torch.optim"):
        return {"torch.optim": value.__name__}
    if value is None or isinstance(value, bool | int | float | str | dict | list):
        return value
    if name == "random_state":
        return None
    raise ValueError(
        f"`{name}` must be plain data or a class of torch.optim to be saved; got "
        f"{type(value).__name__}. Set it to None before saving."
    )


def _parameters(described: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(described)
    optimizer = parameters.get("optimizer")
    if isinstance(optimizer, dict):
        found = getattr(torch.optim, str(optimizer["torch.optim"]), None)
        if not (isinstance(found, type) and issubclass(found, torch.optim.Optimizer)):
            raise ValueError(f"there is no optimiser {optimizer['torch.optim']!r}")
        parameters["optimizer"] = found
    return parameters
