"""Time training steps against the bare matrix products that they consist of.

A ratio can be below one, because the kernels skip products with zeros, and because
other products are left to oneDNN where it is faster than torch's own. Where it is, the
second ratio is to the same products by oneDNN.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import torch

from benchmarks.timing import time_in_turns
from crbm import training
from crbm.inference import mean_field
from crbm.kernels import onednn
from crbm.models import CRBM, EnergyModel
from crbm.objectives import ContrastiveDivergence, Objective, Perceptron
from crbm.types import Batch

N_PIXELS, N_HIDDEN, BATCH = 784, 256, 128
N_BATCHES = 12
N_EPOCHS = 4  # per timed call of `fit`, so that its checks of the data weigh little
ROUNDS = 9
# Share of the pixels that are 1: as in digits, and half.
SHARES_ON = (0.15, 0.5)
# Each objective with its number of products v W_vh and h W_hv: one per visited state;
# the search of CD-PercLoss needs one more for its start.
OBJECTIVES: dict[str, tuple[Objective, int, int]] = {
    "CD-1": (ContrastiveDivergence(1), 2, 1),
    "CD-10": (ContrastiveDivergence(10), 11, 10),
    "CD-PercLoss-10": (Perceptron(10), 12, 10),
}


def rows(echo: Callable[[str], None]) -> list[dict[str, Any]]:
    """Time of a step of `training.fit`, and its ratio to the time of its products."""
    names = (*OBJECTIVES, "mean field 10")
    results = []
    for share, n_threads, name in product(SHARES_ON, (1, 2), names):
        echo(f"{name}, {100 * share:g} % of pixels on, {n_threads} thread(s) ...")
        results.append(_row(name, share, n_threads))
    return results


def gpu_rows(echo: Callable[[str], None], device: str = "cuda") -> list[dict[str, Any]]:
    """The same on a GPU."""
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "`--suite gpu` needs a GPU that torch can use, and there is none. Install "
            "torch for CUDA or ROCm, or measure the processor with `--suite floor`."
        )
    results = []
    for share, name in product(SHARES_ON, (*OBJECTIVES, "mean field 10")):
        echo(f"{name}, {100 * share:g} % of pixels on, {device} ...")
        row = _row(name, share, torch.get_num_threads(), device)
        del row["threads"], row["ratio to oneDNN"]
        row["device"] = torch.cuda.get_device_name() if device == "cuda" else device
        results.append(row)
    return results


def _row(
    name: str, share: float, n_threads: int, device: str = "cpu"
) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    data = Batch(*(images(share, generator).to(device) for _ in range(2)))
    model = CRBM(N_PIXELS, N_PIXELS, N_HIDDEN, generator).to(device)
    if device != "cpu":
        generator = torch.Generator(device).manual_seed(0)
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        if name in OBJECTIVES:
            objective, n_up, n_down = OBJECTIVES[name]
            step = training_epochs(model, objective, data, n_threads, generator)
            floor = partial(_products, model, data, n_up, n_down, n_gradients=2)
        else:
            step = _prediction(model, data)
            floor = partial(_products, model, data, 10, 10, n_gradients=0)
        clock = time.process_time if n_threads == 1 else time.perf_counter
        if device == "cuda":
            clock = _gpu_clock
        time_beside = partial(time_in_turns, n_rounds=ROUNDS, clock=clock)
        times = time_beside(step, floor())
        by_onednn = None
        if device == "cpu" and onednn.is_faster():
            by_onednn = time_beside(step, floor(multiply=_multiply_by_onednn)).ratio
    finally:
        torch.set_num_threads(before)
    return {
        "step": name,
        "pixels on": share,
        "threads": n_threads,
        "ms": 1000 * times.one / (N_BATCHES * N_EPOCHS),
        "bare products ms": 1000 * times.other / (N_BATCHES * N_EPOCHS),
        "ratio": times.ratio,
        "ratio to oneDNN": by_onednn,
    }


def _gpu_clock() -> float:
    """The time when the GPU has done all that it was given."""
    torch.cuda.synchronize()
    return time.perf_counter()


def images(share: float, generator: torch.Generator) -> torch.Tensor:
    """Random images with this share of ones."""
    uniform = torch.rand(N_BATCHES * BATCH, N_PIXELS, generator=generator)
    return (uniform < share).float()


def training_epochs(
    model: EnergyModel,
    objective: Objective,
    data: Batch,
    n_threads: int,
    generator: torch.Generator,
) -> Callable[[], None]:
    """A function that trains for `N_EPOCHS`."""

    def epochs() -> None:
        training.fit(
            model,
            objective,
            data,
            n_epochs=N_EPOCHS,
            batch_size=BATCH,
            learning_rate=2**-10,
            generator=generator,
            n_threads=n_threads,
        )

    return epochs


def _prediction(model: CRBM, data: Batch) -> Callable[[], None]:
    @torch.no_grad()
    def all_batches() -> None:
        for cases in torch.arange(data.n_cases).split(BATCH) * N_EPOCHS:
            batch = data.select(cases)
            assert batch.u is not None
            mean_field.run(model.condition(batch.u), n_steps=10)

    return all_batches


def _multiply(x: torch.Tensor, y: torch.Tensor, into: torch.Tensor) -> None:
    torch.mm(x, y, out=into)


def _multiply_by_onednn(x: torch.Tensor, y: torch.Tensor, into: torch.Tensor) -> None:
    onednn.transposed_product(x.T, y)


def _products(
    model: CRBM,
    data: Batch,
    n_up: int,
    n_down: int,
    *,
    n_gradients: int,
    multiply: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None] = _multiply,
) -> Callable[[], None]:
    """Only the float32 matrix products of all steps."""
    assert data.u is not None
    u, v = data.u[:BATCH], data.v[:BATCH]
    h = torch.rand(BATCH, N_HIDDEN).to(v)
    weight_vh, weight_uv, weight_uh = (
        w.detach()
        for w in (model.weight_vh, model.weight_uv, model.weight_uh)
        if w is not None
    )
    visible, hidden = torch.empty_like(v), torch.empty_like(h)
    slope_vh, slope_uv = torch.empty_like(weight_vh), torch.empty_like(weight_uv)

    def all_batches() -> None:
        for _ in range(N_BATCHES * N_EPOCHS):
            multiply(u, weight_uv, visible)
            multiply(u, weight_uh, hidden)
            for _ in range(n_up):
                multiply(v, weight_vh, hidden)
            for _ in range(n_down):
                multiply(h, weight_vh.T, visible)
            for _ in range(n_gradients):
                multiply(v.T, h, slope_vh)
            if n_gradients:
                multiply(u.T, v, slope_uv)
                multiply(u.T, h, slope_vh)

    return all_batches
