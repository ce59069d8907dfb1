"""Inference: small functions from an energy to a named tuple."""

from crbm.inference import annealing, exact, gibbs, loopy_bp, mean_field, search

__all__ = ["annealing", "exact", "gibbs", "loopy_bp", "mean_field", "search"]
