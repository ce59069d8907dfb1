"""Mean field: the best distribution in which all units are independent."""

from __future__ import annotations

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor

from crbm import checks
from crbm.energies import Energy, is_bipartite
from crbm.types import Marginals


def run(
    energy: Energy,
    *,
    n_steps: int = 10,
    v: Float[Tensor, "*batch visible"] | None = None,
) -> Marginals:
    """Mean-field marginals of v after `n_steps` steps.

    Parameters
    ----------
    energy
        Any energy; known outputs keep their value.
    n_steps
        The number of updates of all units.
    v
        Where to start; `energy.start()` unless given.

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.CRBM(4, 3, 2).condition(torch.ones(5, 4))
    >>> run(energy, n_steps=20).v.shape
    torch.Size([5, 3])
    """
    checks.whole_number("n_steps", n_steps, at_least=1)
    before = now = energy.start() if v is None else v
    for after in steps(energy, now, n_steps):
        before, now = now, after
    return Marginals(now, (now - before).abs().amax(-1))


def steps(
    energy: Energy, v: Float[Tensor, "*batch visible"], n_steps: int
) -> Iterator[Tensor]:
    """The means after each step."""
    for _ in range(n_steps):
        v = step(energy, v)
        yield v


def step(
    energy: Energy,
    v: Float[Tensor, "*batch visible"],
    cache: Tensor | None = None,
) -> Float[Tensor, "*batch visible"]:
    """The means after one update of all units.

    `cache` is that of `energy.evaluate(v)`, where it was called before.
    """
    if not is_bipartite(energy):
        return _sweep(energy, v)
    return energy.visible_mean(energy.hidden_mean(v, cache))


def log_partition_bound(
    energy: Energy, v: Float[Tensor, "*batch visible"]
) -> Float[Tensor, "*batch"]:
    """The lower bound on log Z that independent units with means `v` give.

    It holds for energies that are linear in each unit, as those of RBM, CRBM and CRF
    are; the hidden units take their best means given those of v.
    """
    return energy.visible.entropy(v) - energy.free_energy(v)


def _sweep(energy: Energy, v: Tensor) -> Tensor:
    # Units that are coupled directly oscillate when all move at once; in turn they
    # climb the bound.
    v = v.clone()
    for unit in range(energy.n_visible):
        v[..., unit] = energy.flip_logits(v, unit).sigmoid()
    return v
