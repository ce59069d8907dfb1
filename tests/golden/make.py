"""Makes model files of kinds that have none here yet; it never replaces one.

Run `python tests/golden/make.py` after adding a kind of classifier or changing the
format of files, and commit what it writes. Every later version must load these files
and predict what they predict.
"""

import json
from pathlib import Path

import numpy as np

import crbm
from crbm.estimators.auto import trees

VERSION = 2  # of the format of files
FOLDER = Path(__file__).parent
EXPECTED = FOLDER / "expected.json"
X = np.sin(np.arange(60.0)).reshape(20, 3)
Y = (np.cos(np.arange(60.0)).reshape(20, 3) > 0.2).astype(np.uint8)
QUICK = {"n_epochs": 3, "random_state": 0, "learning_rate": 0.5}
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
}


def predictions(classifier):
    """What a classifier predicts for the first rows, as plain data."""
    return {
        "class": type(classifier).__name__,
        "labels": classifier.predict(X[:6]).tolist(),
        "probability": classifier.predict_proba(X[:6]).tolist(),
        "top_k": classifier.predict_top_k(X[:6], k=2).probability.tolist(),
    }


def main():
    """Add the files and predictions that are missing."""
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    for name, make in KINDS.items():
        name = f"{name}-{VERSION}"
        file = FOLDER / f"{name}.safetensors"
        if not file.exists():
            trees.N_TREES = 5  # for a small file
            classifier = make().fit(X, Y)
            classifier.save(file)
            expected[name] = predictions(classifier)
    EXPECTED.write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
