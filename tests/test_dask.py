"""Predictions of Dask collections, in this process and on a real cluster."""

import os
import signal
from dataclasses import dataclass

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import crbm
from crbm.dask import predict, predict_proba

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X @ RNG.normal(size=(4, 3)) > 0).astype(int)
FRAME = pd.DataFrame(X, columns=list("abcd"), index=3 * np.arange(60))
LABELS = pd.DataFrame(Y, columns=["x", "y", "z"])
QUICK = {"n_epochs": 2, "random_state": 0}


@pytest.fixture(scope="module")
def classifier():
    return crbm.LogisticClassifier(**QUICK).fit(X, Y)


@pytest.fixture(autouse=True)
def _in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def test_an_array_is_predicted_by_its_blocks(classifier):
    blocks = da.from_array(X, chunks=(25, 2))
    labels, p = predict(classifier, blocks), predict_proba(classifier, blocks)
    assert labels.chunks == p.chunks == ((25, 25, 10), (3,))
    np.testing.assert_array_equal(labels.compute(), classifier.predict(X))
    np.testing.assert_allclose(p.compute(), classifier.predict_proba(X), atol=1e-12)
    assert (labels.dtype, p.dtype) == (np.int64, np.float64)


def test_a_frame_keeps_its_index_and_names_the_labels():
    classifier = crbm.LogisticClassifier(**QUICK).fit(FRAME, LABELS)
    found = predict_proba(classifier, dd.from_pandas(FRAME, npartitions=4))
    assert found.npartitions == 4
    assert list(found.columns) == ["x", "y", "z"]
    expected = pd.DataFrame(
        classifier.predict_proba(FRAME), columns=["x", "y", "z"], index=FRAME.index
    )
    pd.testing.assert_frame_equal(found.compute(), expected)


def test_columns_of_classes_keep_their_values():
    classes = np.column_stack([np.where(Y[:, 0], "a", "b"), np.where(Y[:, 1], 7, 8)])
    frame = pd.DataFrame(classes, columns=["letter", "number"])
    classifier = crbm.HashCRBMClassifier(**QUICK).fit(FRAME, frame)
    found = predict(classifier, dd.from_pandas(FRAME, npartitions=2)).compute()
    assert list(found.columns) == ["letter", "number"]
    assert (found.to_numpy() == classifier.predict(FRAME)).all()


def test_empty_partitions_have_no_predictions():
    classifier = crbm.LogisticClassifier(**QUICK).fit(FRAME, LABELS)
    some = dd.from_pandas(FRAME, npartitions=3)
    none = predict(classifier, some[some["a"] > 100]).compute()
    assert none.shape == (0, 3)


def test_other_collections_are_refused(classifier):
    with pytest.raises(TypeError, match="a dask array or a dask data frame; got"):
        predict(classifier, X)


@dataclass(eq=False, repr=False, kw_only=True)
class Fatal(crbm.LogisticClassifier):
    """Kills the worker that predicts a negative first input, once."""

    mark: str = ""

    def predict(self, X, known=None):
        if len(X) > 1 and X[0, 0] < 0 and not os.path.exists(self.mark):
            open(self.mark, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        with open(self.mark + "-blocks", "a") as file:
            file.write("x" if len(X) > 1 else "")
        return super().predict(X, known)


def test_a_worker_that_dies_costs_its_partition_not_the_job(tmp_path):
    """On a real cluster of two processes."""
    mark = tmp_path / "died"
    classifier = Fatal(mark=str(mark), **QUICK).fit(X, Y)
    first = np.where(np.arange(60) == 40, -1.0, np.abs(X[:, 0]))
    inputs = np.column_stack([first, X[:, 1:]])
    blocks = da.from_array(inputs, chunks=(10, 4))
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, Client(cluster):
        found = predict(classifier, blocks).compute(scheduler="distributed")
    assert mark.exists()
    np.testing.assert_array_equal(found, classifier.predict(inputs))


def test_workers_load_a_file_once(classifier, tmp_path, monkeypatch):
    from crbm import dask as module

    path = tmp_path / "m.safetensors"
    classifier.save(path)
    loads = []
    monkeypatch.setattr(
        module, "load", lambda path: loads.append(path) or crbm.load(path)
    )
    found = predict(path, da.from_array(X, chunks=(10, 4))).compute()
    np.testing.assert_array_equal(found, classifier.predict(X))
    assert len(loads) == 1
