"""How a classifier's settings are chosen on validation rows."""

import numpy as np
import pytest

from paper.engine import tuning
from paper.engine.tuning import Schedule


def test_a_small_rate_is_not_dropped_for_learning_slowly(monkeypatch):
    """At 0.1 the error falls by 3 in an epoch to 5, at 0.01 by 1 to 0."""

    class Learner:
        def __init__(self, learning_rate):
            self.rate, self.n_epochs = learning_rate, 0

        def set_params(self, n_epochs, **others):
            self.more = n_epochs

        def fit(self, X, Y, validation):
            self.n_epochs += self.more

    def error(part, classifier):
        speed, end = {0.1: (3, 5), 0.01: (1, 0)}[classifier.rate]
        return float(max(end, 20 - speed * classifier.n_epochs))

    monkeypatch.setattr(tuning, "error_on", error)
    empty = tuning.Cases(np.zeros((0, 1)), np.zeros((0, 1)))
    nothing = tuning.FoldData(empty, empty, empty)
    settings = tuning.expand({"learning_rate": [0.1, 0.01]})
    schedule = Schedule(rungs=(2, 20), keep=0.5, patience=1, stop_by="error")
    found = tuning.tune_by_halving(Learner, settings, nothing, schedule, 0)
    assert found.params == {"learning_rate": 0.01}
    assert found.error == 0


class Guess:
    """Few labels wrong and sure of them, or at rate 1 many and unsure."""

    def __init__(self, learning_rate):
        self.unsure = learning_rate

    def set_params(self, unsure=None, stop_by=None, **others):
        self.unsure = self.unsure if unsure is None else unsure
        self.stop_by = stop_by
        return self

    def fit(self, X, Y, validation):
        pass

    def predict_proba(self, X):
        return np.full((len(X), 1), 0.51 if self.unsure == 1 else 0.0)

    def predict(self, X):
        return self.predict_proba(X) > 0.5


@pytest.mark.parametrize(("stop_by", "chosen"), [("error", 0), ("log_loss", 1)])
def test_settings_are_chosen_by_what_training_stops_by(stop_by, chosen):
    part = tuning.Cases(np.zeros((5, 1)), np.array([[0], [0], [0], [1], [1]]))
    parts = tuning.FoldData(part, part, part)
    schedule = Schedule(rungs=(1,), stop_by=stop_by)
    settings = tuning.expand({"learning_rate": [0, 1]})
    found = tuning.tune_by_halving(Guess, settings, parts, schedule, 0)
    assert found.params == {"learning_rate": chosen}
    assert found.classifier.stop_by == stop_by
    assert found.error == (0.6 if chosen else 0.4)
    read = tuning.choose_readout(
        found, tuning.expand({"unsure": [0, 1]}), parts, stop_by
    )
    assert read.params == {"learning_rate": chosen, "unsure": chosen}
    assert read.error == found.error
