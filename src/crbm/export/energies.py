"""Energies conditioned on the inputs, and inference in them, as ONNX nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from crbm.export.graph import Value, concatenate, where
from crbm.inference.enumeration import layer_states
from crbm.inference.loopy_bp import Couplings
from crbm.models import CRBM, CRF
from crbm.units import BERNOULLI, Categorical, Units

# All states of one layer are enumerated up to this many.
MOST_STATES = 2**14
# Numbers per case in the largest temporary of the free energies of a table.
LARGEST_TABLE = 2**14


@dataclass(frozen=True)
class Bipartite:
    """The energy of a CRBM whose input is in the biases, one row per case.

    Parameters
    ----------
    visible_bias, hidden_bias
        The fields that the units receive from u; the latter None without hidden units.
    weight
        Of visible and hidden units.
    units
        The kind of visible units.
    starts_from_input
        Whether a search starts at the means given u alone.
    """

    visible_bias: Value
    hidden_bias: Value | None
    weight: np.ndarray
    units: Units
    starts_from_input: bool

    @classmethod
    def of(cls, model: nn.Module, u: Value) -> Bipartite:
        """A model conditioned on inputs."""
        assert isinstance(model, CRBM)
        hidden = None
        if model.n_hidden:
            hidden = _affine(u, model.weight_uh, model.bias_h)
        return cls(
            _affine(u, model.weight_uv, model.bias_v),
            hidden,
            array(model.weight_vh),
            model.visible,
            model.weight_uv is not None,
        )

    @property
    def n_visible(self) -> int:
        """The number of outputs."""
        return len(self.weight)

    def visible_mean(self, field: Value) -> Value:
        """E[v] given the field of the visible units."""
        parts, start = [], 0
        for kind, size in self.units.layer(self.n_visible):
            own = field
            if size != self.n_visible:
                own = field.columns(start, start + size)
            parts.append(_mean(kind, own))
            start += size
        return concatenate(parts, 1)

    def start(self) -> Value:
        """Where a search starts."""
        field = self.visible_bias
        return self.visible_mean(field if self.starts_from_input else field * 0)

    def step(self, v: Value) -> Value:
        """The means after one update of all units."""
        if self.hidden_bias is None:
            return self.visible_mean(self.visible_bias)
        h = (v @ self.weight + self.hidden_bias).sigmoid()
        return self.visible_mean(h @ self.weight.T + self.visible_bias)

    def free_energy(self, v: Value) -> Value:
        """F(v) of one state per case, as a column."""
        found = (v * self.visible_bias).sum(1, keep=True)
        if self.hidden_bias is not None:
            field = v @ self.weight + self.hidden_bias
            found = found + field.softplus().sum(1, keep=True)
        return -found

    def scores(self, table: np.ndarray) -> Value:
        """-F of each row of a table of states, (cases, rows)."""
        found = self.visible_bias @ table.T
        if self.hidden_bias is None:
            return found
        of_rows = table @ self.weight
        width = max(1, LARGEST_TABLE // len(table))
        n_hidden = self.weight.shape[1]
        for start in range(0, n_hidden, width):
            stop = min(start + width, n_hidden)
            own = self.hidden_bias
            if width < n_hidden:
                own = own.columns(start, stop)
            field = own.expand_dims(1) + of_rows[None, :, start:stop]
            found = found + field.softplus().sum(2)
        return found


def mean_field(energy: Bipartite, n_steps: int = 10) -> Value:
    """The means after `n_steps` updates."""
    v = energy.start()
    for _ in range(n_steps):
        v = energy.step(v)
    return v


def search(energy: Bipartite, n_steps: int = 10) -> Value:
    """The mean-field state of the lowest free energy."""
    best = v = energy.step(energy.start())
    lowest = energy.free_energy(best)
    for _ in range(n_steps - 1):
        v = energy.step(v)
        found = energy.free_energy(v)
        better = found < lowest
        best, lowest = where(better, v, best), where(better, found, lowest)
    return best


def exact(energy: Bipartite) -> Value:
    """The marginals, by enumerating the layer with fewer states."""
    if energy.hidden_bias is None:
        return energy.visible_mean(energy.visible_bias)
    n_hidden = energy.weight.shape[1]
    like = torch.from_numpy(energy.weight[:0])
    if n_hidden < energy.units.n_bits(energy.n_visible):
        _check_enumerable(n_hidden)
        return _over_hidden(energy, array(layer_states(BERNOULLI, n_hidden, like=like)))
    _check_enumerable(energy.units.n_bits(energy.n_visible))
    states = array(layer_states(energy.units, energy.n_visible, like=like))
    return (energy.scores(states).softmax() @ states).clip(0, 1)


def _over_hidden(energy: Bipartite, states: np.ndarray) -> Value:
    """The mean over p(h) of E[v | h]."""
    assert energy.hidden_bias is not None
    score, start, means = energy.hidden_bias @ states.T, 0, []
    for kind, size in energy.units.layer(energy.n_visible):
        own = slice(start, start + size)
        field = energy.visible_bias.columns(start, start + size).expand_dims(1)
        field = field + (states @ energy.weight[own].T)[None]
        means.append(_mean(kind, field))
        score = score + _log_partition(kind, field)
        start += size
    weight = score.softmax().expand_dims(1)
    return (weight @ concatenate(means, 2)).reshape(0, energy.n_visible).clip(0, 1)


def belief_propagation(
    energy: Bipartite, n_steps: int = 50, damping: float = 0.3
) -> Value:
    """Beliefs of loopy belief propagation between visible and hidden units."""
    if energy.units != BERNOULLI:
        raise ValueError("Belief propagation is written for binary units.")
    field, weight = energy.visible_bias, energy.weight
    if energy.hidden_bias is None:
        return field.sigmoid()
    message = Message(weight)
    to_hidden = to_visible = None
    total = field
    for _ in range(n_steps):
        cavity = total.expand_dims(2) - (0 if to_visible is None else to_visible)
        to_hidden = _damp(message(cavity), to_hidden, damping)
        hidden_total = energy.hidden_bias + to_hidden.sum(1)
        new = message(hidden_total.expand_dims(1) - to_hidden)
        to_visible = _damp(new, to_visible, damping)
        total = field + to_visible.sum(2)
    return total.sigmoid()


def pairwise_beliefs(model: nn.Module, u: Value, n_steps: int, damping: float) -> Value:
    """Beliefs of loopy belief propagation among the outputs of a CRF."""
    assert isinstance(model, CRF)
    field = _affine(u, model.weight_uv, model.bias_v)
    message, messages, total = Message(array(model.couplings())), None, field
    for _ in range(n_steps):
        cavity = total.expand_dims(2)
        cavity = cavity - (0 if messages is None else messages.transpose(0, 2, 1))
        messages = _damp(message(cavity), messages, damping)
        total = field + messages.sum(1)
    return total.sigmoid()


class Message:
    """What a unit passes on along its couplings, from its log-odds without the reply.

    Parameters
    ----------
    weight
        The couplings, (from, to).
    """

    def __init__(self, weight: np.ndarray) -> None:
        parts = Couplings.of(torch.from_numpy(weight))
        self.sign, self.below, self.growth = (part.numpy() for part in parts)

    def __call__(self, cavity: Value) -> Value:
        share = (cavity * self.sign).sigmoid()
        return (1 + share * self.growth).log() + self.below


def array(values: Tensor) -> np.ndarray:
    """A tensor of a model as an array."""
    return values.detach().numpy()


def _affine(u: Value, weight: Tensor | None, bias: Tensor) -> Value:
    if weight is None:
        zeros = np.zeros((1, len(bias)), dtype=array(bias).dtype)
        return (u.columns(0, 1) * 0) @ zeros + array(bias)
    return u @ array(weight) + array(bias)


def _damp(new: Value, old: Value | None, damping: float) -> Value:
    if not damping:
        return new
    kept = new * (1 - damping)
    return kept if old is None else kept + old * damping


def _mean(kind: Units, field: Value) -> Value:
    """E[s] of units of one kind, along the last axis."""
    if kind == BERNOULLI:
        return field.sigmoid()
    if not isinstance(kind, Categorical):
        raise ValueError(f"Outputs of the kind {kind!r} have no ONNX form.")
    return (
        _groups(kind, field)
        .softmax()
        .node("Reshape", field.node("Shape", dtype="int64"))
    )


def _log_partition(kind: Units, field: Value) -> Value:
    """Log of the sum of e^(s . field), over the last axis."""
    if kind == BERNOULLI:
        return field.softplus().sum(2)
    assert isinstance(kind, Categorical)
    groups = _groups(kind, field)
    highest = groups.max(-1, keep=True)
    each = (groups - highest).exp().sum(-1, keep=True).log() + highest
    return each.sum(-2, -1)


def _groups(kind: Categorical, field: Value) -> Value:
    """The numbers of each unit along an axis of their own."""
    graph = field.graph
    ahead = field.node("Shape", dtype="int64", end=-1)
    shape = ahead.node("Concat", graph.constant([-1, kind.n_values], "int64"), axis=0)
    return field.node("Reshape", shape)


def _check_enumerable(n_bits: float) -> None:
    if n_bits > math.log2(MOST_STATES):
        raise ValueError(
            f"Exact marginals sum over 2^{n_bits:.0f} states here; an ONNX model holds "
            f'at most {MOST_STATES}. Set `inference` to "mean_field".'
        )
