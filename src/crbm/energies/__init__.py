"""Energies: distributions over v with the input already absorbed."""

from crbm.energies.base import Energy
from crbm.energies.bipartite import BipartiteEnergy
from crbm.energies.blocks import BlockConditional, block_conditional
from crbm.energies.couplings import Conv2d, Coupling, Dense, PerCase, Windowed
from crbm.energies.functional import FunctionalEnergy
from crbm.energies.kinds import has_blocks, is_bipartite, is_pairwise
from crbm.energies.packed import PackedDense, pack_dense
from crbm.energies.pairwise import PairwiseEnergy

__all__ = [
    "BipartiteEnergy",
    "BlockConditional",
    "Conv2d",
    "Coupling",
    "Dense",
    "Energy",
    "FunctionalEnergy",
    "PackedDense",
    "PairwiseEnergy",
    "PerCase",
    "Windowed",
    "block_conditional",
    "has_blocks",
    "is_bipartite",
    "is_pairwise",
    "pack_dense",
]
