"""Classifiers of one's own, objects as parameters, and who sets which attribute."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import crbm
from crbm import objectives
from crbm.commands import inspect
from crbm.estimators import LabelSetClassifier, StructuredClassifier
from crbm.hashing import CandidateSets
from crbm.inference import couplings, exact, mean_field, search
from planted import copied_patterns

DATA = copied_patterns(80)
X, Y = DATA.u.numpy(), DATA.v.numpy()
QUICK = {"n_epochs": 2, "random_state": 0}


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkClassifier(StructuredClassifier):
    """What a user might write in a script."""

    n_units: int = 5

    def _new_model(self, n_inputs, generator):
        network = torch.nn.Sequential(
            torch.nn.Linear(n_inputs, self.n_units),
            torch.nn.ReLU(),
            torch.nn.Linear(self.n_units, self.n_labels_ + 3),
        )
        return crbm.NetworkCRBM(network, self.n_labels_, 3, generator)

    def _objective(self):
        return objectives.Perceptron(3)

    def _infer(self, energy, cases):
        return mean_field.run(energy)


def test_a_users_own_class_is_saved_and_loaded(tmp_path):
    fitted = NetworkClassifier(**QUICK, n_units=4).fit(X, Y)
    fitted.save(tmp_path / "own.safetensors")
    loaded = crbm.load(tmp_path / "own.safetensors")
    assert type(loaded) is NetworkClassifier
    assert loaded.get_params() == fitted.get_params()
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    top, again = (c.predict_top_k(X, k=2) for c in (fitted, loaded))
    assert np.array_equal(top.probability, again.probability)
    loaded.partial_fit(X, Y)  # weights that were loaded can be trained


def test_a_users_own_model_is_inspected(tmp_path):
    """Its model need not say how many inputs it has."""
    fitted = NetworkClassifier(**QUICK, preprocessing="standardise").fit(X, Y)
    fitted.save(tmp_path / "own.safetensors")
    assert inspect.run(tmp_path / "own.safetensors")["n_hidden"] == 3
    (model,) = fitted.models_
    energy = model.condition(torch.zeros(1, X.shape[1]))
    expected = couplings.run(energy.detach(), fitted.label_sets_[:200]).double()
    found = inspect.label_couplings(fitted)
    assert torch.allclose(torch.from_numpy(found), expected)


def test_a_class_that_is_not_imported_is_named(tmp_path, monkeypatch):
    NetworkClassifier(**QUICK).fit(X, Y).save(tmp_path / "own.safetensors")
    monkeypatch.delitem(LabelSetClassifier.registry, "NetworkClassifier")
    with pytest.raises(ValueError, match="`NetworkClassifier` is not known here"):
        crbm.load(tmp_path / "own.safetensors")


def test_every_class_of_the_library_registers_itself():
    from crbm.commands.train import MODELS

    assert {
        "logreg": crbm.LogisticClassifier,
        "crf": crbm.CRFClassifier,
        "crbm": crbm.CRBMClassifier,
        "hash-crbm": crbm.HashCRBMClassifier,
        "auto": crbm.AutoClassifier,
    } == MODELS


@pytest.mark.parametrize(
    ("objective", "inference", "named"),
    [
        (
            objectives.Perceptron(n_steps=5),
            partial(mean_field.run, n_steps=5),
            {
                "objective": "perceptron",
                "objective_params": {"n_steps": 5},
                "inference": "mean_field",
                "inference_params": {"n_steps": 5},
            },
        ),
        (
            objectives.ExactLikelihood(),
            exact.marginals,
            {"objective": "exact", "inference": "exact"},
        ),
        (
            objectives.ContrastiveDivergence(2),
            search.mean_field,
            {
                "objective": "cd",
                "objective_params": {"n_steps": 2},
                "inference": "search",
            },
        ),
    ],
)
def test_objects_and_names_mean_the_same(objective, inference, named, tmp_path):
    expected = crbm.CRBMClassifier(**QUICK, n_hidden=4, **named).fit(X, Y)
    by_object = crbm.CRBMClassifier(
        **QUICK, n_hidden=4, objective=objective, inference=inference
    )
    fitted = clone(by_object).fit(X, Y)
    assert np.array_equal(fitted.predict_proba(X), expected.predict_proba(X))
    fitted.save(tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    assert loaded.objective == objective
    assert np.array_equal(loaded.predict_proba(X), expected.predict_proba(X))


def test_objects_can_be_searched_over():
    grid = {"objective": [objectives.Perceptron(1), objectives.MaxMargin(2)]}
    search = GridSearchCV(crbm.CRBMClassifier(**QUICK, n_hidden=3), grid, cv=2)
    assert search.fit(X, Y).best_params_["objective"] in grid["objective"]


def test_wrong_objects_are_refused(tmp_path):
    with pytest.raises(TypeError, match="`objective` must be one of"):
        crbm.CRBMClassifier(objective=objectives.Perceptron).fit(X, Y)
    with pytest.raises(ValueError, match="`objective_params` goes with a name"):
        crbm.CRBMClassifier(
            objective=objectives.Perceptron(), objective_params={"n_steps": 3}
        ).fit(X, Y)
    own = crbm.CRBMClassifier(
        **QUICK, n_hidden=3, inference=lambda energy: mean_field.run(energy)
    ).fit(X, Y)
    with pytest.raises(ValueError, match="`inference` must be plain data"):
        own.save(tmp_path / "m.safetensors")


def test_the_index_of_candidates_is_fitted_once(monkeypatch):
    calls, fit = [], CandidateSets.fit

    def counting(self, *args, **options):
        calls.append(args)
        return fit(self, *args, **options)

    monkeypatch.setattr(CandidateSets, "fit", counting)
    fitted = crbm.HashCRBMClassifier(**QUICK, n_hidden=3).fit(X, Y)
    assert len(calls) == 1
    assert 0 <= fitted.candidate_recall_ <= 1
    assert len(calls) == 2
    assert fitted.candidate_recall_ == fitted.candidate_recall_
    assert len(calls) == 2


@pytest.mark.parametrize("kind", [crbm.CRBMClassifier, crbm.HashCRBMClassifier])
def test_energies_need_no_gradients_and_sets_are_integers(kind):
    fitted = kind(**QUICK, n_hidden=3).fit(X, Y)
    (energy,) = fitted.condition(X)
    tensors = (energy.weight, energy.visible_bias, energy.hidden_bias)
    assert not any(tensor.requires_grad for tensor in tensors)
    assert fitted.predict_top_k(X, k=2).labels.dtype == fitted.predict(X).dtype


def test_a_description_is_kept_in_the_file(tmp_path):
    fitted = crbm.LogisticClassifier(**QUICK).fit(X, Y)
    names = [f"label {place}" for place in range(Y.shape[1])]
    fitted.describe(
        label_names=names,
        trained_on={"name": "patterns"},
        examples=X[:2],
        output_shape=(2, 3),
    )
    fitted.save(tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    assert loaded.label_names_ == names
    assert loaded.trained_on_ == {"name": "patterns"}
    assert loaded.output_shape_ == (2, 3)
    assert np.array_equal(loaded.examples_, X[:2])


def test_a_file_that_claims_sizes_takes_no_memory_for_them(tmp_path):
    from crbm import persistence

    path = tmp_path / "m.safetensors"
    crbm.HashCRBMClassifier(**QUICK, n_hidden=3).fit(X, Y).save(path)
    tensors, described = persistence.read(path)
    described["fitted"]["n_features_in_"] = 10**12
    persistence.write(path, tensors, described)
    with pytest.raises(ValueError, match="does not hold a whole classifier"):
        crbm.load(path)
