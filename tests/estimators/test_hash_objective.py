"""HashCRBMClassifier by max margin over V(u)."""

import numpy as np
import pytest
import torch

import crbm
from crbm import metrics
from crbm.objectives import MaxMargin
from crbm.types import Batch


@pytest.fixture
def table():
    """Three labels of which the third is the exclusive or of the others."""
    X = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    first, second = X[:, 0] > 0, X[:, 1] > 0
    return X, np.stack([first, second, first ^ second], 1).astype(int)


def fitted(table, **parameters):
    return crbm.HashCRBMClassifier(
        objective="max_margin",
        n_hidden=16,
        init_scale=0.3,
        n_epochs=30,
        learning_rate=0.1,
        radius=None,
        base_measure="uniform",
        prediction="mode",
        random_state=0,
        **parameters,
    ).fit(*table)


def test_max_margin_learns_dependent_labels(table, tmp_path):
    classifier = fitted(table)
    predicted = classifier.predict(table[0])
    assert metrics.hamming_error(table[1], predicted) < 0.1
    classifier.save(tmp_path / "margin.safetensors")
    loaded = crbm.load(tmp_path / "margin.safetensors")
    assert loaded.objective == "max_margin"
    assert (loaded.predict(table[0]) == predicted).all()


def test_its_loss_is_the_largest_violation_over_the_candidates(table):
    classifier = fitted(table)
    X, Y = (torch.as_tensor(part[:20]).float() for part in table)
    batch = classifier._with_candidates(Batch(X, Y)).select(slice(0, 20))
    energy = classifier.models_[0].condition(X)
    found = MaxMargin()(energy, batch).loss.tolist()
    sets = classifier.label_sets_.float()
    for case, (x, y) in enumerate(zip(X, Y, strict=True)):
        free = classifier.models_[0].condition(x[None]).free_energy
        gaps = [
            (one != y).sum() + free(y[None]).item() - free(one[None]).item()
            for one in sets
        ]
        assert found[case] == pytest.approx(max(0.0, *map(float, gaps)), abs=1e-4)


def test_costs_reach_the_objective(table):
    plain = fitted(table).predict(table[0])
    params = {"costs": [1.0, 1.0, 1.0], "missed": 50.0, "margin": 5.0}
    careful = fitted(table, objective_params=params).predict(table[0])
    assert careful.sum() > plain.sum()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"objective": "perceptron"}, "`objective` must be one of"),
        ({"objective_params": {"n_steps": 1}}, "has no `n_steps` here; use none"),
    ],
)
def test_wrong_objectives_are_refused(table, parameters, message):
    with pytest.raises(ValueError, match=message):
        crbm.HashCRBMClassifier(**parameters).fit(*table)
