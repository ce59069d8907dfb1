"""Benchmarks run end to end in miniature; no timing is asserted."""

import os

import numpy as np
import pytest

import crbm
from crbm.experiments import floor, multilabel

needs_data = pytest.mark.skipif(
    "CRBM_DATA" not in os.environ, reason="CRBM_DATA is unset: the real data is absent"
)


def test_steps_are_measured_beside_their_products(monkeypatch):
    monkeypatch.setattr(floor, "ROUNDS", 1)
    monkeypatch.setattr(floor, "N_BATCHES", 1)
    rows = floor.rows(say=lambda text: None)
    assert [row["step"] for row in rows[:4]] == [
        "CD-1",
        "CD-10",
        "CD-PercLoss-10",
        "mean field 10",
    ]
    for row in rows:
        assert row["ratio"] == row["ms"] / row["bare products ms"]


def test_label_powerset_predicts_sets_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (X[:, :2] > 0).astype(int)
    model = multilabel.LabelPowerset(multilabel.SVC()).fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.9


def test_whole_sets_are_predicted_by_the_mode():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).astype(np.float32)
    Y = (X[:, :2] > 0).astype(int)
    pipeline = multilabel.make_pipeline(
        multilabel.StandardScaler(), crbm.HashCRBMClassifier(n_epochs=2, random_state=0)
    )
    row = multilabel.measured(pipeline, multilabel.Split(X, Y, X, Y))
    labels = pipeline.set_params(hashcrbmclassifier__prediction="mode").predict(X)
    assert row["subset"] == 100 * crbm.metrics.subset_accuracy(Y, labels)


@needs_data
def test_splits_are_fixed_and_disjoint():
    scene, yeast = multilabel.split("scene"), multilabel.split("yeast")
    assert (len(scene.Y_train), len(scene.Y_test)) == (1211, 1196)
    assert (len(yeast.Y_train), len(yeast.Y_test)) == (1500, 917)
    again = multilabel.split("yeast")
    assert np.array_equal(again.X_test, yeast.X_test)
    assert yeast.X_train.dtype == np.float32
