"""Every objective with every model and unit, every inference with every energy.

A pair works, which means that it returns finite numbers of the right shape that agree
with what is known, or it refuses with a reason.
"""

import inspect

import pytest
import torch
from torch import nn

import crbm
from conftest import randomised, seeded
from crbm import inference, objectives
from crbm.inference import (
    annealing,
    couplings,
    diagnostics,
    exact,
    gibbs,
    loopy_bp,
    mean_field,
    partition,
    search,
    tempering,
)
from crbm.types import Batch, Candidates
from crbm.units import Bernoulli, Categorical, Gaussian

N_CASES, N_INPUTS, N_VISIBLE, N_HIDDEN = 3, 2, 6, 3
UNITS = {
    "bernoulli": Bernoulli(),
    "categorical": Categorical(3),
    "gaussian": Gaussian(),
}


class OwnEnergy(crbm.EnergyModel):
    """A user's model, given by its free energy alone."""

    n_visible = N_VISIBLE

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(N_INPUTS, N_VISIBLE).double())

    def free_energy(self, v, u):
        return -(v * (u @ self.weight)).sum(-1) - (v[:, 0] * v[:, 1])


def network(units):
    module = nn.Sequential(nn.Linear(N_INPUTS, 4), nn.Linear(4, N_VISIBLE + N_HIDDEN))
    return crbm.NetworkCRBM(module.double(), N_VISIBLE, N_HIDDEN, visible=units)


MODELS = {
    "crbm": lambda units: crbm.CRBM(
        N_INPUTS, N_VISIBLE, N_HIDDEN, visible=units, dtype=torch.float64
    ),
    "no hidden": lambda units: crbm.CRBM(
        N_INPUTS, N_VISIBLE, 0, visible=units, dtype=torch.float64
    ),
    "rbm": lambda units: crbm.RBM(
        N_VISIBLE, N_HIDDEN, visible=units, dtype=torch.float64
    ),
    "network": network,
    "conv": lambda units: crbm.ConvCRBM(1, 2, 3, visible=units, dtype=torch.float64),
}
BINARY_MODELS = {
    "crf": lambda: crbm.CRF(N_INPUTS, N_VISIBLE, dtype=torch.float64),
    "own": OwnEnergy,
}
PAIRS = [(m, u) for m in MODELS for u in UNITS] + [
    (m, "bernoulli") for m in BINARY_MODELS
]

OBJECTIVES = {
    "cd": objectives.ContrastiveDivergence(2),
    "pcd": objectives.PersistentContrastiveDivergence(2),
    "pcd per case": objectives.PersistentContrastiveDivergence(2, per_case=True),
    "perceptron": objectives.Perceptron(3),
    "exact perceptron": objectives.Perceptron(search="exact"),
    "constraints": objectives.ContrastiveConstraints(n_constraints=2, n_steps=2),
    "max margin": objectives.MaxMargin(3),
    "mean field": objectives.MeanFieldLikelihood(),
    "candidates": objectives.CandidateLikelihood(),
    "exact": objectives.ExactLikelihood(),
    "beliefs": objectives.BeliefLikelihood(5),
    "pseudo-likelihood": objectives.PseudoLikelihood(),
    "ratio matching": objectives.RatioMatching(n_blocks=3),
}


def refusal(objective, model, units):
    """What the pair must say, or None where it must work."""
    real, conditional = units == "gaussian", model != "rbm"
    if objective == "pcd" and conditional:
        return "Persistent chains need one distribution"
    if objective == "max margin" and real:
        return "no Hamming loss"
    if objective == "pseudo-likelihood" and real and model != "no hidden":
        return "needs outputs with a finite list of values"
    if objective == "ratio matching" and real:
        return "needs outputs with a finite list of values"
    if objective == "mean field" and model in BINARY_MODELS:
        return "needs a model with hidden units"
    if objective == "beliefs" and model != "crf":
        return "needs a CRF"
    return None


def make(model, units):
    build = BINARY_MODELS.get(model)
    return randomised(build() if build else MODELS[model](UNITS[units]), 0.3)


def cases(model, units, *, missing):
    """Inputs and outputs of some cases, the first output of the first one unknown."""
    kind = UNITS[units]
    n_numbers = N_VISIBLE if model != "conv" else 4 * kind.width
    v = kind.sample(torch.zeros(N_CASES, n_numbers).double(), seeded(1))
    if missing:
        v[0, : kind.width] = torch.nan
    if model == "rbm":
        return None, v
    shape = (N_CASES, 1, 2, 2) if model == "conv" else (N_CASES, N_INPUTS)
    return torch.randn(shape, dtype=torch.float64, generator=seeded(2)), v


def test_every_objective_is_in_the_table():
    classes = {
        cls
        for name, cls in vars(objectives).items()
        if inspect.isclass(cls) and name in objectives.__all__ and name != "Objective"
    }
    assert {type(objective) for objective in OBJECTIVES.values()} == classes


@pytest.mark.parametrize("missing", [False, True], ids=["known", "missing"])
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("model", "units"), PAIRS)
def test_objective_with_model(objective, model, units, missing):
    trained, (u, v) = make(model, units), cases(model, units, missing=missing)
    table = UNITS[units].sample(torch.zeros(5, v.shape[1]).double(), seeded(4))
    complete = torch.where(v.isnan(), table[0], v)
    batch = Batch(u, v, Candidates(torch.cat([complete, table])))
    rule, reason = OBJECTIVES[objective], refusal(objective, model, units)
    energy = trained.condition(u)
    if reason is not None:
        with pytest.raises((TypeError, ValueError), match=reason):
            rule(energy.detach(), batch, seeded(5))
        return
    contrast = rule(energy.detach(), batch, seeded(5))
    assert contrast.loss.shape == (N_CASES,)
    assert contrast.loss.isfinite().all()
    gradients = trained.gradients(u, contrast)
    assert all(gradient.isfinite().all() for gradient in gradients.values())
    assert any(gradient.abs().sum() > 0 for gradient in gradients.values())


INFERENCES = {
    "gibbs": lambda e: (
        gibbs.run(e, e.start(seeded(1)), n_steps=2, generator=seeded(2)).v
    ),
    "mean field": lambda e: mean_field.run(e, n_steps=3).v,
    "search by gibbs": lambda e: search.gibbs(e, n_steps=3, generator=seeded(2)).v,
    "search by mean field": lambda e: search.mean_field(e, n_steps=3).v,
    "exact marginals": lambda e: exact.marginals(e).v,
    "exact mode": lambda e: exact.mode(e).v,
    "loopy bp": lambda e: loopy_bp.run(e, n_steps=5).v,
    "annealing": lambda e: (
        annealing.log_partition(e, n_chains=5, n_steps=5, generator=seeded(2)).value
    ),
    "log partition": lambda e: partition.log_partition(e),
    "exact log partition": lambda e: exact.log_partition(e),
    "tempering": lambda e: (
        tempering.run(
            e, e.start(seeded(1)), n_steps=3, n_temperatures=3, generator=seeded(2)
        ).v
    ),
    "log partition by tempering": lambda e: (
        tempering.log_partition(
            e, n_chains=3, n_steps=3, n_warmup=1, n_temperatures=3, generator=seeded(2)
        ).value
    ),
    "diagnostics": lambda e: diagnostics.trace(
        e, n_chains=2, n_steps=4, n_warmup=1, generator=seeded(2)
    ).v[0, -1],
    "couplings": lambda e: couplings.run(e, e.start(seeded(1)).round()),
}
NUMBERS = (
    "annealing",
    "log partition",
    "exact log partition",
    "log partition by tempering",
)


def inference_refusal(name, model, units):
    real, binary = units == "gaussian", units == "bernoulli"
    if name == "exact mode" and real:
        return "no finite list of states"
    if name == "loopy bp" and model == "own":
        return "needs a pairwise or a bipartite energy"
    if name == "loopy bp" and not binary:
        return "written for binary units"
    if name == "loopy bp" and model == "conv":
        return "convolutional couplings"
    if name == "couplings" and not binary:
        return "pairs of binary outputs"
    return None


def test_every_inference_is_in_the_table():
    covered = " ".join(INFERENCES)
    for module in set(inference.__all__) - {"partition"}:
        assert module.replace("_", " ").split()[0] in covered


@pytest.mark.parametrize("clamped", [False, True], ids=["free", "clamped"])
@pytest.mark.parametrize("name", INFERENCES)
@pytest.mark.parametrize(("model", "units"), PAIRS)
def test_inference_with_energy(name, model, units, clamped):
    trained, (u, v) = make(model, units), cases(model, units, missing=False)
    with torch.no_grad():
        energy = trained.condition(u).expand(N_CASES)
    known = torch.full_like(v, torch.nan)
    width = UNITS[units].width
    known[1, :width] = v[1, :width]
    if clamped:
        energy = energy.clamp(known)
    reason = inference_refusal(name, model, units)
    if reason is not None:
        with pytest.raises(TypeError, match=reason):
            INFERENCES[name](energy)
        return
    found = INFERENCES[name](energy)
    assert found.isfinite().all()
    if name in NUMBERS:
        assert found.shape == (N_CASES,)
    elif name == "couplings":
        assert found.shape == (v.shape[1], v.shape[1])
    else:
        assert found.shape == v.shape
        if clamped:
            assert torch.equal(found[1, :width], v[1, :width])
