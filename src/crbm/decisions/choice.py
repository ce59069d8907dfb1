"""The best answer for a measure by its name."""

from __future__ import annotations

from crbm import checks
from crbm.decisions.f_measure import example_f1
from crbm.decisions.joint import Answers, Joint, marginals, mode, round_marginals
from crbm.decisions.overlap import jaccard
from crbm.decisions.thresholds import macro_f1_thresholds, micro_f1_threshold

MEASURES = (
    "hamming",
    "subset_accuracy",
    "example_f1",
    "jaccard",
    "micro_f1",
    "macro_f1",
    "log_loss",
)


def best(measure: str, joint: Joint) -> Answers:
    """The answers that are best for a measure in expectation, (cases, labels).

    `micro_f1` and `macro_f1` choose their thresholds from the cases at hand, so give
    all cases at once, or keep the thresholds of many cases (`macro_f1_thresholds`).
    For `log_loss` the marginals are rounded.

    Examples
    --------
    >>> joint = Joint([[0.4, 0.3, 0.3]], [[0, 0], [1, 0], [1, 1]])
    >>> best("subset_accuracy", joint).astype(int), best("hamming", joint).astype(int)
    (array([[0, 0]]), array([[1, 0]]))
    """
    checks.one_of("measure", measure, MEASURES)
    if measure in ("subset_accuracy", "example_f1", "jaccard"):
        by_joint = {"subset_accuracy": mode, "jaccard": jaccard}
        return by_joint.get(measure, example_f1)(joint)
    p = marginals(joint)
    if measure == "micro_f1":
        return p > micro_f1_threshold(p)
    if measure == "macro_f1":
        return p > macro_f1_thresholds(p)
    return round_marginals(p)
