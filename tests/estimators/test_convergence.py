"""Warnings about training that ended too soon or learned too little."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import crbm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
Y = (X + 0.5 * RNG.normal(size=X.shape) > 0.3).astype(float)
pytestmark = pytest.mark.filterwarnings("error")
CLASSES = [crbm.HashCRBMClassifier, crbm.CRBMClassifier, crbm.LogisticClassifier]


@pytest.mark.parametrize("make", CLASSES)
def test_the_defaults_are_better_than_base_rates_without_a_warning(make):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* has not converged")
        classifier = make(random_state=0).fit(X * [1e4, 1, 1e-4, 1], Y)
    assert (classifier.predict(X * [1e4, 1, 1e-4, 1]) != Y).mean() < 0.2


def test_a_loss_that_still_falls_is_reported():
    slow = crbm.LogisticClassifier(learning_rate=0.1, n_epochs=5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="the loss fell by .* of 5 epochs"):
        slow.fit(X, Y)


def test_a_loss_that_has_ended_to_fall_is_not():
    crbm.LogisticClassifier(learning_rate=0.3, n_epochs=40, random_state=0).fit(X, Y)


def test_more_errors_than_the_base_rates_are_reported():
    wild = crbm.CRBMClassifier(
        learning_rate=30.0, n_epochs=3, preprocessing="none", random_state=0
    )
    rare = (RNG.random(Y.shape) < 0.1).astype(float)
    with pytest.warns(ConvergenceWarning, match="worse than base rates: .*%.*12.0%"):
        wild.fit(X, rare)


def test_weighted_labels_are_not_compared_with_base_rates():
    rare = (RNG.random(Y.shape) < 0.1).astype(float)
    weighted = crbm.LogisticClassifier(class_weight="balanced", random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* has not converged")
        weighted.fit(X, rare)


def test_part_of_a_fit_does_not_warn():
    crbm.LogisticClassifier(learning_rate=0.01, random_state=0).partial_fit(X, Y)
