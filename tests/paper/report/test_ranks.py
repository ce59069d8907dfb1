"""Mean ranks and their tests, against SciPy and numbers computed by hand."""

import math

import pytest
from scipy import stats

from paper.report import ranks

# Errors of three models on four data sets.
ERRORS = {
    "a": [1.0, 2.0, 1.0, 5.0],
    "b": [2.0, 2.0, 3.0, 4.0],
    "c": [3.0, 9.0, 2.0, 6.0],
}


def rows(errors, folds=(0,), measure="hamming"):
    return [
        {"model": model, "dataset": f"d{i}", "fold": fold, "metrics": {measure: error}}
        for model, values in errors.items()
        for i, error in enumerate(values)
        for fold in folds
    ]


def test_mean_ranks_by_hand():
    found = ranks.rank(ERRORS, lower=True)
    assert found.models == ("a", "b", "c")
    # a: 1, 1.5, 1, 2; b: 2, 1.5, 3, 1; c: 3, 3, 2, 3
    assert found.ranks == (5.5 / 4, 7.5 / 4, 11 / 4)
    assert found.n_datasets == 4


def test_friedman_is_scipys():
    expected = stats.friedmanchisquare(*ERRORS.values()).pvalue
    assert ranks.rank(ERRORS, lower=True).p_value == pytest.approx(expected)


@pytest.mark.parametrize(("n_models", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_differences_have_the_q_of_demsars_table(n_models, q):
    expected = q * math.sqrt(n_models * (n_models + 1) / (6 * 9))
    assert ranks.critical_difference(n_models, 9) == pytest.approx(expected, rel=5e-4)


def test_high_scores_are_good_unless_the_measure_is_a_loss():
    assert ranks.ranking(rows(ERRORS), "hamming").models == ("a", "b", "c")
    scores = rows(ERRORS, measure="subset")
    assert ranks.ranking(scores, "subset").models == ("c", "b", "a")


def test_a_model_without_a_data_set_is_left_out():
    lacking = [r for r in rows(ERRORS) if (r["model"], r["dataset"]) != ("b", "d2")]
    found = ranks.ranking(lacking, "hamming")
    assert found.models == ("a", "c")
    assert found.n_datasets == 4


def test_models_are_compared_on_the_folds_that_all_have():
    more = rows({"a": [9.0, 9.0, 9.0, 9.0]}, folds=(1,))
    assert ranks.ranking(rows(ERRORS) + more, "hamming").ranks == (
        ranks.ranking(rows(ERRORS), "hamming").ranks
    )


def test_lines_join_the_longest_groups_within_the_difference():
    ranking = ranks.Ranking(tuple("abcd"), (1.0, 1.8, 2.5, 4.0), 4, 0.01, 1.5)
    assert ranking.cliques() == [(0, 2), (2, 3)]
    assert ranking._replace(difference=0.5).cliques() == []
    assert ranking._replace(difference=3.0).cliques() == [(0, 3)]
