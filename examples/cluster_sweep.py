"""Search parameters on a Dask cluster with scikit-learn's GridSearchCV and joblib.

This script starts a cluster of two processes on this machine. For a real one pass the
address of its scheduler to `Client`. Needs the package `distributed`.
"""

import joblib
from distributed import Client, LocalCluster
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import GridSearchCV

import crbm

GRID = {"n_hidden": [4, 16], "learning_rate": [2**-6, 2**-4]}


def main(client):
    """The best parameters for predicting whole label sets."""
    X, Y = make_multilabel_classification(200, random_state=0)
    search = GridSearchCV(
        crbm.HashCRBMClassifier(n_epochs=5, random_state=0), GRID, cv=3
    )
    with joblib.parallel_config(backend="dask"):
        search.fit(X, Y)
    return search.best_params_


if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1)
    with cluster, Client(cluster) as client:
        print(main(client))
