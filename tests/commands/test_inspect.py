"""`crbm inspect`: the description of a model file, label couplings and drawings."""

import numpy as np
import pytest

import crbm
from crbm import datasets
from crbm.commands import inspect, train
from planted import copied_patterns


def test_kind_sizes_labels_and_training(trained, pets):
    found = inspect.run(trained)
    assert found["kind"] == "HashCRBMClassifier"
    assert (found["n_features"], found["n_labels"], found["n_hidden"]) == (4, 6, 32)
    assert found["label_names"] == list(pets.label_names)
    assert found["trained_on"].items() >= {"name": "pets", "n_cases": 120}.items()
    assert found["trained_on"]["part"] == "all"
    assert found["settings"]["learning_rate"] == 0.1
    assert found["training"][0]["epochs"] == 40
    assert found["training"][0]["last_loss"] < found["training"][0]["first_loss"]
    assert 0 < found["candidate_recall"] <= 1
    assert "torch" in found["versions"]


COUPLED = [
    crbm.CRFClassifier(n_steps=5),
    crbm.CRBMClassifier(n_hidden=4, objective="exact", init_scale=0.5),
]


@pytest.mark.parametrize("classifier", COUPLED)
def test_labels_that_go_together_attract_and_others_exclude(classifier):
    """Without inputs to explain them, labels of one pattern hold each other."""
    one = copied_patterns(60).v.numpy()[:, :1]
    Y, nothing = np.hstack([one, one, 1 - one]), np.zeros((60, 1))
    classifier.set_params(n_epochs=30, learning_rate=1.0, random_state=0)
    strength = inspect.label_couplings(classifier.fit(nothing, Y))
    assert strength[0, 1] > 1
    assert strength[0, 2] < -1
    assert np.allclose(strength, strength.T)


def test_the_strongest_pairs_come_first():
    strength = np.array([[0, 3, -1.0], [3, 0, 2], [-1, 2, 0]])
    found = inspect.strongest_pairs(strength, ["a", "b", "c"], 2)
    assert found["attract"] == [("a", "b", 3.0), ("b", "c", 2.0)]
    assert found["exclude"] == [("a", "c", -1.0)]


def test_couplings_are_drawn_with_names(trained, tmp_path):
    inspect.run(trained, draw=tmp_path / "couplings.svg")
    assert "log odds ratio" in (tmp_path / "couplings.svg").read_text()


def test_filters_of_image_models_are_drawn(tmp_path):
    digits = np.eye(16, dtype=np.uint8)
    data = datasets.Dataset(X=digits, Y=digits, output_shape=(4, 4))
    model = crbm.CRBMClassifier(n_hidden=3, n_epochs=1, random_state=0)
    train.fit(model, data)
    model.save(tmp_path / "m.safetensors")
    inspect.run(tmp_path / "m.safetensors", draw=tmp_path / "f.svg")
    assert "3 strongest of 3 hidden units" in (tmp_path / "f.svg").read_text()


def test_independent_labels_have_nothing_to_draw(pets, tmp_path):
    model = crbm.LogisticClassifier(n_epochs=1, random_state=0)
    train.fit(model, pets)
    model.save(tmp_path / "m.safetensors")
    assert "attract" not in inspect.run(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="nothing to draw: a LogisticClassifier"):
        inspect.run(tmp_path / "m.safetensors", draw=tmp_path / "f.png")
