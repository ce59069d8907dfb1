"""Committees: who learns from which rows, and which settings are completed."""

import numpy as np
import pytest

from paper.engine import committee
from paper.engine.committee import tune_committee
from paper.engine.tuning import Cases, FoldData, Schedule, expand

N_ROWS = 40
MADE = []


class Sure:
    """Predicts the labels it reads off the inputs, wrong in a given share of rows."""

    def __init__(self, wrong, **how):
        self.wrong, self.how = wrong, how
        MADE.append(self)

    def fit(self, X, Y, validation):
        self.seen, self.held_out = X[:, 0], validation.X[:, 0]
        assert np.array_equal(validation.Y[:, 0], validation.X[:, 1])
        return self

    def predict_proba(self, X):
        turned = X[:, 0] < self.wrong * N_ROWS
        return np.where(turned, 1 - X[:, 1], X[:, 1])[:, None]

    def predict(self, X):
        return (self.predict_proba(X) > 0.5).astype(int)


@pytest.fixture
def parts():
    """Rows that carry their number and their label."""
    MADE.clear()
    label = np.arange(N_ROWS) % 2
    X, Y = np.stack([np.arange(N_ROWS), label], axis=1), label[:, None]
    train, valid, test = (Cases(X[i], Y[i]) for i in (slice(30), slice(30, 40), ...))
    return FoldData(train, valid, test)


def choose(parts, wrongs, n_members=5):
    settings = expand({"wrong": wrongs})
    return tune_committee(Sure, settings, parts, Schedule((1, 2, 4)), n_members, seed=0)


def test_each_row_of_training_and_validation_is_left_out_once(parts):
    found = choose(parts, [0.0])
    held_out = np.concatenate([member.held_out for member in MADE])
    assert np.array_equal(np.sort(held_out), np.arange(N_ROWS))
    for place, member in enumerate(MADE):
        seen = np.concatenate([member.seen, member.held_out])
        assert np.array_equal(np.sort(seen), np.arange(N_ROWS))
        assert member.how["random_state"] == place
        assert member.how["n_epochs"] == 7
        assert member.how["early_stopping"]
    assert len(found.classifier.members) == 5


def test_rows_of_a_group_are_left_out_together(parts):
    groups = np.repeat(np.arange(8), 5)
    choose(parts._replace(groups=groups), [0.0], n_members=4)
    for member in MADE:
        assert not set(groups[member.held_out]) & set(groups[member.seen])


def test_the_error_is_that_of_the_rows_left_out(parts):
    found = choose(parts, [0.25])
    assert found.error == 0.25
    assert found.params == {"wrong": 0.25}


@pytest.mark.parametrize(("stop_by", "expected"), [("error", 0.3), ("log_loss", 0.6)])
def test_settings_are_compared_by_what_members_stop_by(parts, stop_by, expected):
    """Few labels wrong and sure of them, or many wrong and unsure."""

    class Unsure(Sure):
        def predict_proba(self, X):
            p = super().predict_proba(X)
            return p if self.wrong < 0.5 else 0.5 + 0.02 * (p - 0.5)

    settings, schedule = expand({"wrong": [0.3, 0.6]}), Schedule((1,), stop_by=stop_by)
    found = tune_committee(Unsure, settings, parts, schedule, 5, seed=0)
    assert found.params == {"wrong": expected}
    assert found.error == expected
    assert all(member.how["stop_by"] == stop_by for member in MADE)


def test_those_far_behind_are_given_up_and_the_best_is_chosen(parts, monkeypatch):
    monkeypatch.setattr(committee, "MAX_LOSS_RATIO", 1.5)
    found = choose(parts, [0.5, 0.2, 0.225])
    members = {wrong: 0 for wrong in (0.5, 0.2, 0.225)}
    for member in MADE:
        members[member.wrong] += 1
    assert members == {0.5: committee.N_FIRST_MEMBERS, 0.2: 5, 0.225: 5}
    assert found.params == {"wrong": 0.2}


def test_members_are_averaged(parts):
    found = choose(parts, [0.0])
    expected = found.classifier.predict(parts.test.X)
    assert np.array_equal(expected, parts.test.Y)
    for member in found.classifier.members[:2]:
        member.wrong = 1.0
    assert np.array_equal(found.classifier.predict(parts.test.X), expected)
    found.classifier.members[2].wrong = 1.0
    assert np.array_equal(found.classifier.predict(parts.test.X), 1 - expected)
