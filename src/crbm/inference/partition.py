"""Log Z by the best method that an energy allows."""

from __future__ import annotations

from jaxtyping import Float
from torch import Generator, Tensor

from crbm.energies import Energy, is_pairwise
from crbm.inference import annealing, exact, loopy_bp
from crbm.inference.enumeration import is_enumerable


def log_partition(energy: Energy) -> Float[Tensor, " batch"]:
    """Log Z: exact where a layer has few states, otherwise an estimate.

    Bethe's for a pairwise energy, annealed importance sampling for others, with a fixed
    seed so that it repeats.

    Examples
    --------
    >>> import crbm, torch
    >>> energy = crbm.CRBM(4, 100, 2).condition(torch.ones(3, 4))
    >>> log_partition(energy).shape
    torch.Size([3])
    """
    if energy.is_independent:
        field = energy.independent_field()
        return energy.visible.log_partition(field, energy.known)
    if is_enumerable(energy):
        return exact.log_partition(energy)
    if is_pairwise(energy):
        return loopy_bp.log_partition(energy, loopy_bp.moments(energy))
    generator = Generator(energy.independent_field().device).manual_seed(0)
    return annealing.log_partition(
        energy, n_chains=32, n_steps=200, generator=generator
    ).value
