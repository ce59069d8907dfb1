"""Fitted classifiers as files: what is stored of each, and how it is restored."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from crbm import checks, inference, objectives, persistence
from crbm.estimators import file_checks, inputs, regressor_files, stacking
from crbm.estimators.checkpoints import OF_THE_RUN
from crbm.messages import one_line
from crbm.preprocessing import ClassColumns, Preprocessor, check_gamma
from crbm.preprocessing.packing import below
from crbm.training import History, distributed

if TYPE_CHECKING:
    from crbm.estimators.predictor import LabelSetClassifier
    from crbm.estimators.structured import StructuredClassifier

PLAIN = ("n_labels_", "single_column_", "label_names_", "n_features_in_")
# What restoring contents that are not a classifier's may raise.
WRONG = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


def save(classifier: LabelSetClassifier, path: str | Path) -> None:
    """Write a fitted classifier to one file."""
    check_is_fitted(classifier)
    tensors = {"thresholds": torch.from_numpy(classifier.thresholds_)}
    if getattr(classifier, "base", None) is not None:
        tensors["base"] = classifier.base_.to_tensor()
    if isinstance(getattr(classifier, "examples_", None), np.ndarray):
        tensors["examples"] = torch.from_numpy(np.array(classifier.examples_))
    tensors |= inputs.state(classifier)[1]
    tensors |= classifier._trained_state()[0] | classifier._state()[0]
    file_checks.check_tensors(tensors)
    if distributed.writes_files():
        persistence.write(path, tensors, description(classifier))


def models_state(
    classifier: StructuredClassifier,
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights of the members, the preprocessing and the training record."""
    tensors = {}
    for place, model in enumerate(classifier.models_):
        for name, weight in model.state_dict().items():
            tensors[f"models.{place}.{name}"] = weight
    if classifier.preprocessing != "none":
        for name, tensor in classifier.preprocessor_.state().items():
            tensors[f"preprocessing.{name}"] = tensor
    histories = [history.as_dict() for history in classifier.histories_]
    plain = {"histories_": histories, "n_iter_": classifier.n_iter_}
    if classifier.preprocessing == "auto":
        plain["preprocessing_"] = classifier.preprocessor_.kind
        plain["kernel_gamma_"] = classifier.preprocessor_.kernel_gamma
    return tensors, plain | {"class_weight_": classifier.class_weight_.tolist()}


def load(path: str | Path, network: nn.Module | None = None) -> Any:
    """The classifier or regressor that `save` wrote, predicting as it did, bit for bit.

    Nothing in the file is executed, so files of strangers are safe to load. For a file
    of a class of your own, import its module first.

    Parameters
    ----------
    path
        The file.
    network
        For a `PixelClassifier` with a network of your own: a module of the same kind,
        whose weights are replaced by those in the file.

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
    from crbm.estimators.predictor import LabelSetClassifier

    tensors, described = persistence.read(path)
    try:
        if described["class"] == "PixelClassifier":
            return _load_pixel_classifier(tensors, described, network)
        if network is not None:
            raise ValueError("only a PixelClassifier has a network; omit `network`")
        if described["class"] == regressor_files.CLASS:
            return regressor_files.restore(tensors, described)
        kind = _find_class(LabelSetClassifier.registry, described["class"])
        parameters = kind.earlier_defaults | restored_parameters(
            described["parameters"]
        )
        classifier = kind(**parameters)
        if "base" in tensors:
            n_labels = described["fitted"]["n_labels_"]
            classifier.base_ = stacking.Base.from_tensor(tensors["base"], n_labels)
            classifier.base = classifier.base_.base
        file_checks.check_tensors(tensors)
        file_checks.check_fitted(described["fitted"])
        _restore(classifier, described["fitted"], tensors)
        file_checks.check_classifier(classifier)
    except WRONG as error:
        reason = one_line(str(error)).rstrip(" .")
        raise ValueError(
            f"`{path}` does not hold a whole classifier: {reason}. Save it again."
        ) from error
    return classifier


def _load_pixel_classifier(
    tensors: dict[str, Tensor], described: dict[str, Any], network: nn.Module | None
) -> Any:
    from crbm.estimators.pixels import PixelClassifier, files

    return files.restore(PixelClassifier, tensors, described, network)


def _find_class(registry: dict[str, Any], name: str) -> Any:
    if name not in registry:
        raise ValueError(
            f"its class `{name}` is not known here; import the module that defines it"
        )
    return registry[name]


def description(classifier: LabelSetClassifier) -> dict[str, Any]:
    """What a classifier is and how it was trained, as plain data."""
    fitted = {name: getattr(classifier, name) for name in PLAIN}
    if classifier.columns_ is None:
        fitted["classes_"] = np.asarray(classifier.classes_).tolist()
    else:
        fitted["columns_"] = classifier.columns_.describe()
    if hasattr(classifier, "feature_names_in_"):
        fitted["feature_names_in_"] = list(classifier.feature_names_in_)
    if hasattr(classifier, "trained_on_"):
        fitted["trained_on_"] = classifier.trained_on_
    if hasattr(classifier, "output_shape_"):
        fitted["output_shape_"] = list(classifier.output_shape_)
    fitted |= inputs.state(classifier)[0]
    return {
        "class": type(classifier).__name__,
        "parameters": plain_parameters(classifier),
        "fitted": fitted | classifier._trained_state()[1] | classifier._state()[1],
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }


def plain_parameters(classifier: LabelSetClassifier) -> dict[str, Any]:
    """The parameters that decide what is learned, as JSON."""
    return {
        name: plain_value(name, value)
        for name, value in classifier.get_params(deep=False).items()
        if name not in (*OF_THE_RUN, "base")  # which has a tensor of its own
    }


def _restore(
    classifier: LabelSetClassifier, fitted: dict[str, Any], tensors: dict[str, Tensor]
) -> None:
    for name in PLAIN:
        setattr(classifier, name, fitted[name])
    _restore_classes(classifier, fitted)
    if "feature_names_in_" in fitted:
        names = np.asarray(fitted["feature_names_in_"], dtype=object)
        classifier.feature_names_in_ = names
    inputs.restore(classifier, fitted, tensors)
    classifier._restore_trained(tensors, fitted)
    classifier.thresholds_ = tensors["thresholds"].numpy()
    classifier.describe(
        trained_on=fitted.get("trained_on_"),
        examples=tensors["examples"].numpy() if "examples" in tensors else None,
        output_shape=fitted.get("output_shape_"),
    )
    classifier._restore(tensors, fitted)


def _restore_classes(classifier: LabelSetClassifier, fitted: dict[str, Any]) -> None:
    if "columns_" not in fitted:
        classifier.classes_ = np.asarray(fitted["classes_"])
        return
    columns = ClassColumns.from_description(fitted["columns_"])
    classifier.columns_ = columns
    single = classifier.single_column_
    classifier.classes_ = columns.classes[0] if single else columns.classes


def restore_models(
    classifier: StructuredClassifier, tensors: dict[str, Tensor], fitted: dict[str, Any]
) -> None:
    """Set what `models_state` gave."""
    if classifier.preprocessing != "none":
        gamma = fitted.get("kernel_gamma_", classifier.kernel_gamma)
        check_gamma(gamma)
        classifier.preprocessor_ = Preprocessor.from_state(
            fitted.get("preprocessing_", classifier.preprocessing),
            below("preprocessing.", tensors),
            gamma,
        )
    _restore_models(classifier, tensors)
    classifier.histories_ = [History.from_dict(h) for h in fitted["histories_"]]
    checks.whole_number("n_iter_", fitted["n_iter_"], at_least=0)
    classifier.n_iter_ = fitted["n_iter_"]
    ones = [1.0] * classifier.n_labels_  # files of 0.1 have no weights of labels
    classifier.class_weight_ = np.array(fitted.get("class_weight_", ones), dtype=float)
    file_checks.check_models(classifier)


def _restore_models(
    classifier: StructuredClassifier, tensors: dict[str, Tensor]
) -> None:
    """Models with the stored weights.

    They are made on the meta device, which holds no numbers, so that sizes that a file
    claims and its tensors lack are refused before any memory is taken.
    """
    n_inputs, classifier.models_ = n_model_inputs(classifier), []
    for place in range(classifier._n_members):
        weights = below(f"models.{place}.", tensors)
        if not weights:
            raise ValueError(f"member {place} has no weights")
        with torch.device("meta"):
            model = classifier._new_model(n_inputs, None)
        model.load_state_dict(weights, assign=True)
        classifier.models_.append(model.requires_grad_())


def n_model_inputs(classifier: StructuredClassifier) -> int:
    """The number of inputs of the models, after preprocessing."""
    n_inputs = inputs.n_inputs(classifier)
    if classifier.preprocessing != "none":
        n_inputs = classifier.preprocessor_.n_outputs(n_inputs)
    if getattr(classifier, "base", None) is None:
        return n_inputs
    if classifier.base_inputs == "instead":
        return classifier.n_labels_
    return n_inputs + classifier.n_labels_


def plain_value(name: str, value: Any) -> Any:
    """A parameter as JSON: optimisers, objectives and inferences by name."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, type) and value.__module__.startswith("torch.optim"):
        return {"torch.optim": value.__name__}
    if value is None or isinstance(value, bool | int | float | str | dict | list):
        return value
    if name == "random_state":
        return None
    described = _describe_object(value)
    if described is not None:
        return described
    raise ValueError(
        f"`{name}` must be plain data, a class of torch.optim, an objective or an "
        f"inference of crbm to be saved; got {type(value).__name__}. Set it to None "
        "before saving."
    )


def _describe_object(value: Any) -> dict[str, Any] | None:
    """An objective or a function of `crbm.inference`, perhaps partial, as JSON."""
    known = type(value).__name__ in objectives.__all__
    if known and dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"objective": type(value).__name__, **dataclasses.asdict(value)}
    function, keywords = value, {}
    if isinstance(value, partial) and not value.args:
        function, keywords = value.func, dict(value.keywords)
    module, _, name = getattr(function, "__module__", "").rpartition(".")
    if module == "crbm.inference" and name in inference.__all__:
        return {"inference": f"{name}.{function.__name__}", **keywords}
    return None


def restored_parameters(described: dict[str, Any]) -> dict[str, Any]:
    """Parameters from what `plain_parameters` gave."""
    parameters = dict(described)
    for name, value in described.items():
        if isinstance(value, dict) and value.keys() & {
            "torch.optim",
            "objective",
            "inference",
        }:
            parameters[name] = _restore_object(dict(value))
    return parameters


def _restore_object(described: dict[str, Any]) -> Any:
    if "torch.optim" in described:
        return _find_optimizer(str(described["torch.optim"]))
    if "objective" in described:
        name = described.pop("objective")
        if name not in objectives.__all__:
            raise ValueError(f"there is no objective {name!r}")
        return getattr(objectives, name)(**described)
    module, _, function = str(described.pop("inference")).partition(".")
    if module not in inference.__all__ or function.startswith("_"):
        raise ValueError(f"there is no inference {module!r}")
    found: Callable[..., Any] = getattr(getattr(inference, module), function)
    return partial(found, **described) if described else found


def _find_optimizer(name: str) -> type[torch.optim.Optimizer]:
    found = getattr(torch.optim, name, None)
    if not (isinstance(found, type) and issubclass(found, torch.optim.Optimizer)):
        raise ValueError(f"there is no optimiser {name!r}")
    return found
