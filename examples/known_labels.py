"""Collaborative filtering: the more labels of a case are known, the better the others.

Labels are hidden at random; the wrong ones among those that stay hidden are counted.
Run: python examples/known_labels.py
"""

import numpy as np

import crbm

data = crbm.datasets.load("yeast")
X, Y = np.asarray(data.X), np.asarray(data.Y, dtype=float)
order = np.random.default_rng(0).permutation(len(X))
train, test = order[:1800], order[1800:]
classifier = crbm.HashCRBMClassifier(
    radius=None,
    n_hidden=128,
    init_scale=0.01,
    base_measure="uniform",
    preprocessing="standardise",
    learning_rate=2**-4,
    n_epochs=20,
    random_state=0,
).fit(X[train], Y[train])

rank = np.random.default_rng(1).random(Y[test].shape).argsort(1).argsort(1)
print("known labels   wrong among the last three (%)")
for n_known in (0, 3, 6, 9, 11):
    known = np.where(rank < n_known, Y[test], np.nan)
    wrong = classifier.predict(X[test], known=known) != Y[test]
    asked = rank >= 11  # the same labels are asked for each time
    print(f"{n_known:12d}   {100 * wrong[asked].mean():.1f}")
