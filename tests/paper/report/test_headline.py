"""The small table of README: which models it shows, and on how many runs."""

from paper.engine.store import Outcome, Store
from paper.report import headline
from paper.tables import table1

OURS = next(iter(table1.OURS))


def finished(folder, model, figures, validation=0.0):
    store = Store(folder / "table1.jsonl")
    cells = table1.cells(["yeast"], [model], False)[: len(figures)]
    for cell, figure in zip(cells, figures, strict=True):
        metrics = {"hamming": figure, "subset": 5.0, "validation": validation}
        store.add(cell, Outcome(metrics, {}), 1.0)


def yeast(folder):
    return headline.render(folder).splitlines()[2]


def test_without_rows_it_has_dashes(tmp_path):
    assert yeast(tmp_path) == "| labels of Yeast | 20.02 | - | - | - | 0 |"


def test_the_lowest_validation_error_is_shown_not_the_lowest_test_error(tmp_path):
    finished(tmp_path, "HashCRBM", [20.0, 21.0])
    finished(tmp_path, OURS, [19.0, 19.5])
    finished(tmp_path, "KNeighbors", [16.0, 16.0], validation=19.0)
    finished(tmp_path, "RBF-SVM", [18.0, 18.5], validation=18.0)
    name = OURS.removesuffix(" (ours)")
    shown = f"| 20.02 | 20.50 | 19.25 ({name}) | 18.25 (RBF-SVM) | 2 |"
    assert yeast(tmp_path).endswith(shown)


def test_whole_sets_are_told_which_the_paper_does_not(tmp_path):
    finished(tmp_path, "HashCRBM", [20.0, 21.0])
    [line] = [x for x in headline.render(tmp_path).splitlines() if "sets of Y" in x]
    assert line == "| whole label sets of Yeast | - | 95.00 | - | - | 2 |"


def test_models_with_fewer_runs_are_told(tmp_path):
    finished(tmp_path, "HashCRBM", [20.0, 21.0, 22.0])
    finished(tmp_path, "RBF-SVM", [18.0])
    assert yeast(tmp_path).endswith("| 21.00 | - | 18.00 (RBF-SVM) | 1 to 3 |")


def test_rows_of_other_settings_are_left_out(tmp_path):
    finished(tmp_path, "HashCRBM", [20.0, 21.0])
    [cell, *_] = table1.cells(["yeast"], ["HashCRBM"], False)
    past = cell._replace(config={**cell.config, "grid": {}})
    Store(tmp_path / "table1.jsonl").add(past, Outcome({"hamming": 99.0}, {}), 1.0)
    assert yeast(tmp_path) == "| labels of Yeast | 20.02 | 20.50 | - | - | 2 |"
