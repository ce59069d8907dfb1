"""Digits of which some quadrants are seen, completed by an RBM that these condition.

A network of one hidden layer computes from the visible pixels the biases of the other
pixels and of binary hidden units. Without hidden units it labels pixels one by one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor, nn

import crbm
from crbm import metrics, objectives, sampling, training
from crbm.energies import BipartiteEnergy, Energy
from crbm.inference import annealing, gibbs, search
from crbm.types import Batch
from paper.engine.store import Outcome
from paper.tables.denoising import load_digits

SIDE, HALF = 28, 14
CORNERS = ((HALF, 0), (0, 0), (HALF, HALF))  # in the order of Sohn et al. (2015)
N_SCORED, N_CHAINS, N_TEMPERATURES = 500, 10, 2000
N_GIBBS = 1000  # steps for the likeliest label of each pixel
PIECE = 250  # digits at once


def run(n_visible: int, config: dict[str, Any], seed: int) -> Outcome:
    """Train on the digits whose first `n_visible` quadrants are seen, and test."""
    train, test = load(n_visible, quick=config["quick"])
    model, loss = fit(train, config, seed)
    outcome = measure(model, test, quick=config["quick"])
    details = {
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "n_train": train.n_cases,
        "loss": loss,
        **outcome.details,
    }
    return Outcome(outcome.metrics, details)


def load(n_visible: int, quick: bool, *, part: str = "test") -> tuple[Batch, Batch]:
    """Training digits and those of a part: visible and other pixels, binarised."""
    digits = load_digits("occluded", quick=quick)
    seen = torch.zeros(SIDE, SIDE, dtype=torch.bool)
    for top, left in CORNERS[:n_visible]:
        seen[top : top + HALF, left : left + HALF] = True
    seen = seen.flatten()

    def cut(pixels: Tensor) -> Batch:
        return Batch(pixels[:, seen], pixels[:, ~seen])

    return cut(digits.train.v), cut(getattr(digits, part).v)


def fit(
    train: Batch, config: dict[str, Any], seed: int
) -> tuple[crbm.NetworkCRBM, list[float]]:
    """The trained model and its loss per epoch."""
    assert train.u is not None
    n_seen, n_pixels, n_hidden = train.u.shape[1], train.v.shape[1], config["n_hidden"]
    generator = Generator().manual_seed(seed)
    network = make_network(n_seen, n_pixels, n_hidden, config["width"], generator)
    last = network[-1]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        share = (train.v.sum(0) + 1) / (train.n_cases + 2)
        last.bias[:n_pixels] = torch.logit(share)
    model = crbm.NetworkCRBM(network, n_pixels, n_hidden, generator)
    objective: objectives.Objective = objectives.ExactLikelihood()
    if n_hidden:
        objective = objectives.PersistentContrastiveDivergence(
            config["n_steps"], per_case=True
        )
    n_updates = -(-train.n_cases // config["batch_size"])
    history = training.fit(
        model,
        objective,
        train,
        n_epochs=config["n_epochs"],
        batch_size=config["batch_size"],
        learning_rate=config["learning_rate"],
        generator=generator,
        optimizer=partial(torch.optim.AdamW, weight_decay=0.0, fused=True),
        hooks=[training.OneCycleSchedule(n_updates)],
        n_threads=1,
    )
    return model, [loss for loss in history.loss if loss is not None]


def make_network(
    n_seen: int, n_pixels: int, n_hidden: int, width: int, generator: Generator
) -> nn.Sequential:
    """From visible pixels to biases, which begin near 0."""
    first, last = nn.Linear(n_seen, width), nn.Linear(width, n_pixels + n_hidden)
    with torch.no_grad():
        first.weight.normal_(0, n_seen**-0.5, generator=generator)
        last.weight.normal_(0, 0.01, generator=generator)
        first.bias.zero_()
        last.bias.zero_()
    return nn.Sequential(first, nn.ReLU(), last)


@torch.no_grad()
def measure(model: crbm.NetworkCRBM, test: Batch, *, quick: bool = False) -> Outcome:
    """-log p of the other pixels in nats, and errors of the likeliest ones.

    Log Z is exact without hidden units, otherwise estimated by annealed importance
    sampling, on the first `N_SCORED` digits.
    """
    n_scored = 100 if quick else N_SCORED
    few = test.select(slice(n_scored))
    scored = [
        score(model, few.select(slice(i, i + PIECE)), quick=quick)
        for i in range(0, n_scored, PIECE)
    ]
    nll, spread = (torch.cat(each) for each in zip(*scored, strict=True))
    energy = model.condition(test.u)
    marginals = mode = energy.independent_field().sigmoid()
    if model.n_hidden:
        mode = search.mean_field(energy, n_steps=10).v
        marginals = sampled_marginals(energy, mode, n_steps=20 if quick else N_GIBBS)
    truth = test.v.numpy() > 0.5
    return Outcome(
        {
            "nll": float(nll.mean()),
            "all": 100 * metrics.all_error(truth, marginals.numpy() > 0.5),
            "whole": 100 * metrics.whole_accuracy(truth, mode.numpy() > 0.5),
        },
        {
            "n_test": test.n_cases,
            "n_scored": n_scored,
            "standard_error_of_log_z": float(spread.mean()),
            "standard_error_of_nll": float(nll.std() / np.sqrt(n_scored)),
        },
    )


def sampled_marginals(energy: Energy, start: Tensor, n_steps: int) -> Tensor:
    """Means of the outputs along a Gibbs chain per case, without its first tenth.

    Mean field is no substitute: it settles on one way to complete a digit.
    """
    assert isinstance(energy, BipartiteEnergy)
    source = sampling.stream(Generator().manual_seed(0), start)
    v, total = (start > 0.5).to(start), torch.zeros_like(start)
    n_skipped = n_steps // 10
    for step in range(n_steps):
        state = gibbs.step(energy, v, source)
        v = state.v
        if step >= n_skipped:
            total += energy.visible_mean(state.h)
    return total / (n_steps - n_skipped)


def score(
    model: crbm.NetworkCRBM,
    part: Batch,
    *,
    quick: bool = False,
    n_temperatures: int = N_TEMPERATURES,
    n_chains: int = N_CHAINS,
) -> tuple[Tensor, Tensor]:
    """-log p of each digit's other pixels, and the standard error of its log Z."""
    energy = model.condition(part.u).detach()
    if not model.n_hidden:
        log_z = energy.visible.log_partition(energy.independent_field())
        return energy.free_energy(part.v) + log_z, torch.zeros(part.n_cases)
    estimate = annealing.log_partition(
        energy,
        n_chains=n_chains,
        n_steps=100 if quick else n_temperatures,
        generator=Generator().manual_seed(0),
    )
    return energy.free_energy(part.v) + estimate.value, estimate.standard_error
