"""How many threads an update is worth: small ones run best on one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from crbm import checks
from crbm.models import EnergyModel

# Below this many multiplications per update the threads wait for each other longer than
# they work: on a busy machine two threads made small batches ten times slower.
WORTH_SHARING = 10_000_000


@contextmanager
def suited_threads(
    model: EnergyModel, batch_size: int, n_threads: int | None = None
) -> Iterator[None]:
    """Run a block with as many threads as its work deserves, then set them back.

    Parameters
    ----------
    model, batch_size
        What is computed at once.
    n_threads
        Overrides the choice.
    """
    if n_threads is not None:
        checks.whole_number("n_threads", n_threads, at_least=1)
    before = torch.get_num_threads()
    work = batch_size * sum(parameter.numel() for parameter in model.parameters())
    chosen = n_threads or (before if work >= WORTH_SHARING else 1)
    if chosen == before:
        yield
        return
    torch.set_num_threads(chosen)
    try:
        yield
    finally:
        torch.set_num_threads(before)
