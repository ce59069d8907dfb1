"""Decision thresholds of a classifier, tuned on its held-out cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crbm import checks, decisions
from crbm.types import Batch

if TYPE_CHECKING:
    from crbm.estimators.structured import StructuredClassifier

METRICS = (None, "hamming", "micro_f1", "macro_f1", "subset_accuracy")


def check(thresholds: Any) -> None:
    """Refuse what thresholds cannot be tuned for."""
    checks.one_of("thresholds", thresholds, METRICS)


def check_outputs(classifier: StructuredClassifier) -> None:
    """Refuse thresholds for outputs that have none."""
    if classifier.columns_ is not None and classifier.thresholds is not None:
        raise ValueError(
            "`thresholds` are for labels that are present or absent; of several "
            "classes the likeliest is predicted. Set `thresholds` to None."
        )


def tune(classifier: StructuredClassifier, held_out: Batch | None) -> None:
    """Set `thresholds_`: a half where there is nothing to tune them for or on."""
    classifier.thresholds_ = np.full(classifier.n_labels_, 0.5)
    if classifier.thresholds is None or held_out is None:
        return
    assert held_out.u is not None
    p = classifier._marginals(held_out.u, None).numpy().astype(np.float64)
    truth = held_out.v.numpy().astype(np.float64)
    classifier.thresholds_ = decisions.tuned_thresholds(classifier.thresholds, truth, p)
