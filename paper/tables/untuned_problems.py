"""The data of the comparison without tuning: a split of training cases at random.

The test cases of the other experiments are not touched: of data sets with folds, these
are the training and validation cases of the first one, of data sets with an official
split, its training part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.feature_extraction.text import TfidfVectorizer

from paper.tables import problems

N_TRAIN, N_TEST = 1500, 650
FOLDS = ("yeast", "scene", "cal500", "majorminer")
OFFICIAL = ("bibtex", "tmc2007-500", "corel5k")
TEST_SHARE = 0.3


class Split(NamedTuple):
    """Cases to learn from and cases to be judged on."""

    X_train: np.ndarray | sparse.csr_matrix
    Y_train: np.ndarray
    X_test: np.ndarray | sparse.csr_matrix
    Y_test: np.ndarray


def split(name: str, seed: int) -> Split:
    """70 % and 30 % of a data set, with at most `N_TRAIN` and `N_TEST` cases.

    Labels that no training case has, or all have, are left out.
    """
    X, Y = MADE[name](seed) if name in MADE else _training_cases(name)
    order = np.random.default_rng(seed).permutation(X.shape[0])
    n_test = round(TEST_SHARE * len(order))
    test, train = np.split(order, [n_test])
    train, test = train[:N_TRAIN], test[:N_TEST]
    varies = np.ptp(Y[train], axis=0) > 0
    return Split(X[train], Y[train][:, varies], X[test], Y[test][:, varies])


def _training_cases(name: str) -> tuple[np.ndarray, np.ndarray]:
    found = problems.fold(name, 0) if name in FOLDS else problems.official(name)
    return found.X_train, found.Y_train


def digits(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's digits: 64 grey values, one label per digit."""
    X, y = load_digits(return_X_y=True)
    return X, np.eye(10, dtype=np.uint8)[y]


def generated(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's multi-label task: counts of words, five to ten labels."""
    X, Y = make_multilabel_classification(
        n_samples=1500, n_features=30, n_classes=8, n_labels=3, random_state=seed
    )
    return X, Y.astype(np.uint8)


def topics(seed: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """TF-IDF of texts about one to three of twelve topics, a sparse matrix.

    Words follow Zipf's law; four in ten belong to a topic of the text. Some pairs of
    topics come together often.
    """
    rng = np.random.default_rng(seed)
    n_cases, n_words, n_topics = 1500, 2000, 12
    common = 1.0 / np.arange(1, n_words + 1)
    of_topic = common * rng.gamma(0.05, size=(n_topics, n_words))
    of_topic /= of_topic.sum(1, keepdims=True)
    partner = rng.permutation(n_topics)
    Y = np.zeros((n_cases, n_topics), dtype=np.uint8)
    texts = []
    for case in range(n_cases):
        first = rng.integers(n_topics)
        Y[case, first] = 1
        Y[case, partner[first]] |= rng.random() < 0.5
        Y[case, rng.integers(n_topics)] |= rng.random() < 0.3
        mixed = 0.4 * of_topic[Y[case] > 0].mean(0) + 0.6 * common / common.sum()
        words = rng.choice(n_words, size=rng.integers(20, 80), p=mixed)
        texts.append(" ".join(f"w{word}" for word in words))
    return TfidfVectorizer(min_df=2).fit_transform(texts), Y


def skewed(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers on scales from 1e-3 to 1e5, some of them log-normal; labels that overlap.

    The labels depend on products and on thresholds, not linearly.
    """
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(1500, 16))
    A = rng.normal(size=(16, 6)) / 4
    score = Z @ A + 0.7 * Z[:, :6] * Z[:, 6:12] + 0.3 * rng.normal(size=(1500, 6))
    Y = score > np.quantile(score, np.linspace(0.5, 0.9, 6), axis=0).diagonal()
    Y[:, 5] |= Y[:, 0] & Y[:, 1]
    X = np.where(np.arange(16) % 2 == 0, np.exp(Z), Z)
    return X * 10.0 ** rng.uniform(-3, 5, size=16), Y.astype(np.uint8)


MADE = {
    "digits": digits,
    "generated": generated,
    "topics": topics,
    "skewed": skewed,
}
DATASETS = (*FOLDS, *OFFICIAL, *MADE)
