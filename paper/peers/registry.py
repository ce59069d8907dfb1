"""The opponents of the suite."""

from __future__ import annotations

from functools import partial

from paper.engine.climbing import Axis
from paper.peers.boomer import Boomer
from paper.peers.kernels import LabelSVM, SetSVM
from paper.peers.linear import ChainEnsemble, LogisticRegressions
from paper.peers.trees import Boosting, CatBoost, Forest, XGBoost
from paper.peers.tuning import Peer

# Fair to data of every kind: numbers of different units, words, and heavy tails.
SCALES = Axis(["standardise", "centre", "rank"], ordered=False)
STRENGTHS = Axis([2.0**power for power in range(-16, 13, 2)], start=6)
_LINEAR = {"scale": SCALES, "C": STRENGTHS}
_KERNEL = {
    "scale": SCALES,
    "C": Axis([2.0**power for power in range(-4, 13)], start=6),
    "gamma": Axis([2.0**power for power in range(-6, 7)], start=6),
}
_FOREST = {
    "min_samples_leaf": Axis([1, 2, 3, 5, 8, 12, 20, 32], 1, closed=(True, False)),
    "max_features": Axis(["sqrt", 0.1, 0.2, 0.35, 0.6, 1.0], 1, closed=(False, True)),
}
_RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8]


def _forest(kind: str) -> Peer:
    return Peer(partial(Forest, kind), _FOREST, tuning={"n_estimators": 60})


PEERS: dict[str, Peer] = {
    "logistic regression": Peer(LogisticRegressions, _LINEAR),
    "classifier chains": Peer(
        ChainEnsemble, _LINEAR, tuning={"n_chains": 2}, max_labels=400
    ),
    "SVM per label": Peer(LabelSVM, _KERNEL, loss="hamming", n_tuning_labels=14),
    "SVM on label sets": Peer(SetSVM, _KERNEL, loss="subset"),
    "random forest": _forest("random"),
    "extra trees": _forest("extra"),
    "HistGradientBoosting": Peer(
        Boosting,
        {
            "learning_rate": Axis(_RATES, 3),
            "max_leaf_nodes": Axis([2, 3, 5, 8, 15, 31, 63], 3, closed=(True, False)),
        },
        n_tuning_labels=5,
        max_labels=200,
    ),
    "CatBoost": Peer(
        CatBoost,
        {
            "learning_rate": Axis(_RATES, 3),
            "depth": Axis([1, 2, 3, 4, 5, 6, 8], 3, closed=(True, False)),
        },
        n_tuning_labels=14,
        package="catboost",
        max_labels=200,
    ),
    "XGBoost": Peer(
        XGBoost,
        {
            "learning_rate": Axis(_RATES, 4),
            "max_depth": Axis([1, 2, 3, 4, 6, 8, 12], 3, closed=(True, False)),
        },
        n_tuning_labels=14,
        package="xgboost",
        max_labels=400,
    ),
    "BOOMER": Peer(
        Boomer,
        {
            "shrinkage": Axis([0.05, 0.1, 0.2, 0.3, 0.5, 0.8], 3),
            "max_rules": Axis([125, 250, 500, 1000, 2000, 4000], 2),
        },
        package="mlrl mlrl-boomer",
        max_labels=400,
    ),
}
