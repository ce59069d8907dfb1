"""Trials are declared, run and shown like the models that they change."""

import numpy as np
import pytest
from scipy import stats

from crbm import datasets
from paper.engine.store import Outcome, Store, key
from paper.engine.tuning import Schedule
from paper.report import report, reproduce
from paper.tables import table1, table2, trials

KEPT, CHANGED = [20.1, 19.8, 20.3, 20.0], [20.4, 19.9, 20.2, 20.6]


@pytest.mark.parametrize(
    ("tried", "table"), [(trials.TABLE1, table1), (trials.TABLE2, table2)]
)
def test_no_trial_is_a_run_of_its_table(tried, table):
    rows = [cell._asdict() for trial in tried for cell in trial.cells]
    assert table.current_rows(rows) == []
    assert len({cell.key for trial in tried for cell in trial.cells}) == len(rows)
    assert {trial.base for trial in tried} <= table.MODELS.keys()


@pytest.fixture
def one_trial(monkeypatch):
    """LogReg at a rate of its own, on three folds of 60 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    data = datasets.Dataset(X=X, Y=(X[:, :3] > 0).astype(np.uint8), name="yeast")
    monkeypatch.setattr(table1.datasets, "load", lambda name: data)
    monkeypatch.setattr(trials.table1, "N_FOLDS", 3)
    trial = trials._table1_trial(
        "LogReg",
        "a large rate",
        ["yeast"],
        grid={"learning_rate": [0.5]},
        schedule=Schedule(rungs=(1,), stop_by="log_loss"),
    )
    monkeypatch.setattr(trials, "TABLE1", (trial,))
    monkeypatch.setattr(trials, "TABLE2", ())
    return trial


def test_the_changed_model_is_run_where_rows_are_missing(tmp_path, one_trial):
    stores = [Store(tmp_path / f"{name}.jsonl") for name in ("table1", "table2")]
    told = []
    for _ in range(2):
        trials.complete(*stores, echo=told.append)
    rows = list(stores[0])
    assert [(row["model"], row["fold"]) for row in rows] == [
        ("LogReg", fold) for fold in range(3)
    ]
    assert {row["details"]["chosen"]["learning_rate"] for row in rows} == {0.5}
    assert sum("seed" in line for line in told) == 3


def test_a_trial_is_compared_with_the_model_that_it_changes(tmp_path):
    store = Store(tmp_path / "table1.jsonl")
    [trial] = [each for each in trials.TABLE1 if each.base == "LogReg"]
    kept = table1.cells(["yeast"], ["LogReg"], quick=False)
    for cells, errors in ((kept, KEPT), (trial.cells, CHANGED)):
        for cell, error in zip(cells, errors, strict=False):
            store.add(cell, Outcome({"hamming": error, "subset": 10.0}, {}), 1.0)
    table = report.tables(list(store))[-1]
    assert table.title == "Table 1: other variants"
    assert [model for model, _ in table.rows] == ["LogReg", f"↳ {trial.change}"]
    (own,), (other,) = (shown for _, shown in table.rows)
    assert (own.mean, own.p_value) == (f"{np.mean(KEPT):.2f}", "")
    p_value = stats.ttest_rel(CHANGED, KEPT).pvalue
    assert (other.mean, other.p_value) == (
        f"{np.mean(CHANGED):.2f}",
        f"p = {p_value:.2g}",
    )
    assert "outdated" not in report.tables(list(store))[0].note
    [table] = report.tables(trial.rows({key(row): row for row in store}))
    assert [figure for _, (figure,) in table.rows] == [None, other._replace(p_value="")]


def test_trials_have_no_quick_version(tmp_path, monkeypatch):
    monkeypatch.setattr(trials, "complete", lambda *_, **__: pytest.fail("ran"))
    with pytest.raises(ValueError, match="omit `--quick`"):
        reproduce.run(
            "trials", tmp_path / "new", quick=True, n_jobs=1, dask=None, echo=print
        )
    assert not (tmp_path / "new").exists()
