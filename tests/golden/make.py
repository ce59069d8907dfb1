"""Makes model files of kinds that have none here yet; it never replaces one.

Run `python tests/golden/make.py` after adding a kind of classifier or changing the
format of files, and commit what it writes. Every later version must load these files
and predict what they predict.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

import crbm
from crbm.estimators import base_trees
from crbm.estimators.auto import trees

VERSION = 2  # of the format of files
FOLDER = Path(__file__).parent
EXPECTED = FOLDER / "expected.json"
X = np.sin(np.arange(60.0)).reshape(20, 3)
Y = (np.cos(np.arange(60.0)).reshape(20, 3) > 0.2).astype(np.uint8)
QUICK = {"n_epochs": 3, "random_state": 0, "learning_rate": 0.5}
TARGETS = np.sign(X[:, :2]) + X[:, 1:]
TABLE = pd.DataFrame(
    {
        "age": np.where(np.arange(20) % 7 == 0, np.nan, X[:, 0]),
        "plan": [["free", "pro", None][i % 3] for i in range(20)],
        "since": pd.date_range("2024-01-01", periods=20, freq="36h"),
    }
)
IMAGES = [X[:9, :3] * 100, X[4:16, :2] * 100]
KINDS = {
    "logistic": lambda: crbm.LogisticClassifier(**QUICK, thresholds="macro_f1"),
    "crf": lambda: crbm.CRFClassifier(**QUICK, preprocessing="robust"),
    "crbm": lambda: crbm.CRBMClassifier(
        **QUICK, n_hidden=2, preprocessing="kernel", kernel_features=4
    ),
    "auto": lambda: crbm.AutoClassifier(
        members=["forest", "logistic, linear"], n_folds=2, random_state=0
    ),
    "hash": lambda: crbm.HashCRBMClassifier(
        **QUICK, n_hidden=2, n_bits=3, n_estimators=2, preprocessing="rank"
    ),
    "hash-packed": lambda: crbm.HashCRBMClassifier(n_hidden=2, random_state=0),
    **{
        f"auto-{member.split(',')[0]}": lambda member=member: crbm.AutoClassifier(
            members=[member], n_folds=2, random_state=0
        )
        for member in ("svm", "boosting", "ridge, kernel", "hash-crbm, linear")
    },
    "table": lambda: crbm.LogisticClassifier(**QUICK),
    "regressor": lambda: crbm.CRBMRegressor(n_hidden=2, n_epochs=3, random_state=0),
    **{
        f"pixels{network}": lambda: crbm.PixelClassifier(
            channels=(2, 4), n_hidden=2, n_epochs=2, random_state=0
        )
        for network in ("", "-unet-3")  # the built-in network of the day
    },
}


def data(name):
    """Inputs and outputs of a kind of model."""
    if name.startswith("pixels"):
        return IMAGES, [(image > 0).astype(int) for image in IMAGES]
    if name.startswith("regressor"):
        return X, TARGETS
    return (TABLE if name.startswith("table") else X), Y


def predictions(name, fitted):
    """What a model predicts for some of its inputs, as plain data."""
    found = {"class": type(fitted).__name__}
    inputs, outputs = data(name)
    if name.startswith("pixels"):
        p = [image.tolist() for image in fitted.predict_proba(inputs)]
        scores = fitted.score_samples(inputs, outputs).tolist()
        return found | {"probability": p, "scores": scores}
    inputs, outputs = inputs[:6], outputs[:6]
    if name.startswith("regressor"):
        mean, covariance = fitted.predict(inputs, return_cov=True)
        scores = fitted.score_samples(inputs, outputs).tolist()
        return found | {
            "mean": mean.tolist(),
            "covariance": covariance.tolist(),
            "scores": scores,
        }
    return found | {
        "labels": fitted.predict(inputs).tolist(),
        "probability": fitted.predict_proba(inputs).tolist(),
        "top_k": fitted.predict_top_k(inputs, k=2).probability.tolist(),
    }


def main():
    """Add the files and predictions that are missing."""
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    for name, make in KINDS.items():
        name = f"{name}-{VERSION}"
        file = FOLDER / f"{name}.safetensors"
        if not file.exists():
            trees.N_TREES = base_trees.N_TREES = 5  # for a small file
            fitted = make().fit(*data(name))
            fitted.save(file)
            expected[name] = predictions(name, fitted)
    EXPECTED.write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
