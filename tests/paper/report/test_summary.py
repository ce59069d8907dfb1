"""Means, spreads and the paper's rule for bold figures."""

import numpy as np
import pytest
from scipy import stats

from paper.report import summary
from paper.report.summary import by_block, by_fold, p_value, summarise
from paper.tables import published
from paper.tables.published import Column

SCENE = Column("scene", "hamming")


def rows(model, figures, dataset="scene"):
    return [
        {
            "model": model,
            "dataset": dataset,
            "fold": fold,
            "seed": 0,
            "metrics": {"hamming": figure},
            "details": {},
        }
        for fold, figure in enumerate(figures)
    ]


def test_the_lowest_and_those_not_told_from_it_are_bold():
    low = [8.0, 9.0, 10.0, 9.5]
    near = [8.1, 8.9, 10.1, 9.4]
    high = [9.0, 10.1, 11.0, 10.4]
    table = summarise(
        rows("low", low) + rows("near", near) + rows("high", high), [SCENE], by_fold
    )
    assert [table[m][SCENE].best for m in ("low", "near", "high")] == [
        True,
        True,
        False,
    ]
    assert table["high"][SCENE].mean == pytest.approx(np.mean(high))
    assert table["high"][SCENE].spread == pytest.approx(np.std(high, ddof=1))
    assert table["low"][SCENE].p_value is None
    for model, figures in {"near": near, "high": high}.items():
        expected = stats.ttest_rel(figures, low).pvalue
        assert table[model][SCENE].p_value == pytest.approx(expected)
    assert stats.ttest_rel(high, low).pvalue < 0.05 < stats.ttest_rel(near, low).pvalue


def test_folds_are_paired_whatever_their_order():
    low, high = [1.0, 5.0, 9.0], [1.5, 5.6, 9.4]
    mixed = rows("high", high)[::-1] + rows("low", low)
    assert not summarise(mixed, [SCENE], by_fold)["high"][SCENE].best


def test_models_on_other_data_do_not_meet():
    table = summarise(
        rows("one", [9.0, 9.1]) + rows("two", [1.0, 1.1], "yeast"), [SCENE], by_fold
    )
    assert table["one"][SCENE].best
    assert SCENE not in table["two"]


def test_blocks_are_averaged_over_seeds():
    seeds = [{"details": {"blocks": {"all": [1.0, 2.0]}}} for _ in range(2)]
    seeds[1]["details"]["blocks"]["all"] = [3.0, 6.0]
    assert by_block(seeds, "all") == [2.0, 4.0]


def test_constant_gaps_are_certain_and_single_figures_not_compared():
    assert p_value([1.0, 2.0], [2.0, 3.0]) == 0
    assert p_value([1.0, 2.0], [1.0, 2.0]) == 1
    assert np.isnan(p_value([1.0], [1.0]))
    alone = summarise(rows("one", [9.0]) + rows("two", [1.0]), [SCENE], by_fold)
    assert alone["two"][SCENE].best
    assert not alone["one"][SCENE].best


def test_published_figures_are_those_of_the_paper():
    """Read off the text of the paper, independent of the tables above."""
    assert published.TABLE1["HashCRBM"][Column("scene", "hamming")] == 8.80
    assert published.TABLE1["CRF"][Column("majmin", "hamming")] == 4.24
    assert published.TABLE2["CD-PercLoss"][Column("occluded", "changed")] == 41.89
    assert published.TABLE2["CD-10"][Column("corrupted", "all")] == 1.816
    assert set(summary.summarise([], [SCENE], by_fold)) == set()
