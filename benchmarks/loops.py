"""What the compiled loops of `crbm.kernels` save, beside torch's own operations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from benchmarks import growth
from benchmarks.timing import time_in_turns
from crbm import kernels, sampling
from crbm.energies import BipartiteEnergy, Dense, PairwiseEnergy
from crbm.inference import loopy_bp
from crbm.kernels import products

ROUNDS, N_CALLS = 15, 50
NOT_COMPILED = "Numba is not installed, so both are torch: pip install crbm[fast]."


def rows(say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Processor time on one thread with the loops and without them."""
    if not kernels.supports(torch.zeros(64, 64)):
        say(NOT_COMPILED)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [_row(name, work(), say) for name, work in WORKS.items()]
    finally:
        torch.set_num_threads(before)


def _row(
    name: str, work: Callable[[], object], say: Callable[[str], None]
) -> dict[str, Any]:
    say(f"{name} ...")

    def by_torch() -> None:
        with kernels.disabled():
            work()

    found = time_in_turns(by_torch, work, n_rounds=ROUNDS)
    return {
        "work": name,
        "ms": 1000 * found.other,
        "by torch ms": 1000 * found.one,
        "times faster": found.ratio,
    }


def _samples() -> Callable[[], object]:
    logits = torch.randn(128, 784, generator=torch.Generator().manual_seed(0))
    source = sampling.stream(torch.Generator().manual_seed(0), logits)
    return _often(lambda: sampling.from_logits(logits, source))


def _free_energies() -> Callable[[], object]:
    logits = torch.randn(128, 256, generator=torch.Generator().manual_seed(0))
    return _often(lambda: kernels.softplus_and_means(logits.clone()))


def _mostly_zeros() -> Callable[[], object]:
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(128, 784, generator=generator) < 0.15).float()
    weight, bias = torch.randn(784, 256, generator=generator), torch.zeros(256)
    return _often(lambda: products.affine(x, weight, bias))


def _beliefs() -> Callable[[], object]:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(14, 14, generator=generator).triu(1)
    field = torch.randn(128, 14, generator=generator)
    energy = PairwiseEnergy(weight + weight.T, field)
    return lambda: loopy_bp.run(energy, n_steps=50)


def _beliefs_of_two_sides() -> Callable[[], object]:
    generator = torch.Generator().manual_seed(0)
    sizes = (14, 128), (128, 14), (128, 128)
    weight, visible, hidden = (torch.randn(s, generator=generator) for s in sizes)
    energy = BipartiteEnergy(Dense(weight), visible, hidden)
    return lambda: loopy_bp.run(energy, n_steps=10)


def _often(work: Callable[[], object]) -> Callable[[], object]:
    def calls() -> None:
        for _ in range(N_CALLS):
            work()

    return calls


WORKS: dict[str, Callable[[], Callable[[], object]]] = {
    f"samples of 128 x 784, {N_CALLS} times": _samples,
    f"softplus and means of 128 x 256, {N_CALLS} times": _free_energies,
    f"128 x 784, 15 % not zero, times 784 x 256, {N_CALLS} times": _mostly_zeros,
    "loopy BP, 50 rounds, 14 units x 128 cases": _beliefs,
    "loopy BP, 10 rounds, 14 x 128 units x 128 cases": _beliefs_of_two_sides,
    **{
        f"{axis.cost}, {axis.sizes[0]} {axis.against}": partial(
            axis.work, axis.sizes[0]
        )
        for axis in growth.AXES
        if axis.against in ("examples", "label sets")
    },
}
