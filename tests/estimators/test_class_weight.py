"""Weights of labels against reweighted distributions and scikit-learn's."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_class_weight_classifiers

import crbm
from planted import copied_patterns

DATA = copied_patterns(120)
X, Y = DATA.u.numpy(), DATA.v.numpy()
QUICK = {"n_epochs": 3, "random_state": 0, "learning_rate": 0.3}
CLASSIFIERS = [
    crbm.LogisticClassifier(**QUICK),
    crbm.CRBMClassifier(**QUICK, n_hidden=4),
    crbm.HashCRBMClassifier(**QUICK, n_hidden=4, radius=None),
]
WEIGHT = np.array([1, 5, 1, 0.25, 3, 1])
ALL_SETS = np.array(list(itertools.product((0, 1), repeat=6)))


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda c: type(c).__name__)
def test_label_sets_are_reweighted_by_the_product_of_their_weights(classifier):
    """P_w(v) = P(v) prod_i w_i^v_i / Z, for every label set of a case."""
    plain = classifier.fit(X, Y)
    again = np.repeat(X[:1], len(ALL_SETS), axis=0)
    p = np.exp(plain.score_samples(again, ALL_SETS))
    expected = p * np.prod(WEIGHT**ALL_SETS, axis=1)
    weighted = type(classifier)(**classifier.get_params())
    weighted.set_params(class_weight=WEIGHT.tolist()).fit(X, Y)
    found = np.exp(weighted.score_samples(again, ALL_SETS))
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-3, atol=1e-6)


def test_a_single_column_is_weighted_as_by_scikit_learn():
    """On 2,000 cases of a logistic model both come within 0.05 of each other."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(2000, 2))
    y = np.where(rng.random(2000) < 1 / (1 + np.exp(2 - inputs[:, 0])), "yes", "no")
    weight = {"no": 0.5, "yes": 3}
    ours = crbm.LogisticClassifier(
        class_weight=weight,
        n_epochs=40,
        batch_size=2000,
        learning_rate=2.0,
        random_state=0,
    ).fit(inputs, y)
    peer = LogisticRegression(class_weight=weight).fit(inputs, y)
    expected = peer.predict_proba(inputs)
    np.testing.assert_allclose(ours.predict_proba(inputs), expected, atol=0.05)


def test_scikit_learns_own_check_holds_with_scaled_inputs():
    classifier = crbm.LogisticClassifier(
        batch_size=256, learning_rate=1.0, preprocessing="standardise"
    )
    check_class_weight_classifiers("LogisticClassifier", classifier)


def test_a_rare_label_is_predicted_when_balanced():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(600, 1)).astype(np.float32)
    rare = (rng.random(600) < 0.25 * (inputs[:, 0] > 1)).astype(float)
    labels = np.column_stack([inputs[:, 0] > 0, rare]).astype(float)
    labels[:5, 1] = np.nan
    settings = {"n_epochs": 20, "learning_rate": 1.0, "n_hidden": 4}
    settings |= {"batch_size": 100, "random_state": 0}
    plain = crbm.HashCRBMClassifier(**settings, radius=None).fit(inputs, labels)
    assert not plain.predict(inputs)[:, 1].any()
    fitted = crbm.HashCRBMClassifier(
        **settings, radius=None, class_weight="balanced"
    ).fit(inputs, labels)
    n_with = np.nansum(labels[:, 1])
    assert fitted.class_weight_[1] == pytest.approx((595 - n_with) / n_with)
    found = fitted.predict(inputs)[:, 1]
    assert found[inputs[:, 0] > 1.2].mean() > 0.9 > 0.1 > found[inputs[:, 0] < 0].mean()


def test_training_goes_on_without_the_weights():
    """They are applied once, however often `fit` or `partial_fit` continues."""
    biases = []
    for weight in (None, WEIGHT):
        classifier = crbm.LogisticClassifier(
            **QUICK, warm_start=True, class_weight=weight
        )
        classifier.fit(X, Y).fit(X, Y).partial_fit(X, Y)
        biases.append(classifier.models_[0].bias_v.detach().numpy())
    np.testing.assert_allclose(biases[1] - biases[0], np.log(WEIGHT), atol=1e-5)


def test_weights_by_name_are_saved_and_continue_from_a_file(tmp_path):
    frame = pd.DataFrame(Y, columns=list("abcdef"))
    fitted = crbm.LogisticClassifier(
        **QUICK, class_weight={"b": 5.0, "e": 3.0}, warm_start=True
    ).fit(X, frame)
    assert fitted.class_weight_.tolist() == [1, 5, 1, 1, 3, 1]
    fitted.save(tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    again, expected = (c.fit(X, frame).predict_proba(X) for c in (loaded, fitted))
    np.testing.assert_allclose(again, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("even", '`class_weight` must be None, "balanced"'),
        ([1, 2], r"one weight per label, 6 in all; got shape \(2,\)"),
        ({"colour": 2}, "`class_weight` names 'colour', which is not a label"),
        ({"0": 0}, "`class_weight` must be positive; got 0"),
    ],
)
def test_wrong_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        crbm.LogisticClassifier(**QUICK, class_weight=weight).fit(X, Y)
