"""What the report marks, judged by SciPy's test on made-up rows."""

from dataclasses import replace

import pytest
from scipy import stats

from paper.engine.store import Outcome, Store
from paper.report import report
from paper.tables import table1

ERRORS = {
    "LogReg": [20.1, 19.8, 20.3, 20.0],
    "CRF": [21.0, 20.9, 21.2, 20.8],
    "HashCRBM": [20.0, 19.9, 20.1, 19.8],
    "RBF-SVM": [18.0, 17.9, 18.2, 18.1],
    "KNeighbors": [18.1, 18.0, 18.1, 18.1],
}


@pytest.fixture
def table(tmp_path):
    """Table 1, of which there are four folds of Yeast."""
    store = Store(tmp_path / "table1.jsonl")
    for cell in table1.cells(["yeast"], list(ERRORS), quick=False):
        if cell.fold < 4:
            error = ERRORS[cell.model][cell.fold]
            store.add(cell, Outcome({"hamming": error, "subset": 10.0}, {}), 1.0)
    first, _ = report.tables(list(store))
    return first


@pytest.fixture
def shown(table):
    """The figures on Yeast by model."""
    return {model: figures[0] for model, figures in table.rows}


def p_value(one, other):
    return f"p = {stats.ttest_rel(ERRORS[one], ERRORS[other]).pvalue:.2g}"


def test_models_of_the_paper_are_compared_among_themselves(shown):
    assert [model for model, f in shown.items() if f.best] == ["KNeighbors", "RBF-SVM"]
    daggers = [model for model, f in shown.items() if f.best_of_paper]
    assert daggers == ["LogReg", "HashCRBM"]
    assert shown["LogReg"].p_value == p_value("LogReg", "HashCRBM")
    assert shown["KNeighbors"].p_value == p_value("KNeighbors", "RBF-SVM")
    assert shown["CRF"].p_value == "p < 0.001"
    assert stats.ttest_rel(ERRORS["CRF"], ERRORS["HashCRBM"]).pvalue < 0.001
    for lowest in ("HashCRBM", "RBF-SVM"):
        assert shown[lowest].p_value == ""


def test_models_come_in_the_order_of_the_table(shown):
    assert list(shown) == [name for name in table1.MODELS if name in ERRORS]


def test_what_is_above_the_papers_figures_is_told(table):
    """The paper has 19.92, 21.03 and 20.02."""
    assert table.above == ["LogReg on yeast by 0.13"]
    figure = dict(table.rows)["HashCRBM"][0]
    assert figure.mean == "19.95"
    for mean, told in (("20.02", []), ("20.03", ["HashCRBM on yeast by 0.01"])):
        rows = [("HashCRBM", [figure._replace(mean=mean)])]
        assert replace(table, rows=rows).above == told
