"""Spectral hashing of inputs, and candidate outputs V(u) from similar inputs."""

from crbm.hashing.candidates import CandidateSets
from crbm.hashing.index import CodeIndex
from crbm.hashing.ragged import CandidateIds, Groups, Ragged
from crbm.hashing.spectral import SpectralHash
from crbm.types import Candidates

__all__ = [
    "CandidateIds",
    "CandidateSets",
    "Candidates",
    "CodeIndex",
    "Groups",
    "Ragged",
    "SpectralHash",
]
