"""Curves follow the rows of Table 2 whenever its report is rendered."""

import sys

import pytest

from paper.engine.store import Cell, Outcome, Store
from paper.report import reproduce
from paper.tables import table2


@pytest.fixture
def folder(tmp_path):
    """A folder with runs of one model at two rates, of which the first is better."""
    store = Store(tmp_path / "table2.jsonl")
    for rate, errors in ((0.5, [3.0, 2.0]), (0.25, [4.0, 3.0])):
        config = {**table2.MODELS["CD-1"].to_dict(), "quick": False}
        cell = Cell(
            "table2", "occluded", "CD-1", None, 0, {**config, "learning_rate": rate}
        )
        outcome = Outcome({"all": 1.0, "changed": 2.0}, {"validation": errors})
        store.add(cell, outcome, seconds=1.0)
    return tmp_path


def render(folder, echo=lambda text: None):
    paths = reproduce.run("report", folder, quick=False, n_jobs=1, dask=None, echo=echo)
    return {path.name for path in paths}


def test_curves_are_those_of_the_chosen_rows(folder):
    store, curve = folder / "table2.jsonl", folder / "error_by_epoch.png"
    won, lost = store.read_text().splitlines(keepends=True)
    assert render(folder) >= {"error_by_epoch.png", "error_by_epoch.svg"}
    before = curve.read_bytes()
    store.write_text(won)
    render(folder)
    assert curve.read_bytes() == before
    store.write_text(lost)
    render(folder)
    assert curve.read_bytes() != before
    assert "error_by_epoch.png" in (folder / "report.md").read_text()


def test_a_report_can_do_without_matplotlib(folder, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    told = []
    assert render(folder, told.append) == {"report.html", "report.md"}
    assert told == [
        "Curves are skipped: Plotting needs `matplotlib`. Install it with "
        "`pip install crbm[plot]`."
    ]
