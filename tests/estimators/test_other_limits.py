"""Extreme numbers and interrupted fits of CRBMRegressor and PixelClassifier."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import crbm
from crbm.estimators import base_regression, regressor
from crbm.estimators.pixels import classifier as pixels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, :2] + 0.1 * RNG.normal(size=(40, 2))
QUICK = {"base": "ridge", "n_hidden": 2, "n_epochs": 2, "random_state": 0}
IMAGE = RNG.random((10, 10))
MASK = (IMAGE > 0.5).astype(int)


def regress(**options):
    return crbm.CRBMRegressor(**QUICK | options)


def label_pixels(**options):
    return crbm.PixelClassifier(
        **{"channels": (2, 4), "n_hidden": 2, "n_epochs": 1, "random_state": 0},
        **options,
    )


def require_finite(fitted, X, Y):
    mean, covariance = fitted.predict(X, return_cov=True)
    known = fitted.predict(X, known=np.where([True, False], Y, np.nan))
    drawn = fitted.sample(X, random_state=0)
    scores = fitted.score_samples(X, Y), fitted.score_samples(X)
    for found in (mean, covariance, known, drawn, *scores):
        assert np.isfinite(found).all()


@pytest.mark.parametrize("scale", [1e8, 1e30])
def test_large_numbers_give_finite_regressions(scale):
    fitted = regress().fit(X, Y)
    require_finite(fitted, X * scale, Y)
    require_finite(fitted, X, Y * scale)
    require_finite(regress(l2=1e30).fit(X * scale, Y), X * scale, Y)
    require_finite(regress().fit(X, Y * scale), X, Y * scale)


def test_overflow_in_a_regression_is_one_error():
    fitted = regress().fit(X * 1e-10, Y)
    for ask in (
        lambda: fitted.predict(X * 1e300),
        lambda: fitted.predict(X * 1e300, return_cov=True),
        lambda: fitted.sample(X * 1e300),
        lambda: fitted.score_samples(X * 1e300, Y),
        lambda: fitted.score_samples(X * 1e-10, Y * 1e300),
        lambda: fitted.predict(
            X * 1e-10, known=np.where([True, False], Y * 1e300, np.nan)
        ),
        lambda: regress().fit(X, Y * 1e300),
    ):
        with pytest.raises(ValueError, match="the regression overflows"):
            ask()


def test_a_regression_that_diverges_says_so():
    with pytest.raises(ValueError, match=r"diverged. Lower `learning_rate`; it is 1e"):
        regress(learning_rate=1e30).fit(X, Y)


NETWORKS = {
    "network": {},
    "linear": {"network": None},
    "maps": {"network": None, "n_hidden_channels": 2},
}


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("scale", [1e8, 1e30])
def test_large_pixels_give_sound_answers_or_one_error(kind, scale):
    fitted = label_pixels(**NETWORKS[kind]).fit([IMAGE], [MASK])
    far = IMAGE * scale

    def sound(found):
        return np.isfinite(found).all()

    for ask, is_sound in (
        (lambda: fitted.predict_proba(far), sound),
        (lambda: fitted.predict(far), lambda found: np.isin(found, (0, 1)).all()),
        (lambda: fitted.sample(far, n=2, random_state=0), sound),
        (lambda: fitted.score_samples([far], [MASK]), lambda f: sound(f) and f <= 0),
        (lambda: fitted.score_samples([far]), lambda f: sound(f) and f <= 0),
    ):
        try:
            assert is_sound(ask())
        except ValueError as error:
            if "overflow in this model. Scale them" not in str(error):
                raise


def test_pixels_that_overflow_are_refused():
    fitted = label_pixels().fit([IMAGE], [MASK])
    for ask in (fitted.predict, lambda image: label_pixels().fit([image], [MASK])):
        with pytest.raises(ValueError, match=r"image 0 holds .*e\+3[78]. Scale it"):
            ask(IMAGE * 1e38)


def test_a_network_that_overflows_is_not_predicted_from():
    fitted = label_pixels(prediction="mode").fit([IMAGE], [MASK])
    fitted.model_.network.out.weight.data.fill_(1e38)
    fitted.model_.network.out.bias.data.fill_(-1e38)
    for ask in (fitted.predict, fitted.predict_proba, fitted.sample):
        with pytest.raises(ValueError, match=r"overflow in this model\. Scale them"):
            ask(IMAGE * 1e30)


def test_a_label_without_end_takes_no_memory():
    with pytest.raises(ValueError, match="largest is 1000000000000 and 1 never occurs"):
        label_pixels().fit([IMAGE], [MASK * 10**12])


def stop(*_, **__):
    raise KeyboardInterrupt


INTERRUPTED = {
    "base": (base_regression, "fit"),
    "residuals": (regressor, "train"),
}


@pytest.mark.parametrize("place", INTERRUPTED)
def test_an_interrupted_regression_is_as_before(place, monkeypatch):
    module, name = INTERRUPTED[place]
    fresh, fitted = regress(), regress().fit(X, Y)
    expected = fitted.predict(X)
    monkeypatch.setattr(module, name, stop)
    for each in (fresh, fitted):
        with pytest.raises(KeyboardInterrupt):
            each.fit(X[:, :2], Y[:, :1])
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert np.array_equal(fitted.predict(X), expected)


def test_an_interrupted_fit_of_pixels_is_as_before(monkeypatch):
    fresh, fitted = label_pixels(), label_pixels().fit([IMAGE], [MASK])
    expected = fitted.predict_proba(IMAGE)
    monkeypatch.setattr(pixels.training, "fit", stop)
    for each in (fresh, fitted):
        with pytest.raises(KeyboardInterrupt):
            each.fit([IMAGE], [MASK + MASK[::-1]])
    with pytest.raises(NotFittedError):
        fresh.predict(IMAGE)
    assert np.array_equal(fitted.predict_proba(IMAGE), expected)
