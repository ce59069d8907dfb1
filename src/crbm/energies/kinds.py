"""Which algorithms an energy allows, by what it offers rather than by its class."""

from __future__ import annotations

from typing import TypeGuard

from crbm.energies.base import Energy
from crbm.energies.bipartite import BipartiteEnergy
from crbm.energies.couplings import Windowed
from crbm.energies.pairwise import PairwiseEnergy


def is_bipartite(energy: Energy) -> TypeGuard[BipartiteEnergy]:
    """Whether the outputs are independent given a layer of hidden units."""
    return energy.hidden is not None


def is_pairwise(energy: Energy) -> TypeGuard[PairwiseEnergy]:
    """Whether F is quadratic in the outputs."""
    return energy.weight_vv is not None


def has_blocks(energy: Energy) -> TypeGuard[BipartiteEnergy]:
    """Whether far outputs share no hidden unit, as in convolutional models."""
    return is_bipartite(energy) and isinstance(energy.coupling, Windowed)
