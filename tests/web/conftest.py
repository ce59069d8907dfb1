"""Small models on disk: real 8 x 8 digits to restore, and labels that go together."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from fastapi.testclient import TestClient
from sklearn.datasets import load_digits

import crbm
from crbm.web import create_app, load_models
from discs import disc_model, discs  # noqa: F401 - fixtures
from planted import copied_patterns

QUICK = {"n_epochs": 3, "preprocessing": "none", "random_state": 0}
# a name of a label is text, whatever it looks like
HOSTILE = "<img src=x onerror=alert(1)>"


def labelled():
    """Inputs and six labels, the first three copied to the last three."""
    data = copied_patterns(200)
    names = ["red", "green", "blue", "warm", "cold", HOSTILE]
    return data.u.numpy().astype(np.float64), pd.DataFrame(
        data.v.numpy(), columns=names
    )


def occluded(clean, generator):
    """The digits with a 3 x 3 patch set to 0."""
    return crbm.datasets.occlude(clean, size=3, shape=(8, 8), generator=generator)


def digits():
    """Binary digits: to train on, and some to try."""
    pixels = torch.from_numpy(load_digits().data > 7).float()
    return pixels[:1400], pixels[1400:]


@pytest.fixture(scope="session")
def classifiers():
    """One fitted classifier of each kind, by name."""
    X, Y = labelled()
    kinds = {
        "logistic": crbm.LogisticClassifier(**QUICK),
        "crf": crbm.CRFClassifier(**QUICK),
        "crbm": crbm.CRBMClassifier(**QUICK, n_hidden=8),
        "hash": crbm.HashCRBMClassifier(
            **QUICK, n_hidden=8, n_estimators=2, thresholds="macro_f1"
        ),
        "mode": crbm.HashCRBMClassifier(**QUICK, n_hidden=8, prediction="mode"),
    }
    fitted = {name: kind.fit(X, Y) for name, kind in kinds.items()}
    fitted["logistic"].fit(X.astype(np.float32), Y)
    for classifier in fitted.values():
        classifier.examples_ = X[:5]
    words = np.where(Y["red"] == 1, "yes", "no")
    fitted["single"] = crbm.LogisticClassifier(**QUICK).fit(X, words)
    return fitted


@pytest.fixture(scope="session")
def restorer():
    """A CRBM that restores 8 x 8 digits, trained well enough to be of use."""
    train, tried = digits()
    clean = train.repeat(3, 1)
    noisy = occluded(clean, torch.Generator().manual_seed(0))
    classifier = crbm.CRBMClassifier(
        n_epochs=8,
        n_hidden=48,
        batch_size=50,
        learning_rate=0.25,
        objective_params={"n_steps": 5},
        inference="search",
        random_state=0,
    )
    classifier.fit(noisy.numpy(), clean.numpy())
    classifier.examples_ = tried[:10].numpy()
    return classifier


@pytest.fixture(scope="session")
def model_files(classifiers, tmp_path_factory):
    """The files of the label models, and of one for images that has learned little."""
    folder = tmp_path_factory.mktemp("models")
    pixels = digits()[0][:100].numpy()
    images = crbm.LogisticClassifier(n_epochs=1, random_state=0).fit(pixels, pixels)
    for name, classifier in (classifiers | {"images": images}).items():
        classifier.save(folder / f"{name}.safetensors")
    return folder


@pytest.fixture(scope="session")
def client(model_files):
    """A client of the application on all of them, without a network."""
    app = create_app(load_models(sorted(model_files.iterdir())))
    with TestClient(app) as client:
        yield client


@pytest.fixture(scope="session")
def cases():
    """Inputs of the label models as lists, and as the array they came from."""
    X, _ = labelled()
    return SimpleNamespace(X=X[:6], rows=X[:6].tolist())
