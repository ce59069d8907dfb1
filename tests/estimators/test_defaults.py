"""Parameters that are left to "auto"."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.preprocessing import StandardScaler

import crbm
from crbm.estimators import defaults

RNG = np.random.default_rng(0)
SCALED = RNG.normal(size=(60, 3))
RAW = SCALED * [1e6, 1.0, 1e-3] + [1e6, 50.0, 0.0]
Y = (SCALED > 0).astype(float)
AUTO = {"learning_rate": "auto"}
QUICK = {"learning_rate": 2**-6, "n_epochs": 3, "n_hidden": 4, "random_state": 0}


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        (np.eye(4), "none"),
        (sparse.csr_array(np.eye(4)), "none"),
        (StandardScaler().fit_transform(SCALED), "none"),
        (np.eye(4) * 0.3, "centre"),
        (sparse.csr_array(np.eye(4) * 0.3), "centre"),
        (RAW, "standardise"),
        (RAW[:, :1], "standardise"),
    ],
)
def test_inputs_are_scaled_where_they_need_it(X, kind):
    assert defaults.scaling(X) == kind


def test_the_scale_of_the_inputs_does_not_matter(tmp_path):
    fitted = crbm.HashCRBMClassifier(**QUICK, preprocessing="auto").fit(RAW, Y)
    scaled = StandardScaler().fit(RAW)
    same = crbm.HashCRBMClassifier(**QUICK, preprocessing="none")
    same.fit(scaled.transform(RAW), Y)
    expected = same.predict_proba(scaled.transform(RAW))
    assert np.allclose(fitted.predict_proba(RAW), expected, atol=1e-6)
    fitted.save(tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    assert np.array_equal(loaded.predict_proba(RAW), fitted.predict_proba(RAW))
    assert loaded.training_summary()["preprocessing"] == "standardise"


@pytest.mark.parametrize(
    ("parameters", "optimizer", "rate"),
    [
        ({}, torch.optim.Adam, 1e-3),
        ({"learning_rate": "auto"}, torch.optim.Adam, 1e-3),
        ({"learning_rate": 0.1}, None, 0.1),
        ({"optimizer": "adam", "learning_rate": 0.1}, torch.optim.Adam, 0.1),
        (AUTO | {"optimizer": "SGD"}, torch.optim.SGD, defaults.SGD_RATE),
        (AUTO | {"optimizer": "rmsprop"}, torch.optim.RMSprop, 1e-3),
    ],
)
def test_the_rate_suits_the_optimiser(parameters, optimizer, rate):
    classifier = crbm.HashCRBMClassifier(**parameters)
    assert defaults.optimizer(classifier) is optimizer
    assert defaults.learning_rate(classifier) == rate


def test_an_optimiser_by_name_is_that_class(tmp_path):
    by_name, by_class = (
        crbm.LogisticClassifier(n_epochs=2, optimizer=o, random_state=0).fit(SCALED, Y)
        for o in ("adam", torch.optim.Adam)
    )
    assert np.array_equal(by_name.predict_proba(RAW), by_class.predict_proba(RAW))
    by_name.save(tmp_path / "m.safetensors")
    assert crbm.load(tmp_path / "m.safetensors").optimizer == "adam"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"optimizer": "adma"}, "`optimizer`"),
        ({"learning_rate": "fast"}, '`learning_rate` must be "auto" or a positive'),
        ({"learning_rate": -1.0}, "`learning_rate`"),
    ],
)
def test_wrong_values_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        crbm.LogisticClassifier(**parameters).fit(SCALED, Y)
