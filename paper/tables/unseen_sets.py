"""Label sets never seen in training: what HashCRBM says of them with proposals.

CAL500: each song has its own set of tags, so the candidates never hold the true one.
"""

from __future__ import annotations

import numpy as np

import crbm
from crbm import metrics
from paper.engine.store import Cell, Outcome
from paper.tables import problems

NAMES = ("cal500",)
N_FOLDS = 5  # of ten
MODELS = {"HashCRBM": {"n_proposals": 0}, "HashCRBM, proposals": {"n_proposals": 16}}
LEAST = 1e-4  # of the chance of a label, as among sets that are not listed


def run_cell(cell: Cell) -> Outcome:
    """Learn nine tenths of the cases and measure the joint distribution of the rest."""
    assert cell.fold is not None
    data = problems.fold(cell.dataset, cell.fold)
    classifier = crbm.HashCRBMClassifier(random_state=cell.seed, **cell.config)
    classifier.fit(data.X_train, data.Y_train)
    logs = classifier.score_samples(data.X_test, data.Y_test)
    p = classifier.predict_proba(data.X_test)
    found = {
        "impossible": 100 * metrics.impossible_share(logs),
        "independent_log_loss": independent_log_loss(data.Y_test, p),
        "hamming": 100 * metrics.hamming_error(data.Y_test, p > 0.5),
    }
    if np.isfinite(logs).any():
        found["joint_log_loss"] = metrics.joint_log_loss(logs)
    classifier.set_params(prediction="example_f1")
    labels = classifier.predict(data.X_test)
    found["example_f1"] = 100 * metrics.example_f1(data.Y_test, labels)
    return Outcome(found, {"proposal_recall": classifier.proposal_recall_})


def independent_log_loss(Y: np.ndarray, p: np.ndarray) -> float:
    """Minus the log probability of label sets if labels were independent, in nats.

    Examples
    --------
    >>> round(independent_log_loss(np.array([[1, 0]]), np.array([[0.5, 0.5]])), 3)
    1.386
    """
    p = np.clip(p, LEAST, 1 - LEAST)
    return float(-np.log(np.where(Y == 1, p, 1 - p)).sum(1).mean())
