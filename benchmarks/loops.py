"""Time the compiled kernels of `crbm.kernels` against torch's operations."""

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
NOT_COMPILED = (
    "Numba is not installed, so torch is compared with itself. "
    "Install it with `pip install crbm[fast]`."
)


def rows(echo: Callable[[str], None]) -> list[dict[str, Any]]:
    """Processor time on one thread, with and without the compiled kernels."""
    if not kernels.supports(torch.zeros(64, 64)):
        echo(NOT_COMPILED)
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [_row(name, work(), echo) for name, work in WORKS.items()]
    finally:
        torch.set_num_threads(n_threads)


def _row(
    name: str, work: Callable[[], object], echo: Callable[[str], None]
) -> dict[str, Any]:
    echo(f"{name} ...")

    def by_torch() -> None:
        with kernels.disabled():
            work()

    times = time_in_turns(by_torch, work, n_rounds=ROUNDS)
    return {
        "work": name,
        "ms": 1000 * times.other,
        "by torch ms": 1000 * times.one,
        "times faster": times.ratio,
    }


def _samples() -> Callable[[], object]:
    logits = torch.randn(128, 784, generator=torch.Generator().manual_seed(0))
    source = sampling.stream(torch.Generator().manual_seed(0), logits)
    return _repeat(lambda: sampling.from_logits(logits, source))


def _free_energies() -> Callable[[], object]:
    logits = torch.randn(128, 256, generator=torch.Generator().manual_seed(0))
    return _repeat(lambda: kernels.softplus_and_means(logits.clone()))


def _sparse_product() -> Callable[[], object]:
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(128, 784, generator=generator) < 0.15).float()
    weight, bias = torch.randn(784, 256, generator=generator), torch.zeros(256)
    return _repeat(lambda: products.affine(x, weight, bias))


def _pairwise_bp() -> Callable[[], object]:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(14, 14, generator=generator).triu(1)
    field = torch.randn(128, 14, generator=generator)
    energy = PairwiseEnergy(weight + weight.T, field)
    return lambda: loopy_bp.run(energy, n_steps=50)


def _bipartite_bp() -> Callable[[], object]:
    generator = torch.Generator().manual_seed(0)
    sizes = (14, 128), (128, 14), (128, 128)
    weight, visible, hidden = (torch.randn(s, generator=generator) for s in sizes)
    energy = BipartiteEnergy(Dense(weight), visible, hidden)
    return lambda: loopy_bp.run(energy, n_steps=10)


def _repeat(work: Callable[[], object]) -> Callable[[], object]:
    def calls() -> None:
        for _ in range(N_CALLS):
            work()

    return calls


WORKS: dict[str, Callable[[], Callable[[], object]]] = {
    f"samples of 128 x 784, {N_CALLS} times": _samples,
    f"softplus and means of 128 x 256, {N_CALLS} times": _free_energies,
    f"128 x 784, 15 % not zero, times 784 x 256, {N_CALLS} times": _sparse_product,
    "loopy BP, 50 rounds, 14 units x 128 cases": _pairwise_bp,
    "loopy BP, 10 rounds, 14 x 128 units x 128 cases": _bipartite_bp,
    **{
        f"{axis.cost}, {axis.sizes[0]} {axis.against}": partial(
            axis.work, axis.sizes[0]
        )
        for axis in growth.AXES
        if axis.against in ("cases", "label sets")
    },
}
