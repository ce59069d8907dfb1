"""The candidates of a HashCRBM and the distribution over them, as ONNX nodes."""

from __future__ import annotations

import numpy as np
import torch

from crbm.estimators import HashCRBMClassifier
from crbm.export.energies import Bipartite
from crbm.export.graph import INT64, Value, mean, where
from crbm.hashing import CandidateSets
from crbm.hashing.spectral import DECIMALS, SpectralHash
from crbm.models import CRBM

# All of them are scored for each case.
MOST_SETS = 100_000


def set_probabilities(classifier: HashCRBMClassifier, u: Value) -> Value:
    """p(v | u) of every label set, 0 where it is not a candidate."""
    n_sets = len(classifier.sets_.packed_)
    if n_sets > MOST_SETS:
        raise ValueError(
            f"An ONNX model scores all label sets of each case, at most {MOST_SETS}; "
            f"this model has {n_sets}. Predict with crbm, or train on cases with fewer "
            "different label sets."
        )
    dtype = torch.from_numpy(np.empty(0, dtype=u.dtype))
    table = classifier._table(dtype)
    sets = table.dense().numpy()
    allowed = None
    if classifier.sets_.radius is not None:
        allowed = _allowed(classifier.sets_, u)
    found = []
    for model in classifier.models_:
        assert isinstance(model, CRBM)
        scores = Bipartite.of(model, u).scores(sets)
        if table.log_base is not None:
            scores = scores + table.log_base.numpy()
        if allowed is not None:
            scores = where(allowed, scores, -np.inf)
        found.append(scores.softmax())
    return mean(found)


def _allowed(sets: CandidateSets, u: Value) -> Value:
    """Which label sets are candidates of each case, (cases, sets)."""
    index = sets.index_.whole()
    shifts = np.arange(index.n_bits, dtype=np.uint64)[::-1]
    known = ((index.codes[:, None] >> shifts) & np.uint64(1)).astype(np.float32)
    code = _signs(sets.hash_, u)
    # the scalar product of codes as signs falls by 2 for each bit that differs
    distance = (sets.hash_.n_bits - code @ (2 * known - 1).T) / 2
    limit = distance.min(1, keep=True).maximum(float(sets.radius or 0))
    near = (distance <= limit).to(np.float32)
    outputs = index.outputs
    code_of_pair = np.repeat(np.arange(len(index.codes)), outputs.sizes)
    by_pair = near.take(code_of_pair, 1)
    nothing = near.columns(0, 1) @ np.zeros((1, len(sets.packed_)), dtype=np.float32)
    places = by_pair.node("Shape", dtype=INT64)
    ids = u.graph.constant(outputs.ids[None], INT64).node("Expand", places)
    found = nothing.node("ScatterElements", ids, by_pair, axis=1, reduction="max")
    return found > 0.5


def _signs(hashing: SpectralHash, u: Value) -> Value:
    """The code of each case, 1 for a bit that is set and -1 for one that is not."""
    u = u.to(np.float64)
    if not len(hashing.directions_):
        return (u.columns(0, 1) * 0) @ np.ones((1, hashing.n_bits)) - 1.0
    inside = (u @ hashing.components_.T - hashing.lower_).take(hashing.directions_, 1)
    phase = inside * (hashing.wave_numbers_ / hashing.extent_[hashing.directions_])
    rounded = (phase * 10.0**DECIMALS).node("Round") / 10.0**DECIMALS
    half_wave = (rounded + 0.5).node("Floor")
    odd = half_wave - 2 * (half_wave / 2).node("Floor")
    return (1 - 2 * odd).to(np.float32)
