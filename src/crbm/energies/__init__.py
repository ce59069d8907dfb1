"""Energies: distributions over v with the input already absorbed."""

from crbm.energies.base import Energy
from crbm.energies.bipartite import BipartiteEnergy
from crbm.energies.couplings import Conv2d, Coupling, Dense
from crbm.energies.functional import FunctionalEnergy
from crbm.energies.kinds import is_bipartite, is_pairwise
from crbm.energies.pairwise import PairwiseEnergy

__all__ = [
    "BipartiteEnergy",
    "Conv2d",
    "Coupling",
    "Dense",
    "Energy",
    "FunctionalEnergy",
    "PairwiseEnergy",
    "is_bipartite",
    "is_pairwise",
]
