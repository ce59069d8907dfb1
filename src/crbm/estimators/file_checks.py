"""Check the contents of a model file before a classifier is built from it.

The digest detects accidental damage. A malicious file can have a valid digest, so
types, sizes and values are checked as well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from crbm import checks
from crbm.preprocessing import ClassColumns

if TYPE_CHECKING:
    from crbm.estimators.predictor import LabelSetClassifier
    from crbm.estimators.structured import StructuredClassifier

# Tensors for the reader of a file; nothing is computed from them.
NOT_COMPUTED_WITH = ("examples",)


def check_tensors(tensors: dict[str, Tensor]) -> None:
    """Refuse weights that are not finite."""
    for name, tensor in tensors.items():
        computed_with = name not in NOT_COMPUTED_WITH
        if computed_with and tensor.is_floating_point() and not _is_finite(tensor):
            raise ValueError(
                f"`{name}` holds NaN or infinite numbers, from which nothing can be "
                "predicted. Train again with a lower `learning_rate`."
            )


def check_fitted(fitted: dict[str, Any]) -> None:
    """Refuse sizes and names of the wrong kind, or that contradict each other."""
    checks.whole_number("n_labels_", fitted["n_labels_"], at_least=1)
    checks.whole_number("n_features_in_", fitted["n_features_in_"], at_least=1)
    if not isinstance(fitted["single_column_"], bool):
        raise ValueError("`single_column_` is not true or false")
    check_names("label_names_", fitted["label_names_"], fitted["n_labels_"])
    if "feature_names_in_" in fitted:
        names = fitted["feature_names_in_"]
        check_names("feature_names_in_", names, fitted["n_features_in_"])
    _check_classes(fitted)
    if not isinstance(fitted.get("trained_on_", {}), dict):
        raise ValueError("`trained_on_` is not a dictionary")
    shape = fitted.get("output_shape_")
    if shape is not None and math.prod(shape) != fitted["n_labels_"]:
        raise ValueError(f"`output_shape_` {shape} is not of `n_labels_` outputs")


def _check_classes(fitted: dict[str, Any]) -> None:
    if "columns_" in fitted:
        columns = ClassColumns.from_description(fitted["columns_"])
        if columns.label_names != fitted["label_names_"]:
            raise ValueError("`columns_` does not agree with `label_names_`")
        if fitted["single_column_"] and len(columns.names) != 1:
            raise ValueError("`single_column_` does not agree with `columns_`")
        return
    n_classes = 2 if fitted["single_column_"] else fitted["n_labels_"]
    classes = fitted["classes_"]
    if not isinstance(classes, list) or len(classes) != n_classes:
        raise ValueError(f"`classes_` is not a list of {n_classes} classes")


def check_models(classifier: StructuredClassifier) -> None:
    """Refuse restored members that cannot belong together."""
    classifier._objective()
    dtypes = {p.dtype for model in classifier.models_ for p in model.parameters()}
    if len(dtypes) != 1 or not dtypes <= {torch.float32, torch.float64}:
        raise ValueError(f"the weights are of the types {sorted(map(str, dtypes))}")


def check_classifier(classifier: LabelSetClassifier) -> None:
    """Refuse a restored classifier whose parts do not fit together."""
    classifier._check_parameters()
    n_labels = classifier.n_labels_
    if classifier.thresholds_.dtype != np.float64:
        raise ValueError(f"`thresholds` are {classifier.thresholds_.dtype}")
    _check_shape("thresholds", classifier.thresholds_, (n_labels,))
    candidates = getattr(classifier, "sets_", None)
    # large tables stay packed
    sets = classifier.label_sets_ if candidates is None else candidates.packed_
    _check_shape("label_sets_", sets, (len(sets), n_labels))
    is_packed = candidates is not None
    if not len(sets) or not (is_packed or checks.first_not_binary(sets) is None):
        raise ValueError("`label_sets_` are not sets of 0 and 1")
    if isinstance(getattr(classifier, "examples_", None), np.ndarray):
        examples, n_inputs = classifier.examples_, classifier.n_features_in_
        _check_shape("examples", examples, (len(examples), n_inputs))


def _is_finite(tensor: Tensor) -> bool:
    # the sum, one pass without a temporary, may overflow where all numbers are finite
    return bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all())


def check_names(what: str, names: Any, n_names: int) -> None:
    """Refuse what is not a list of so many names."""
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not is_list or len(names) != n_names:
        raise ValueError(f"`{what}` is not a list of {n_names} names")


def _check_shape(what: str, array: Any, shape: tuple[int, ...]) -> None:
    if tuple(array.shape) != shape:
        raise ValueError(f"`{what}` has shape {tuple(array.shape)}, not {shape}")
