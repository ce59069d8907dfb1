"""Gibbs sampling: in blocks where there are hidden units, else one unit at a time."""

from __future__ import annotations

from jaxtyping import Float
from torch import Generator, Tensor

from crbm import checks, sampling
from crbm.energies import Energy, is_bipartite
from crbm.sampling import Source
from crbm.types import ChainState


def run(
    energy: Energy,
    v: Float[Tensor, "*batch visible"],
    *,
    n_steps: int = 1,
    generator: Generator | None = None,
    cache: Tensor | None = None,
) -> ChainState:
    """The state of a Gibbs chain from `v` after `n_steps` steps.

    Parameters
    ----------
    energy
        Any energy; known outputs keep their value.
    v
        Where the chains start, one per row; means are allowed.
    n_steps
        The number of sweeps over all units.
    generator
        The source of randomness.
    cache
        That of `energy.evaluate(v)`, where it was called before.

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.RBM(n_visible=4, n_hidden=2).condition()
    >>> run(energy, torch.zeros(3, 4), n_steps=10).v.shape
    torch.Size([3, 4])
    """
    checks.whole_number("n_steps", n_steps, at_least=1)
    checks.columns("v", v, energy.n_visible, "output")
    source = sampling.stream(generator, v)
    state = step(energy, v, source, cache)
    for _ in range(n_steps - 1):
        state = step(energy, state.v, source)
    return state


def step(
    energy: Energy,
    v: Float[Tensor, "*batch visible"],
    generator: Source = None,
    cache: Tensor | None = None,
) -> ChainState:
    """One sweep that leaves p(v) unchanged."""
    if not is_bipartite(energy):
        return site_step(energy, v, generator)
    h = energy.sample_hidden(v, generator, cache)
    return ChainState(energy.sample_visible(h, generator), h)


def site_step(
    energy: Energy,
    v: Float[Tensor, "*batch visible"],
    generator: Source = None,
) -> ChainState:
    """One sweep of single-unit updates in order: all it needs is a free energy."""
    v = v.clone()
    for unit in range(energy.n_visible):
        v[..., unit] = sampling.from_logits(energy.flip_logits(v, unit), generator)
    return ChainState(v, v.new_empty(*v.shape[:-1], 0))
