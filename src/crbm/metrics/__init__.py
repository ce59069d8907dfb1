"""Measures of multi-label and per-pixel predictions.

Errors and accuracies are shares in [0, 1]. Labels that are not known (NaN in the truth)
are left out.
"""

from crbm.metrics.images import all_error, changed_error, iou, whole_accuracy
from crbm.metrics.probabilities import (
    ReliabilityCurve,
    expected_calibration_error,
    impossible_share,
    joint_log_loss,
    label_log_loss,
    reliability_curve,
)
from crbm.metrics.ranking import average_precision, precision_at_k, ranking_loss
from crbm.metrics.sets import (
    example_f1,
    hamming_error,
    jaccard,
    macro_f1,
    micro_f1,
    subset_accuracy,
)

__all__ = [
    "ReliabilityCurve",
    "all_error",
    "average_precision",
    "changed_error",
    "example_f1",
    "expected_calibration_error",
    "hamming_error",
    "impossible_share",
    "iou",
    "jaccard",
    "joint_log_loss",
    "label_log_loss",
    "macro_f1",
    "micro_f1",
    "precision_at_k",
    "ranking_loss",
    "reliability_curve",
    "subset_accuracy",
    "whole_accuracy",
]
