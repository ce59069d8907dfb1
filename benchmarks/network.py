"""Time a training step of a `NetworkCRBM` against its parts.

The parts are a forward and backward pass of its network and a step of a `CRBM` of the
same size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks import floor
from benchmarks.timing import time_in_turns
from crbm.models import CRBM, NetworkCRBM
from crbm.types import Batch

N_FEATURES = 512
SHARE_ON = 0.15


def rows(echo: Callable[[str], None]) -> list[dict[str, Any]]:
    """Time of a step by each objective, and its ratio to that of its parts."""
    results = []
    for name in floor.OBJECTIVES:
        echo(f"{name}, network of {N_FEATURES} features, 1 thread(s) ...")
        results.append(_row(name))
    return results


def _row(name: str) -> dict[str, Any]:
    objective, _, _ = floor.OBJECTIVES[name]
    generator = torch.Generator().manual_seed(0)
    data = Batch(*(floor.images(SHARE_ON, generator) for _ in range(2)))
    network = _network()
    whole = NetworkCRBM(network, floor.N_PIXELS, floor.N_HIDDEN, generator)
    plain = CRBM(floor.N_PIXELS, floor.N_PIXELS, floor.N_HIDDEN, generator)
    step = floor.training_epochs(whole, objective, data, 1, generator)
    plain_step = floor.training_epochs(plain, objective, data, 1, generator)
    passes = _passes(network, data)

    def parts() -> None:
        plain_step()
        passes()

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        times = time_in_turns(step, parts, n_rounds=floor.ROUNDS)
    finally:
        torch.set_num_threads(before)
    n_steps = floor.N_BATCHES * floor.N_EPOCHS
    return {
        "step": name,
        "ms": 1000 * times.one / n_steps,
        "network and CRBM ms": 1000 * times.other / n_steps,
        "ratio": times.ratio,
    }


def _network() -> nn.Module:
    return nn.Sequential(
        nn.Linear(floor.N_PIXELS, N_FEATURES),
        nn.ReLU(),
        nn.Linear(N_FEATURES, floor.N_PIXELS + floor.N_HIDDEN),
    )


def _passes(network: nn.Module, data: Batch) -> Callable[[], None]:
    """Forward and backward passes over as many batches as the steps see."""
    assert data.u is not None
    batches = data.u.split(floor.BATCH)
    gradient = torch.rand(floor.BATCH, floor.N_PIXELS + floor.N_HIDDEN)

    def passes() -> None:
        for _ in range(floor.N_EPOCHS):
            for u in batches:
                torch.autograd.grad(network(u), list(network.parameters()), gradient)

    return passes
