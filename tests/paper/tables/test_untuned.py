"""`crbm reproduce untuned`: our defaults beside those of scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from crbm.estimators import HashCRBMClassifier
from paper.engine.store import Cell, Outcome, Store
from paper.report import reproduce, untuned as report
from paper.tables import untuned, untuned_problems
from paper.tables.untuned_problems import Split


@pytest.fixture
def small(monkeypatch):
    """Two of our models' opponents on inputs whose scales differ by a thousand."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 4)) * [1, 10, 100, 1000]
    Y = (X / [1, 10, 100, 1000] + rng.normal(size=(260, 4)) / 3 > 0)[:, :3]
    split = Split(X[:160], Y[:160].astype(np.uint8), X[160:], Y[160:].astype(np.uint8))
    ours = {"HashCRBM": HashCRBMClassifier(n_epochs=5, random_state=0)}
    monkeypatch.setattr(untuned_problems, "split", lambda name, seed: split)
    monkeypatch.setattr(untuned, "OURS", ours)
    peers = {"logistic regression": LogisticRegression(), untuned.SVM: SVC()}
    monkeypatch.setattr(untuned, "PEERS", peers)
    monkeypatch.setattr(untuned, "N_SEEDS", 1)
    return split


def test_peers_get_the_inputs_as_they_are(small, tmp_path):
    store = Store(tmp_path / "untuned.jsonl")
    rows = untuned.complete(store, ["digits"], echo=lambda line: None)
    found = {row["model"]: row["metrics"] for row in rows}
    machines = [SVC().fit(small.X_train, y) for y in small.Y_train.T]
    wrong = [
        (machine.predict(small.X_test) != y).mean()
        for machine, y in zip(machines, small.Y_test.T, strict=True)
    ]
    assert found[untuned.SVM]["hamming"] == pytest.approx(100 * np.mean(wrong))
    assert "log_loss" not in found[untuned.SVM]
    assert found["logistic regression"]["log_loss"] < 1
    line = report.table(rows).splitlines()[2]
    best = min(found, key=lambda m: found[m]["hamming"] if m != "HashCRBM" else 100)
    assert f"{found['HashCRBM']['hamming']:.2f} | {found[best]['hamming']:.2f}" in line


def test_boosting_takes_sparse_inputs(small, monkeypatch):
    split = Split(sparse.csr_matrix(small.X_train), *small[1:2], *small[2:])
    split = split._replace(X_test=sparse.csr_matrix(small.X_test))
    monkeypatch.setattr(untuned_problems, "split", lambda name, seed: split)
    real = untuned.HistGradientBoostingClassifier(max_iter=3)
    monkeypatch.setattr(untuned, "PEERS", {"boosting": real})
    outcome = untuned.run_cell(Cell("untuned", "topics", "boosting", None, 0, {}))
    assert outcome.metrics["hamming"] < 50


def test_the_command_writes_its_page(small, tmp_path):
    for cell in untuned.cells(["digits"]):
        Store(tmp_path / "untuned.jsonl").add(
            cell, Outcome({"hamming": 1.0, "subset": 90.0, "log_loss": 0.1}, {}), 1.0
        )
    paths = reproduce.run(
        "untuned",
        tmp_path,
        quick=False,
        n_jobs=1,
        dask=None,
        echo=print,
        names=["digits"],
    )
    assert paths == [tmp_path / "untuned.md"]
    assert "| digits | 1.00 | 1.00 (" in paths[0].read_text()
    with pytest.raises(ValueError, match="no quick version of `untuned`"):
        reproduce.run("untuned", tmp_path, quick=True, n_jobs=1, dask=None, echo=print)


def test_data_sets_with_many_labels_have_no_boosting():
    names = {(cell.dataset, cell.model) for cell in untuned.cells()}
    assert ("yeast", "boosting") in names
    assert ("corel5k", "boosting") not in names
