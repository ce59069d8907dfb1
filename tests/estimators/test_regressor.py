"""CRBMRegressor: scikit-learn's contract, likelihood, known and missing targets."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import lsq_linear
from scipy.stats import multivariate_normal
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import crbm
from crbm.estimators import base_blend, base_trees, regression_training

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
# a hidden switch moves both targets, the more likely the larger the first input
SWITCH = RNG.random(300) < 1 / (1 + np.exp(-3 * X[:, 0]))
Y = X @ RNG.normal(size=(3, 2)) + SWITCH[:, None] * [5.0, -5.0]
Y = 10 * (Y + 0.3 * RNG.normal(size=(300, 2))) + 100
QUICK = {"base": "ridge", "n_epochs": 40, "random_state": 0}


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
def test_scikit_learns_common_checks(estimator, check, monkeypatch):
    monkeypatch.setattr(base_trees, "N_TREES", 3)
    monkeypatch.setattr(regression_training, "MOST_SPLITS", 1)
    check(estimator)


@pytest.fixture(scope="module")
def fitted():
    return crbm.CRBMRegressor(n_hidden=3, **QUICK).fit(X, Y)


def test_without_hidden_units_it_is_one_gaussian():
    regressor = crbm.CRBMRegressor(base="ridge", n_hidden=0, n_epochs=0).fit(X, Y)
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
        ({"base": "pine"}, Y, "`base` must be one of"),
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


def planted(n, seed):
    """Targets that a hidden switch moves together, and their true log density.

    The chance of the switch is 1 / (1 + exp(-3 x)); given the switch the targets are
    independent Gaussians. One hidden unit can say exactly this.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    chance = 1 / (1 + np.exp(-3 * x[:, 0]))
    shift, noise = np.array([3.0, -3.0, 3.0]), np.diag([1.0, 1.0, 1.0])
    y = (rng.random(n) < chance)[:, None] * shift + rng.normal(size=(n, 3))
    on, off = (multivariate_normal(m, noise).pdf(y) for m in (shift, 0 * shift))
    return x, y, np.log(chance * on + (1 - chance) * off).mean()


def test_hidden_units_learn_how_the_targets_depend():
    """It reaches the true density; without its hidden weights learning it cannot."""
    options = {"base": DummyRegressor(), "l2": 0.0, "random_state": 0}
    x, y, _ = planted(1000, 0)
    options["validation_fraction"] = 0.0
    regressor = crbm.CRBMRegressor(
        n_hidden=1, learning_rate=0.1, n_epochs=40, **options
    )
    regressor.fit(x, y)
    gaussian = crbm.CRBMRegressor(n_hidden=0, n_epochs=0, **options).fit(x, y)
    x, y, best = planted(2000, 1)
    assert gaussian.score_samples(x, y).mean() < best - 0.5
    assert best - 0.1 < regressor.score_samples(x, y).mean() < best + 0.1


def test_it_stays_one_gaussian_where_hidden_units_do_not_help():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 5)), rng.normal(size=(200, 2))
    options = {"base": "ridge", "random_state": 0}
    regressor = crbm.CRBMRegressor(n_epochs=20, **options).fit(x, y)
    assert len(regressor.history_) == 21
    assert torch.count_nonzero(regressor.model_.weight_vh) == 0
    gaussian = crbm.CRBMRegressor(n_epochs=0, n_hidden=0, **options).fit(x, y)
    found, expected = (r.score_samples(x, y) for r in (regressor, gaussian))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def wider_to_the_right(n, seed):
    """Skewed noise whose width grows with the input, and its true log density."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, 1))
    width = np.exp(1.5 * x)
    y = width * (rng.gumbel(size=(n, 1)) - np.euler_gamma)
    z = y / width + np.euler_gamma
    return x, y, (-z - np.exp(-z) - np.log(width)).mean()


def test_spreads_learn_where_the_noise_is_wide():
    options = {"base": DummyRegressor(), "random_state": 0, "learning_rate": 0.05}
    options |= {"n_epochs": 40, "l2": 0.0, "validation_fraction": 0.0}
    x, y, _ = wider_to_the_right(1500, 0)
    regressor = crbm.CRBMRegressor(n_hidden=0, n_spreads=4, **options).fit(x, y)
    same = crbm.CRBMRegressor(n_hidden=0, n_spreads=1, **options).fit(x, y)
    x, y, best = wider_to_the_right(4000, 1)
    assert same.score_samples(x, y).mean() < best - 0.4
    assert regressor.score_samples(x, y).mean() > best - 0.15
    ends = np.array([[-0.9], [0.9]])
    _, variance = regressor.predict(ends, return_cov=True)
    assert variance[1, 0, 0] > 10 * variance[0, 0, 0]


def test_the_mean_counts_beside_the_likelihood():
    """The likelihood alone would move it to the mode of skewed noise, below 0.9."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1500, 1)), np.exp(rng.normal(size=(1500, 1)))
    options = {"base": DummyRegressor(), "random_state": 0, "learning_rate": 0.05}
    options |= {"n_epochs": 40, "l2": 0.0, "validation_fraction": 0.0}
    regressor = crbm.CRBMRegressor(n_hidden=0, n_spreads=3, **options).fit(x, y)
    assert regressor.predict(x).mean() > 1.0


def test_files_of_earlier_versions_have_one_spread(tmp_path):
    options = {"base": "ridge", "n_epochs": 5, "random_state": 0}
    regressor = crbm.CRBMRegressor(n_spreads=1, n_hidden=2, **options).fit(X, Y)
    regressor.get_params = lambda deep: {"n_hidden": 2, **options}
    regressor.save(tmp_path / "r.safetensors")
    again = crbm.load(tmp_path / "r.safetensors")
    np.testing.assert_array_equal(again.predict(X), regressor.predict(X))


@pytest.fixture(scope="module")
def blended():
    """A target with a slope and a step: ridge and trees each see one of them."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 4))
    y = np.column_stack(
        [5 * x[:, 0] + 4 * (x[:, 1] > 0), 5 * x[:, 0] - 4 * (x[:, 1] > 0)]
    )
    y += rng.normal(size=y.shape)
    y[::7, 1] = np.nan
    options = {"n_hidden": 0, "n_epochs": 0}
    half = slice(0, 200), slice(200, 400)
    auto = crbm.CRBMRegressor(**options).fit(x[half[0]], y[half[0]])
    ridge = crbm.CRBMRegressor(base="ridge", **options).fit(x[half[0]], y[half[0]])
    return x[half[1]], y[half[1]], auto, ridge


def test_the_default_base_adds_trees_to_ridge_regression(blended):
    x, y, auto, ridge = blended
    errors = [np.nanmean(np.square(r.predict(x) - y)) for r in (auto, ridge)]
    assert errors[0] < 0.85 * errors[1]
    weights = auto.base_[0].weights
    assert len(weights) == 2
    assert (weights > 0.1).all()


def test_the_default_base_is_saved(blended, tmp_path):
    x, y, auto, _ = blended
    auto.save(tmp_path / "r.safetensors")
    again = crbm.load(tmp_path / "r.safetensors")
    assert np.array_equal(again.predict(x), auto.predict(x))
    assert np.array_equal(again.score_samples(x, y), auto.score_samples(x, y))


def test_trees_predict_as_those_of_scikit_learn():
    trees, unseen = base_trees.grow(X, Y, None, min_leaf=2)
    theirs = ExtraTreesRegressor(
        base_trees.N_TREES,
        bootstrap=True,
        oob_score=True,
        min_samples_leaf=2,
        random_state=0,
    ).fit(X.astype(np.float32), Y)
    np.testing.assert_allclose(trees.predict(X), theirs.predict(X), rtol=1e-9)
    np.testing.assert_allclose(unseen, theirs.oob_prediction_, rtol=1e-9)


def test_weights_of_the_blend_have_the_smallest_error():
    rng = np.random.default_rng(2)
    y = rng.normal(size=(50, 2))
    parts = [y + rng.normal(size=y.shape), rng.normal(size=y.shape), y**2]
    weight = rng.random(50)
    hidden = y.copy()
    hidden[3, 1] = np.nan
    found = base_blend._weights(parts, hidden, weight)
    root = np.sqrt(np.repeat(weight[:, None], 2, 1)).ravel()
    keep = ~np.isnan(hidden.ravel())
    table = np.column_stack([part.ravel() * root for part in parts])[keep]
    expected = lsq_linear(table, (y.ravel() * root)[keep], (0, np.inf)).x
    np.testing.assert_allclose(found, expected, atol=1e-6)
