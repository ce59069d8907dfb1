"""Second part of the demo: predict the functions of yeast genes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.multilabel import TUNED, split
from crbm import datasets
from crbm.estimators import (
    AutoClassifier,
    HashCRBMClassifier,
    LabelSetClassifier,
    LogisticClassifier,
)

OURS = "AutoClassifier"
OWN = ("HashCRBM", OURS)  # models of the joint distribution
N_EXAMPLES = 20  # saved with the models, for the page of `crbm serve`


class Genes(NamedTuple):
    """The test genes, the predictions of each classifier, and our classifiers.

    `labels` predicts single labels, `sets` whole label sets. They differ for models of
    the joint distribution: HashCRBM uses its marginals for labels and its mode for
    sets, AutoClassifier answers by the metric it is asked for.
    """

    X: np.ndarray
    Y: np.ndarray
    labels: dict[str, np.ndarray]
    sets: dict[str, np.ndarray]
    models: dict[str, LabelSetClassifier]

    @property
    def errors(self) -> dict[str, dict[str, float]]:
        """Wrong labels and correct label sets, in percent."""
        return {
            name: {
                "wrong labels": 100 * float(self.wrong(name).mean()),
                "correct sets": 100 * float(self.right(name).mean()),
            }
            for name in self.labels
        }

    def wrong(self, name: str) -> np.ndarray:
        """Share of wrong labels of each gene."""
        return np.asarray((self.labels[name] != self.Y).mean(1))

    def right(self, name: str) -> np.ndarray:
        """1 for each gene whose label set is correct, otherwise 0."""
        return (self.sets[name] == self.Y).all(1).astype(np.float64)


def label(seed: int, echo: Callable[[str], None]) -> Genes:
    """Train our classifiers and others on 1,500 genes, and label the other 917."""
    data, part = datasets.load("yeast", download=False), split("yeast")
    genes = Genes(part.X_test, part.Y_test, {}, {}, {})
    for name, classifier in make_classifiers(seed).items():
        echo(f"Training {name} on {len(part.X_train)} genes ...")
        classifier.fit(part.X_train, part.Y_train)
        genes.labels[name] = genes.sets[name] = classifier.predict(part.X_test)
        if isinstance(classifier, HashCRBMClassifier):
            top = classifier.predict_top_k(part.X_test, k=1)
            genes.sets[name] = top.labels[:, 0]
        if isinstance(classifier, AutoClassifier):
            classifier.set_params(metric="subset_accuracy")
            genes.sets[name] = classifier.predict(part.X_test)
            classifier.set_params(metric="hamming")
        if isinstance(classifier, LabelSetClassifier):
            train = replace(data, X=part.X_train, Y=part.Y_train)
            classifier.describe(
                label_names=data.label_names,
                trained_on=train.summary(),
                examples=part.X_test[:N_EXAMPLES],
            )
            genes.models[name] = classifier
    return genes


def make_classifiers(seed: int) -> dict[str, Any]:
    """The unfitted classifiers to compare."""
    support = MultiOutputClassifier(SVC())
    return {
        "LogReg": LogisticClassifier(
            learning_rate=2**-6,
            n_epochs=50,
            preprocessing="standardise",
            random_state=seed,
        ),
        "random forest": RandomForestClassifier(200, random_state=seed),
        "RBF-SVM per label": make_pipeline(StandardScaler(), support),
        "SVM on label sets": LabelSetSVM(),
        "HashCRBM": HashCRBMClassifier(
            n_epochs=20,
            radius=None,
            init_scale=0.3,
            preprocessing="kernel",
            base_measure="uniform",
            random_state=seed,
            progress=None,
            **TUNED["yeast"],
        ),
        OURS: AutoClassifier(random_state=seed, progress=None),
    }


class LabelSetSVM:
    """An RBF-SVM whose classes are the label sets seen in training."""

    def fit(self, X: np.ndarray, Y: np.ndarray) -> LabelSetSVM:
        """Learn from cases and their label sets."""
        self.table, sets = np.unique(Y, axis=0, return_inverse=True)
        self.svm = make_pipeline(StandardScaler(), SVC(C=4.0)).fit(X, sets.ravel())
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The label set of each case."""
        return np.asarray(self.table[self.svm.predict(X)])


def verdicts(genes: Genes) -> list[str]:
    """Sentences that compare our best with the best classifier of others."""
    others = [name for name in genes.labels if name not in OWN]
    labels = min(others, key=lambda name: genes.wrong(name).mean())
    sets = max(others, key=lambda name: genes.right(name).mean())
    fewer_wrong = genes.wrong(labels) - genes.wrong(OURS)
    more_right = genes.right(OURS) - genes.right(sets)
    return [
        _verdict("wrong labels", labels, fewer_wrong),
        _verdict("correct label sets", sets, more_right),
    ]


def _verdict(what: str, rival: str, gain: np.ndarray) -> str:
    """Our gain over another classifier, with twice its standard error over genes."""
    mean, margin = 100 * gain.mean(), 200 * gain.std(ddof=1) / len(gain) ** 0.5
    outcome = "better" if mean > 0 else "worse"
    note = "" if abs(mean) > margin else ", which is within the noise"
    return (
        f"{what.capitalize()}: {OURS} is {outcome} than {rival}, the best of the "
        f"others, by {abs(mean):.1f} ± {margin:.1f} points{note}."
    )
