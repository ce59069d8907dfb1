"""Brute-force answers in plain Python; nothing here comes from `src`.

A model is read through its parameters only, and every quantity is a loop over all
binary vectors. Slow and obvious on purpose.
"""

from __future__ import annotations

import itertools
import math


def bits(n):
    """All binary vectors of length n, in counting order."""
    return [list(map(float, state)) for state in itertools.product((0, 1), repeat=n)]


def parameters(model):
    """The parameters as nested lists: tensors are slow to read one by one."""
    return {name: p.tolist() for name, p in model.named_parameters()}


def energy(w, v, h, u):
    """E(v, h, u) of an RBM or CRBM with parameters w: Eqs 2 and 8, term by term."""
    total = 0.0
    for i, v_i in enumerate(v):
        total -= v_i * w["bias_v"][i]
        for j, h_j in enumerate(h):
            total -= v_i * w["weight_vh"][i][j] * h_j
    for j, h_j in enumerate(h):
        total -= h_j * w["bias_h"][j]
    if "weight_uv" in w:
        for a, u_a in enumerate(u):
            for i, v_i in enumerate(v):
                total -= u_a * w["weight_uv"][a][i] * v_i
    if "weight_uh" in w:
        for a, u_a in enumerate(u):
            for j, h_j in enumerate(h):
                total -= u_a * w["weight_uh"][a][j] * h_j
    return total


def pair_energy(w, v, u):
    """E(v, u) of a CRF with parameters w: one term for each unit and each pair."""
    total = 0.0
    for i, v_i in enumerate(v):
        total -= v_i * w["bias_v"][i]
        for a, u_a in enumerate(u):
            total -= u_a * w["weight_uv"][a][i] * v_i
        for j in range(i):
            pair = (w["weight_vv"][i][j] + w["weight_vv"][j][i]) / 2
            total -= pair * v_i * v[j]
    return total


def log_sum_exp(numbers):
    """log of the sum of exponentials."""
    top = max(numbers)
    return top + math.log(math.fsum(math.exp(x - top) for x in numbers))


def free_energy(model, v, u, w=None):
    """F(v, u) = -log sum_h exp(-E)."""
    w = parameters(model) if w is None else w
    if "weight_vv" in w:
        return pair_energy(w, v, u)
    hidden = bits(len(w["bias_h"]))
    return -log_sum_exp([-energy(w, v, h, u) for h in hidden])


def possible(n, known):
    """All outputs that agree with the known ones (None or NaN where unknown)."""

    def agrees(v):
        return all(
            k is None or math.isnan(k) or k == v_i
            for k, v_i in zip(known, v, strict=True)
        )

    return [v for v in bits(n) if known is None or agrees(v)]


def log_partition(model, u, known=None):
    """log sum_v exp(-F(v, u))."""
    n, w = len(model.bias_v), parameters(model)
    return log_sum_exp([-free_energy(model, v, u, w) for v in possible(n, known)])


def distribution(model, u, known=None):
    """All possible outputs with their probabilities."""
    states, w = possible(len(model.bias_v), known), parameters(model)
    scores = [-free_energy(model, v, u, w) for v in states]
    log_z = log_sum_exp(scores)
    return [
        (v, math.exp(score - log_z)) for v, score in zip(states, scores, strict=True)
    ]


def marginals(model, u, known=None):
    """p(v_i = 1 | u)."""
    weighted = distribution(model, u, known)
    return [math.fsum(p * v[i] for v, p in weighted) for i in range(len(model.bias_v))]


def second_moments(model, u, known=None):
    """p(v_i = 1, v_j = 1 | u)."""
    n = len(model.bias_v)
    weighted = distribution(model, u, known)
    return [
        [math.fsum(p * v[i] * v[j] for v, p in weighted) for j in range(n)]
        for i in range(n)
    ]


def mode(model, u, known=None):
    """The most likely output."""
    return max(distribution(model, u, known), key=lambda pair: pair[1])[0]


def log_probability(model, v, u):
    """log p(v | u)."""
    return -free_energy(model, v, u) - log_partition(model, u)


def finite_difference(model, function, step=1e-5):
    """Central differences of a number that depends on the parameters."""
    slopes = {}
    for name, parameter in model.named_parameters():
        flat = parameter.data.view(-1)
        values = []
        for place in range(len(flat)):
            original = flat[place].item()
            flat[place] = original + step
            above = function()
            flat[place] = original - step
            below = function()
            flat[place] = original
            values.append((above - below) / (2 * step))
        slopes[name] = parameter.data.new_tensor(values).view_as(parameter)
    return slopes


_GRADIENTS = {}


def likelihood_gradient(model, u, v):
    """The gradient of the sum of -log p(v | u) over cases; counted once for each."""
    tensors = (*model.state_dict().values(), u, v)
    numbers = tuple(str(None if x is None else x.tolist()) for x in tensors)
    key = (type(model).__name__, *numbers)
    if key not in _GRADIENTS:
        _GRADIENTS[key] = _count_likelihood_gradient(model, u, v)
    return _GRADIENTS[key]


def _count_likelihood_gradient(model, u, v):
    u, v = u.tolist(), v.tolist()

    def loss():
        return -math.fsum(
            log_probability(model, v_row, u_row)
            for v_row, u_row in zip(v, u, strict=True)
        )

    return finite_difference(model, loss)
