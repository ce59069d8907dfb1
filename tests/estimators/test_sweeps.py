"""Sweeps over hyper-parameters go through joblib, so a cluster can run them."""

import importlib.util
import os
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import crbm

distributed = pytest.importorskip("distributed")

EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster_sweep.py"


def cluster_sweep():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("cluster_sweep", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_dask_cluster_finds_what_a_single_process_finds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] > 0).astype(int)
    search = GridSearchCV(
        crbm.CRBMClassifier(n_epochs=2, random_state=0),
        {"n_hidden": [2, 4], "learning_rate": [2**-6, 2**-2]},
        cv=2,
        refit=False,
    )
    alone = search.fit(X, Y).cv_results_["mean_test_score"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sockets, when the cluster closes
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        )
        with cluster, distributed.Client(cluster) as client:
            with joblib.parallel_config(backend="dask"):
                together = search.fit(X, Y).cv_results_["mean_test_score"]
            best = cluster_sweep().main(client)
            processes = client.run(os.getpid)
            done = client.run(lambda dask_worker: len(dask_worker.state.log))
    assert np.array_equal(together, alone)
    assert best.keys() == {"n_hidden", "learning_rate"}
    assert len(set(alone)) > 1
    assert len(set(processes.values())) == 2
    assert all(n_events > 0 for n_events in done.values())
