"""Extreme numbers, interrupted fits and tensors: a finite answer or one clear error."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import crbm
from planted import copied_patterns

DATA = copied_patterns(40)
X, Y = DATA.u.numpy(), DATA.v.numpy()
QUICK = {"n_epochs": 2, "random_state": 0}
KINDS = {
    "logistic": lambda **options: crbm.LogisticClassifier(**QUICK, **options),
    "crf": lambda **options: crbm.CRFClassifier(**QUICK, **options),
    "crbm": lambda **options: crbm.CRBMClassifier(**QUICK, n_hidden=3, **options),
    "hash": lambda **options: crbm.HashCRBMClassifier(**QUICK, n_hidden=3, **options),
}


def assert_sound(classifier, X):
    """Refuse NaN, sums of probabilities above 1 and positive log probabilities."""
    p, labels = classifier.predict_proba(X), classifier.predict(X)
    assert ((p >= 0) & (p <= 1)).all()
    assert (classifier.predict_top_k(X, k=4).probability.sum(1) <= 1 + 1e-6).all()
    assert (classifier.score_samples(X, labels) <= 0).all()


@pytest.mark.parametrize("scale", [1e8, 1e15, 1e30])
@pytest.mark.parametrize("kind", KINDS)
def test_large_inputs_give_sound_answers_or_one_error(kind, scale):
    fitted = KINDS[kind]().fit(X, Y)
    assert_sound(fitted, X * np.float32(scale))
    strange, problem = KINDS[kind](learning_rate=1e-3), "overflow"
    try:
        strange.fit(X * np.float32(scale), Y)
        assert_sound(strange, X * np.float32(scale))
    except (ValueError, ConvergenceWarning) as error:
        problem = str(error)
    assert "overflow" in problem or "no longer finite" in problem


@pytest.mark.parametrize("kind", KINDS)
def test_an_overflow_is_told_and_not_predicted_from(kind):
    fitted = KINDS[kind]().fit(X, Y)
    for model in fitted.models_:
        model.weight_uv.data.fill_(1e30)
    far = X * np.float32(1e30)
    far[::2] *= -1
    for ask in (fitted.predict, fitted.predict_proba, fitted.predict_top_k):
        with pytest.raises(ValueError, match=r"as large as .*e\+30 overflow"):
            ask(far)
    with pytest.raises(ValueError, match="overflow"):
        fitted.score_samples(far, Y)


@pytest.mark.parametrize("kind", KINDS)
def test_a_penalty_that_explodes_leaves_finite_weights(kind):
    fitted = KINDS[kind](l2=1e30, learning_rate=2**-4)
    with pytest.warns(ConvergenceWarning, match="the weights were no longer finite"):
        fitted.fit(X, Y)
    for model in fitted.models_:
        assert all(weight.isfinite().all() for weight in model.parameters())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", ["constant", "one set", "one case"])
def test_data_that_say_little_are_learned_from(kind, labels):
    n_cases = 1 if labels == "one case" else len(X)
    truth = np.repeat(Y[:1], len(Y), 0) if labels == "one set" else Y.copy()
    if labels == "constant":
        truth[:, 2] = 0
    fitted = KINDS[kind]().fit(X[:n_cases], truth[:n_cases])
    assert_sound(fitted, X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_dtype_of_torch_changes_nothing(kind):
    expected = KINDS[kind]().fit(X, Y).predict_proba(X)
    torch.set_default_dtype(torch.float64)
    try:
        found = KINDS[kind]().fit(X, Y).predict_proba(X)
    finally:
        torch.set_default_dtype(torch.float32)
    assert np.array_equal(found, expected)


class Interruption:
    """Changes no batch, and acts as Ctrl-C at one of them."""

    def __init__(self, place):
        self.left = place

    def __call__(self, batch, generator):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return batch


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_fit_leaves_the_classifier_unfitted(kind):
    classifier = KINDS[kind]()
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(X, Y, augment=Interruption(1))
    with pytest.raises(NotFittedError):
        classifier.predict(X)
    assert not [name for name in vars(classifier) if name.endswith("_")]


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_fit_leaves_what_was_fitted_before(kind, warm_start):
    classifier = KINDS[kind](warm_start=warm_start).fit(X, Y)
    expected = classifier.predict_proba(X)
    n_inputs = X.shape[1] if warm_start else 2
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(X[:, :n_inputs], Y, augment=Interruption(1))
    assert np.array_equal(classifier.predict_proba(X), expected)


def test_tensors_that_require_gradients_are_taken():
    u, v = DATA.u.clone().requires_grad_(), DATA.v.clone().requires_grad_()
    weight = torch.ones(len(u), requires_grad=True)
    expected = KINDS["logistic"]().fit(X, Y)
    fitted = KINDS["logistic"]().fit(u, v, sample_weight=weight)
    p = fitted.predict_proba(u, known=v * torch.nan)
    assert np.array_equal(p, expected.predict_proba(X))


def test_inputs_whose_directions_overflow_are_refused():
    far = X.astype(np.float64) * 1e300
    far[0] *= -1
    with pytest.raises(ValueError, match="overflow"):
        crbm.HashCRBMClassifier(**QUICK, preprocessing="none").fit(far, Y)
