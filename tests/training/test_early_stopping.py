"""What tells training when to stop: measures of predictions for held-out cases."""

import numpy as np
import pytest
import torch

import crbm
from crbm import metrics, training
from crbm.training.early_stopping import LEAST
from crbm.types import Batch, Marginals

MEANS = torch.tensor([[0.9, 0.2, 0.5], [1.0, 0.0, 0.7]])
V = torch.tensor([[1.0, 1.0, torch.nan], [0.0, 0.0, 1.0]])


def measure(name):
    """Of two cases, one of whose labels is not known and one was held impossible."""
    error = training.PredictionError(
        Batch(torch.zeros(2, 4), V), lambda energy, cases: Marginals(MEANS, V), name
    )
    return error(crbm.CRBM(4, 3, 2))


def test_measures_are_those_of_metrics():
    truth, p = V.numpy(), MEANS.numpy()
    assert measure("error") == metrics.hamming_error(truth, p > 0.5) == 0.4
    expected = metrics.label_log_loss(truth, p, least=LEAST)
    assert measure("log_loss") == pytest.approx(expected, rel=1e-6)
    assert expected == pytest.approx(
        -np.log([0.9, 0.2, LEAST, 1.0, 0.7]).mean(), rel=1e-6
    )


def test_an_unknown_measure_is_refused():
    with pytest.raises(
        ValueError, match="`measure` must be one of 'error', 'log_loss'"
    ):
        measure("f1")


def test_a_classifier_keeps_the_weights_of_its_lowest_log_loss():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)).astype(np.float32)
    Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(int)
    held_out = X[40:], Y[40:]
    classifier = crbm.HashCRBMClassifier(
        n_epochs=60, learning_rate=0.5, early_stopping=True, stop_by="log_loss",
        radius=None, random_state=0,
    ).fit(X[:40], Y[:40], validation=held_out)  # fmt: skip
    [history] = classifier.histories_
    assert history.stopped == "early"
    assert history.best_epoch < len(history.epochs) - 1
    p = classifier.predict_proba(X[40:])
    loss = metrics.label_log_loss(Y[40:], p, least=LEAST)
    assert loss == pytest.approx(min(history.validation), rel=1e-5)
