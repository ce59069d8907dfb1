"""What test_ranks runs: `torchrun rank_script.py FOLDER`, or in one process.

A plain script, as a user writes it: nothing in it joins ranks.
"""

import os
import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

import crbm
from crbm.training import distributed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(61, 4)).astype(np.float32)  # the last batch has one case
Y = (X @ RNG.normal(size=(4, 3)) + RNG.normal(size=(61, 3)) > 0).astype(int)
IMAGES = [RNG.random((8, 8 + 4 * (place % 2))) for place in range(5)]
MASKS = [(image > 0.5).astype(int) for image in IMAGES]
TINY = {"channels": (4, 8), "n_hidden": 2, "n_epochs": 2, "batch_size": 3}


def fitted(folder):
    """Fitted estimators of every kind."""
    plan = {"n_epochs": 3, "batch_size": 20, "random_state": 0}
    return {
        "crbm": crbm.CRBMClassifier(n_hidden=3, **plan).fit(X, Y),
        "held out": crbm.CRBMClassifier(
            n_hidden=3,
            objective="mean_field",
            early_stopping=True,
            thresholds="micro_f1",
            checkpoint_dir=folder / "checkpoints",
            checkpoint_every=0,
            progress=True,
            **plan,
        ).fit(X, Y, sample_weight=1 + Y[:, 0]),
        "hash": crbm.HashCRBMClassifier(n_hidden=3, n_estimators=2, **plan).fit(X, Y),
        "regressor": crbm.CRBMRegressor(
            n_hidden=2, n_epochs=3, batch_size=20, validation_fraction=0, random_state=0
        ).fit(X, X[:, :3] + Y),
        "pixels": crbm.PixelClassifier(random_state=0, **TINY).fit(IMAGES, MASKS),
        "auto": crbm.AutoClassifier(
            members=["forest"], time_limit=60, random_state=0
        ).fit(X, Y),
    }


def unseeded():
    """Probabilities of a classifier whose seed is each rank's own to begin with."""
    classifier = crbm.HashCRBMClassifier(n_hidden=3, n_epochs=2, early_stopping=True)
    return classifier.fit(X, Y).predict_proba(X)


def refusal(X, Y):
    """What is said to ranks that were given these cases."""
    try:
        crbm.CRBMClassifier(n_hidden=2, n_epochs=1, random_state=0).fit(X, Y)
    except RuntimeError as error:
        return str(error)
    return ""


def by_itself(rank):
    """Probabilities of a classifier that each rank fits to cases of its own."""
    with distributed.separate():
        classifier = crbm.LogisticClassifier(n_epochs=1, random_state=0)
        return classifier.fit(X[rank::2], Y[rank::2]).predict_proba(X)


def failure(rank):
    """The error of work on the first rank."""
    broken = crbm.AutoClassifier(members=["forest"], random_state=0)
    try:
        broken.fit(X, Y[:5])
    except ValueError as error:
        return str(error)
    return ""


def stacked():
    """A base of scikit-learn without a seed."""
    classifier = crbm.HashCRBMClassifier(
        base=LogisticRegression(), n_hidden=2, n_epochs=2, random_state=0
    )
    return classifier.fit(X, Y).predict_proba(X)


def main(folder):
    """Fit, predict, save; what each rank found goes into a file of its own."""
    n_ranks, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    found = {}
    for name, estimator in fitted(folder).items():
        estimator.save(folder / f"{name}-{n_ranks}-{rank}.safetensors")
        inputs = IMAGES if name == "pixels" else X
        answer = estimator.predict if name == "regressor" else estimator.predict_proba
        found[name] = answer(inputs)
    found["stacked"] = stacked()
    if n_ranks > 1:
        found |= {"unseeded": unseeded(), "separate": by_itself(rank)}
        refusals = [refusal(X + rank, Y), refusal(X[:, rank:], Y)]
        found |= {"refusals": refusals, "failure": failure(rank)}
    torch.save(found, folder / f"{n_ranks}-{rank}.pt")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
