"""`crbm reproduce bases`: classifiers alone and in a HashCRBM."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from paper.engine.store import Store
from paper.report import bases as report
from paper.tables import bases, problems, suite
from paper.tables.problems import Problem

SHORT = "logistic regression"


@pytest.fixture
def small(monkeypatch):
    """Two labels that nearly always differ, and say little about it alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    first = rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))
    Y = np.stack([first, first ^ (rng.random(400) < 0.95)], 1).astype(np.uint8)
    problem = Problem(X[:300], Y[:300], X[300:], Y[300:])
    monkeypatch.setattr(suite, "load", lambda name, fold, limit: problem)
    monkeypatch.setattr(bases, "BASES", {SHORT: LogisticRegression()})
    monkeypatch.setattr(bases, "SPLITS", {problems.SYNTHETIC: 1})
    return problem


def test_structure_adds_right_sets_where_labels_depend_on_each_other(small, tmp_path):
    store = Store(tmp_path / "bases.jsonl")
    rows = bases.complete(store, echo=lambda line: None)
    alone, with_structure = (row["metrics"] for row in rows)
    assert with_structure["subset"] > alone["subset"]
    assert with_structure["nll"] < alone["nll"] - 0.2
    alone_model = LogisticRegression().fit(small.X_train, small.Y_train[:, 0])
    wrong = (alone_model.predict(small.X_test) != small.Y_test[:, 0]).mean()
    other = LogisticRegression().fit(small.X_train, small.Y_train[:, 1])
    wrong_other = (other.predict(small.X_test) != small.Y_test[:, 1]).mean()
    assert alone["hamming"] == pytest.approx(50 * (wrong + wrong_other))
    text = report.write(store, tmp_path)[0].read_text()
    one, two = alone["subset"], with_structure["subset"]
    assert f"| {SHORT} |" in text
    assert f"{one:.2f} -> {two:.2f}" in text
    assert "of 1 pairs" in text


def test_boosting_is_left_out_where_there_are_many_labels():
    names = {(cell.dataset, cell.model) for cell in bases.cells()}
    assert ("yeast", "boosting, alone") in names
    assert ("bibtex", "boosting, alone") not in names
    assert ("bibtex", "random forest, with HashCRBM") in names
