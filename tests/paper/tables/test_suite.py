"""The suite and the successors' tables in miniature, from cells to the report."""

import json

import numpy as np
import pytest

from paper.engine.judging import ANSWERS, Forecast
from paper.engine.store import Outcome, Store
from paper.report import report, reproduce, successor_tables, suite_tables
from paper.report.ranks import MEASURES
from paper.tables import ours, problems, successors, suite

FIRST, SECOND = "logistic regression", "SVM on label sets"


class Guess:
    """Says the base rates, more or less wrongly; stands in for every model."""

    package = ""
    max_labels = 10**6
    missing = ""

    def __init__(self, shift):
        self.shift = shift

    def summary(self):
        return {"shift": self.shift}

    def forecast(self, problem, seed):
        p = np.broadcast_to(problem.Y_train.mean(0), problem.Y_test.shape)
        answers = dict.fromkeys(ANSWERS, p > 0.5)
        answers = {name: a ^ (self.shift > 1) for name, a in answers.items()}
        return Forecast(answers, p.clip(0.01, 0.99), 1.0 + self.shift, {"seed": seed})


@pytest.fixture
def small(monkeypatch):
    """Two data sets, an opponent beside ours, and no real fit."""
    opponents = {FIRST: Guess(1), SECOND: Guess(2)}
    monkeypatch.setattr(ours, "MODELS", {"AutoClassifier": Guess(0)})
    monkeypatch.setattr(suite, "PEERS", opponents)
    monkeypatch.setattr(suite, "MODELS", ("AutoClassifier", FIRST, SECOND))
    monkeypatch.setattr(suite, "SPLITS", {problems.SYNTHETIC: 2, "yeast": 2})
    monkeypatch.setattr(suite, "TEN_FOLDS", {"yeast": ("AutoClassifier",)})
    monkeypatch.setattr(suite, "QUICK_SPLITS", {problems.SYNTHETIC: 1})
    monkeypatch.setattr(suite, "QUICK_MODELS", ("AutoClassifier", FIRST))
    problem = problems.synthetic(0, 30, 20)
    monkeypatch.setattr(problems, "fold", lambda name, number: problem)
    monkeypatch.setattr(suite, "available_datasets", lambda names, echo: list(names))
    return opponents


def run(target, folder, told, quick=False):
    return reproduce.run(
        target, folder, quick=quick, n_jobs=1, dask=None, echo=told.append
    )


def test_every_declared_cell_is_run_once_and_the_report_repeats(small, tmp_path):
    told = []
    run("suite", tmp_path, told)
    rows = list(Store(tmp_path / "suite.jsonl"))
    assert len(rows) == 2 * 2 * 3 + 8  # and eight more folds of ours
    assert all(set(MEASURES) <= set(row["metrics"]) for row in rows)
    first = (tmp_path / "report.md").read_bytes()
    picture = (tmp_path / "ranks.svg").read_bytes()
    told.clear()
    run("suite", tmp_path, told)
    assert not any("seed" in line for line in told)
    assert (tmp_path / "report.md").read_bytes() == first
    assert (tmp_path / "ranks.svg").read_bytes() == picture


def test_an_interrupted_command_resumes(small, tmp_path):
    run("suite", tmp_path, [])
    path = tmp_path / "suite.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:5]))
    told = []
    run("suite", tmp_path, told)
    assert sum("seed" in line for line in told) == len(lines) - 5
    assert "5 of 20 runs are finished already." in told


def test_an_opponent_without_its_package_is_skipped(small, tmp_path):
    small[SECOND].missing = "needs xyz"
    told = []
    run("suite", tmp_path, told)
    assert f"{SECOND}: skipped, needs xyz." in told
    assert {row["model"] for row in Store(tmp_path / "suite.jsonl")} == {
        "AutoClassifier",
        FIRST,
    }
    text = (tmp_path / "report.md").read_text()
    assert f"{SECOND} on spen-synthetic, yeast (not run)" in text


def test_the_quick_version_is_smaller_and_marked(small, tmp_path):
    run("suite", tmp_path, [], quick=True)
    rows = list(Store(tmp_path / "suite-quick.jsonl"))
    assert [row["model"] for row in rows] == ["AutoClassifier", FIRST]
    assert "the quick version" in (tmp_path / "report.md").read_text()


def test_models_with_too_many_labels_are_left_out_with_the_reason(monkeypatch):
    for model, peer in suite.PEERS.items():
        for name, n_labels in suite.N_LABELS.items():
            reason = suite.left_out(name, model)
            assert (reason is not None) == (n_labels > peer.max_labels)
    assert suite.left_out("delicious", "CatBoost") == (
        "would take hours with 983 labels"
    )
    assert suite.left_out("delicious", "AutoClassifier") is None


def test_cells_can_be_told_apart_and_are_plain_json():
    wanted = suite.cells() + suite.cells(quick=True)
    wanted += [c for table in successors.TABLES if table.load for c in table.cells()]
    assert len({cell.key for cell in wanted}) == len(wanted)
    for cell in wanted:
        assert json.loads(json.dumps(cell.config)) == cell.config


def test_one_label_of_each_block_has_the_highest_score():
    problem = problems.synthetic(3, 40, 10)
    again = problems.synthetic(3, 40, 10)
    blocks = np.concatenate([problem.Y_train, problem.Y_test]).reshape(-1, 4, 4)
    assert (blocks.sum(-1) == 1).all()
    np.testing.assert_array_equal(problem.X_test, again.X_test)
    assert (problem.Y_train != problems.synthetic(4, 40, 10).Y_train).any()
    # linear scores: least squares on many cases finds most labels
    many = problems.synthetic(0, 4000, 1000)
    weight, *_ = np.linalg.lstsq(many.X_train, many.Y_train - 0.25, rcond=None)
    scores = (many.X_test @ weight).reshape(-1, 4, 4)
    right = scores.argmax(-1) == many.Y_test.reshape(-1, 4, 4).argmax(-1)
    assert right.mean() > 0.9


def test_a_limited_problem_has_some_of_the_cases():
    problem = problems.synthetic(0, 50, 40)
    few = problem.limited(20, 100, seed=1)
    assert [len(part) for part in few[:4]] == [20, 20, 40, 40]
    known = {x.tobytes(): y.tobytes() for x, y in zip(*problem[:2], strict=True)}
    for x, y in zip(*few[:2], strict=True):
        assert known[x.tobytes()] == y.tobytes()


def row(model, fold, **metrics):
    cells = {(c.dataset, c.model, c.fold): c for c in suite.cells()}
    cell = cells["yeast", model, fold]
    return cell, Outcome({**dict.fromkeys(MEASURES, 50.0), **metrics}, {})


def test_published_numbers_stand_beside_ours(tmp_path):
    store = Store(tmp_path / "suite.jsonl")
    for fold, score in enumerate((66.0, 68.0)):
        store.add(*row("AutoClassifier", fold, example_f1=score, micro_f1=66.0), 1.0)
    [table] = successor_tables.tables(list(store))
    shown = dict(table.rows)
    assert shown["C-GMVAE"][0].mean == "65.6"
    own = shown["AutoClassifier (ours)"]
    assert (own[0].mean, own[0].spread, own[0].n_repeats) == ("67.00", "1.41", 2)
    best = [model for model, scores in table.rows if scores[1].best]
    assert best == ["C-GMVAE"]  # 66.5 against 66.0
    assert "example_f1 is 1.40 above 65.6, micro_f1 is 0.50 below 66.5" in table.note


def test_rows_of_ten_folds_are_compared_with_p_values(tmp_path):
    store = Store(tmp_path / "suite.jsonl")
    for fold in range(10):
        ours_wrong, other = 18.0 + fold / 10, 19.0 + fold / 9
        for model, error in (("AutoClassifier", ours_wrong), ("random forest", other)):
            store.add(*row(model, fold, hamming=error, subset=30.0), 1.0)
    store.add(*row("logistic regression", 0), 1.0)  # not all folds
    [table] = suite_tables.ten_folds(list(store), [])
    assert [model for model, _ in table.rows] == ["AutoClassifier", "random forest"]
    yeast = {model: scores[0] for model, scores in table.rows}
    assert yeast["AutoClassifier"].best
    assert not yeast["random forest"].best
    assert yeast["random forest"].p_value == "p < 0.001"


def test_there_is_no_quick_version_of_the_successors(tmp_path):
    with pytest.raises(ValueError, match="no quick version of `successors`"):
        run("successors", tmp_path, [], quick=True)


def test_a_folder_without_rows_has_no_report(tmp_path):
    assert report.all_tables(tmp_path) == []
