"""CRBMRegressor: scikit-learn's contract, likelihood, known and missing targets."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import crbm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
# a hidden switch moves both targets, the more likely the larger the first input
SWITCH = RNG.random(300) < 1 / (1 + np.exp(-3 * X[:, 0]))
Y = X @ RNG.normal(size=(3, 2)) + SWITCH[:, None] * [5.0, -5.0]
Y = 10 * (Y + 0.3 * RNG.normal(size=(300, 2))) + 100
QUICK = {"n_epochs": 40, "random_state": 0}


# weights of cases are not copies of them in cross-validation and mini-batches
DRAWN = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "residuals come from a cross-validation that draws cases",
)


@parametrize_with_checks(
    [crbm.CRBMRegressor(n_hidden=2, n_epochs=10)],
    expected_failed_checks=lambda _: DRAWN,
)
def test_scikit_learns_common_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted():
    return crbm.CRBMRegressor(n_hidden=3, **QUICK).fit(X, Y)


def test_without_hidden_units_it_is_one_gaussian():
    regressor = crbm.CRBMRegressor(n_hidden=0, n_epochs=0).fit(X, Y)
    mean, cov = regressor.predict(X, return_cov=True)
    expected = [
        multivariate_normal(m, c).logpdf(y)
        for m, c, y in zip(mean, cov, Y, strict=True)
    ]
    np.testing.assert_allclose(regressor.score_samples(X, Y), expected, rtol=1e-9)


def test_known_targets_help_the_others(fitted):
    known = np.column_stack([Y[:, 0], np.full(300, np.nan)])
    alone, given = fitted.predict(X), fitted.predict(X, known=known)
    np.testing.assert_allclose(given[:, 0], Y[:, 0])
    errors = [np.square(p[:, 1] - Y[:, 1]).mean() for p in (alone, given)]
    assert errors[1] < 0.3 * errors[0]
    joint = fitted.score_samples(X, Y)
    first = fitted.score_samples(X, known)
    assert (joint - first).mean() > fitted.score_samples(
        X, np.column_stack([np.full(300, np.nan), Y[:, 1]])
    ).mean()


def test_samples_agree_with_the_mean(fitted):
    drawn = fitted.sample(X[:3], 4000, random_state=0)
    mean, cov = fitted.predict(X[:3], return_cov=True)
    error = np.abs(drawn.mean(0) - mean) / np.sqrt(
        np.diagonal(cov, axis1=1, axis2=2) / 4000
    )
    assert error.max() < 4.5  # standard errors


def test_missing_targets_and_frames_are_learned_from():
    frame = pd.DataFrame(Y, columns=["heat", "cold"])
    frame.loc[::3, "cold"] = np.nan
    inputs = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "high", "low")})
    regressor = crbm.CRBMRegressor(n_hidden=2, **QUICK).fit(inputs, frame)
    assert regressor.target_names_ == ["heat", "cold"]
    assert np.isfinite(regressor.score_samples(inputs, frame)).all()
    assert regressor.score(inputs, Y) > 0.3


def test_saved_regressors_predict_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "r.safetensors")
    again = crbm.load(tmp_path / "r.safetensors")
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert np.array_equal(again.score_samples(X, Y), fitted.score_samples(X, Y))


def test_any_regressor_can_be_the_base():
    forest = RandomForestRegressor(10, random_state=0)
    regressor = crbm.CRBMRegressor(n_hidden=0, n_epochs=0, base=forest).fit(X, Y)
    assert regressor.score(X, Y) > 0.5
    with pytest.raises(ValueError, match=r"Use joblib.dump for it"):
        regressor.save("never.safetensors")


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"noise": "pink"}, Y, "`noise` must be one of"),
        ({}, np.column_stack([Y, np.full(300, np.nan)]), "Target 2 of `y` is all"),
        ({"n_hidden": 20}, Y, "`n_hidden` must be at most 14"),
        ({}, Y[:20], "`X` has 300, `y` 20"),
    ],
)
def test_wrong_arguments_are_refused(options, y, message):
    with pytest.raises(ValueError, match=message):
        crbm.CRBMRegressor(**options).fit(X, y)


def test_wrong_known_targets_are_refused(fitted):
    with pytest.raises(ValueError, match=r"must have the shape \(300, 2\)"):
        fitted.predict(X, known=Y[:, :1])
