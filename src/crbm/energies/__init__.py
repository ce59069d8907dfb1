"""Energies: distributions over v with the input already absorbed."""

from crbm.energies.base import Energy
from crbm.energies.bipartite import BipartiteEnergy
from crbm.energies.functional import FunctionalEnergy
from crbm.energies.pairwise import PairwiseEnergy

__all__ = ["BipartiteEnergy", "Energy", "FunctionalEnergy", "PairwiseEnergy"]
