"""The comparison of objectives: its cells, its measures and its tables."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

from crbm import objectives
from paper.engine.store import Store
from paper.report import rules as report
from paper.tables import missing_labels, rules

RESULTS = Path(__file__).parents[3] / "results" / "rules.jsonl"


def test_every_cell_is_declared_once():
    cells = rules.cells() + missing_labels.cells()
    assert len({cell.key for cell in cells}) == len(cells)


def test_published_rows_are_declared():
    declared = {cell.key for cell in rules.cells() + missing_labels.cells()}
    store = Store(RESULTS)
    assert len(store._rows) > 0
    assert set(store._rows) <= declared


def test_every_objective_of_a_crbm_is_compared():
    compared = {type(rule.objective).__name__ for rule in rules.RULES.values()}
    elsewhere = {"Objective", "start", "BeliefLikelihood", "CandidateLikelihood"}
    assert compared >= set(objectives.__all__) - elsewhere


def test_measures_of_missing_labels_by_hand():
    Y = np.array([[1, 0, 0, 1], [0, 1, 0, 0]])
    p = np.array([[0.9, 0.8, 0.1, 0.6], [0.2, 0.1, 0.3, 0.4]])
    found = missing_labels.measure(Y, p)
    assert found["precision_at_3"] == pytest.approx(100 * (2 / 3 + 0) / 2)
    assert found["hamming"] == pytest.approx(100 * 2 / 8)
    # first case: of four pairs one is in the wrong order; second case: all three are
    assert found["auc_by_case"] == pytest.approx(100 * (3 / 4 + 0) / 2)
    # the third label never occurs; the second is ranked the wrong way round
    assert found["auc_by_label"] == pytest.approx(100 * (1 + 0 + 1) / 3)


def row(model, dataset, **metrics):
    return {"model": model, "dataset": dataset, "metrics": metrics, "seconds": 2.0}


def test_tables_show_means_and_spread():
    rows = [
        row("CD-1", "scene", hamming=9.0, subset=50.0),
        row("CD-1", "scene", hamming=11.0, subset=52.0),
        row("LogReg", "bibtex", precision_at_3=30.0, hamming=1.5),
    ]
    [line] = report.objectives_table(rows).splitlines()[2:]
    assert line.startswith("| CD-1 | 10.00 +- 1.41 | 51.00 +- 1.41 |  |")
    assert "| LogReg | 30.00 | 1.50 |" in report.missing_table(rows)


def test_no_chosen_rate_lies_at_the_edge_of_the_grid():
    rows = [row for row in Store(RESULTS) if "edges" in row["details"]]
    assert rows
    assert not any(row["details"]["edges"] for row in rows)


def test_the_search_keeps_the_fit_with_the_lowest_error():
    search = rules.Search(lambda rate, l2: (rate, abs(np.log2(rate) + 7.9) + l2))
    found = search.run(rules.RULES["CD-1"], "labels")
    assert search.best == found.params["learning_rate"] == 2**-8
    assert search.details(found)["edges"] == []
    assert {each["l2"] for each in search.tried} == {0.0}


def test_objectives_are_compared_on_the_same_cases():
    def labels(model, fold, wrong):
        own = row(model, "scene", hamming=100 * np.mean(wrong) / 6)
        return own | {"fold": fold, "seed": 0, "details": {"wrong_labels": wrong}}

    first, second = [0, 1, 2, 3], [1, 1, 3, 2]
    rows = [
        labels("CD-PercLoss", 0, first),
        labels("CD-1", 0, second),
        labels("CD-1", 1, [6, 6, 6, 6]),  # without its partner
    ]
    expected = ttest_rel(first, second).pvalue
    [line] = report.paired_table(rows).splitlines()[2:]
    assert line == (f"| CD-1 | scene | 4 | 25.00 | 29.17 | -4.17 | {expected:.3g} |")
