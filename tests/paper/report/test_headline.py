"""The small table of README: which models it shows, and on how many runs."""

import pytest
from scipy import stats

from paper.engine.store import Outcome, Store
from paper.report import headline, pages
from paper.tables import suite, table1, trials

COMMITTEE = next(iter(table1.OURS))


def finish(folder, model, errors):
    store = Store(folder / "table1.jsonl")
    cells = table1.cells(["yeast"], [model], False)[: len(errors)]
    for cell, error in zip(cells, errors, strict=True):
        store.add(cell, Outcome({"hamming": error, "subset": 5.0}, {}), 1.0)


def finish_suite(folder, model, errors, subset=30.0):
    store = Store(folder / "suite.jsonl")
    for fold, error in enumerate(errors):
        cell = suite.cell("yeast", fold, model)
        store.add(cell, Outcome({"hamming": error, "subset": subset}, {}), 1.0)


def yeast(folder):
    return headline.render(folder).splitlines()[2]


def ten(first):
    """Errors of ten folds."""
    return [first + fold % 3 / 10 for fold in range(10)]


def test_without_rows_it_has_dashes(tmp_path):
    assert yeast(tmp_path) == "| labels of Yeast | 20.02 | - | - | - | - | 0 |"


def test_the_strongest_opponent_on_the_test_cases_is_shown_with_p(tmp_path):
    finish(tmp_path, "HashCRBM", ten(20.0))
    finish(tmp_path, "KNeighbors", ten(19.5))
    finish(tmp_path, "RBF-SVM", [18.0 + fold / 10 for fold in range(10)])
    finish_suite(tmp_path, "AutoClassifier", ten(18.2))
    finish_suite(tmp_path, "SVM on label sets", ten(21.0))
    svm = [18.0 + fold / 10 for fold in range(10)]
    p = stats.ttest_rel(ten(18.2), svm).pvalue
    shown = f"18.29 (AutoClassifier) | 18.45 (RBF-SVM) | {p:.2g} | 10 |"
    assert yeast(tmp_path).endswith(shown)


def test_our_model_is_the_first_that_was_run_not_the_best(tmp_path):
    finish(tmp_path, COMMITTEE, ten(18.0))
    name = COMMITTEE.removesuffix(" (ours)")
    assert f"18.09 ({name})" in yeast(tmp_path)
    finish_suite(tmp_path, "AutoClassifier", ten(18.5))
    assert "18.59 (AutoClassifier)" in yeast(tmp_path)


def test_models_without_all_folds_are_not_compared(tmp_path):
    finish_suite(tmp_path, "AutoClassifier", ten(18.5)[:9])
    finish_suite(tmp_path, "random forest", ten(17.0)[:9])
    assert yeast(tmp_path) == "| labels of Yeast | 20.02 | - | - | - | - | 0 |"


def test_whole_sets_are_shown_which_the_paper_has_not(tmp_path):
    finish(tmp_path, "HashCRBM", [20.0, 21.0])
    [line] = [x for x in headline.render(tmp_path).splitlines() if "sets of Y" in x]
    assert line == "| whole label sets of Yeast | - | 95.00 | - | - | - | 2 |"


def test_the_variant_by_log_loss_stands_beside(tmp_path):
    finish(tmp_path, "HashCRBM", [20.0, 21.0])
    [trial] = [
        trial
        for trial in trials.TABLE1
        if (trial.base, trial.change) == ("HashCRBM", trials.BY_LOG_LOSS)
    ]
    outcome = Outcome({"hamming": 19.0, "subset": 5.0}, {})
    Store(tmp_path / "table1.jsonl").add(trial.cells[0], outcome, 1.0)
    assert "| 20.50 (19.00 by log loss) |" in yeast(tmp_path)


def test_rows_of_other_settings_are_left_out(tmp_path):
    finish(tmp_path, "HashCRBM", [20.0, 21.0])
    [cell, *_] = table1.cells(["yeast"], ["HashCRBM"], False)
    past = cell._replace(config={**cell.config, "grid": {}})
    Store(tmp_path / "table1.jsonl").add(past, Outcome({"hamming": 99.0}, {}), 1.0)
    assert yeast(tmp_path) == "| labels of Yeast | 20.02 | 20.50 | - | - | - | 2 |"


def test_a_page_gets_its_tables_between_its_comments(tmp_path):
    text = "before\n<!-- rows: headline -->\nold\n<!-- end -->\nafter\n"
    fresh = pages.render(text, tmp_path)
    table, notes = headline.render(tmp_path), headline.notes(tmp_path)
    inside = f"<!-- rows: headline -->\n\n{table}\n\n{notes}\n\n<!-- end -->"
    assert fresh == f"before\n{inside}\nafter\n"
    assert pages.render(fresh, tmp_path) == fresh
    with pytest.raises(KeyError):
        pages.render(text.replace("headline", "no-such"), tmp_path)
