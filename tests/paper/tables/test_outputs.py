"""Classes, letters and real targets: the declared runs and how they are chosen."""

from pathlib import Path

import pytest

from paper.engine.store import Store
from paper.report import reproduce
from paper.tables import outputs

RESULTS = Path(__file__).parents[3] / "results" / "outputs.jsonl"


def test_published_rows_are_declared_once():
    declared = [cell.key for cell in outputs.cells()]
    assert len(set(declared)) == len(declared)
    store = Store(RESULTS)
    assert store._rows
    assert set(store._rows) <= set(declared)


def test_data_sets_are_chosen_by_name():
    cells = outputs.cells(["letters"])
    assert {cell.dataset for cell in cells} == {"letters"}
    assert {cell.fold for cell in cells} == set(range(10))
    with pytest.raises(ValueError, match="no data set `runes` in this experiment"):
        outputs.complete(Store(RESULTS), ["runes"])


@pytest.mark.parametrize("target", ["outputs", "rules"])
def test_one_data_set_can_be_reproduced_alone(target, tmp_path, monkeypatch):
    asked = []

    def complete(cells, run, store, **options):
        asked.extend(cells)
        return []

    monkeypatch.setattr("paper.engine.runs.complete", complete)
    name = {"outputs": "letters", "rules": "bibtex"}[target]
    reproduce.run(
        target, tmp_path, quick=False, n_jobs=1, dask=None, echo=print, names=[name]
    )
    assert {cell.dataset for cell in asked} == {name}
