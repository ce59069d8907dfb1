"""The marginals of an `AutoClassifier` as ONNX nodes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from crbm.estimators import AutoClassifier
from crbm.estimators.pooling import LEAST_SET, SetPool
from crbm.export.graph import Value
from crbm.export.members import DOUBLE, Predictions, log_odds


def marginals(classifier: AutoClassifier, x: Value) -> Value:
    """p(v_i = 1 | u) of the pooled members."""
    pool = classifier.pool_
    predictions = Predictions(x.to(DOUBLE), pool.inputs)
    found = [predictions.of(member) for member in pool.members]
    odds: Any = pool.labels.bias
    for weight, each in zip(pool.labels.weights, found, strict=True):
        odds = weight * log_odds(each.marginals) + odds
    product = odds.sigmoid()
    tables = [each.sets for each in found if each.sets is not None]
    log_weight = np.log(pool.class_weight)
    if not tables:
        return _reweighted(product, log_weight)
    table = pool.table.double().numpy()
    tables.append(_over_table(product, table))
    sets, share = _pooled(pool.sets, tables, len(table)), pool.share
    if not log_weight.any():
        return (1 - share) * (sets @ table) + share * product
    log_table = (sets * (1 - share)).log() + table @ log_weight
    level = _log_sum(log_table)
    factor = (1 + product * (np.exp(log_weight) - 1)).log().sum(1, keep=True)
    shares = (np.log(share) + factor - level).sigmoid()
    chosen = log_table.softmax() @ table
    return (1 - shares) * chosen + shares * _reweighted(product, log_weight)


def _over_table(product: Value, table: np.ndarray) -> Value:
    """Probabilities of the label sets if labels were independent."""
    tiny = float(np.finfo(np.float64).tiny)
    present, absent = product.maximum(tiny).log(), (1 - product).maximum(tiny).log()
    score = (present - absent) @ table.T + absent.sum(1, keep=True)
    chance = score.exp()
    return chance / chance.sum(1, keep=True).maximum(tiny)


def _pooled(pool: SetPool, members: list[Value], n_sets: int) -> Value:
    """The pooled p(v | u) over the label sets."""
    total: Any = 0.0
    for weight, p in zip(pool.weights, members, strict=True):
        total = weight * (p.to(DOUBLE) + LEAST_SET / n_sets).log() + total
    return cast(Value, total).softmax()


def _log_sum(scores: Value) -> Value:
    highest = scores.max(1, keep=True)
    return (scores - highest).exp().sum(1, keep=True).log() + highest


def _reweighted(product: Value, log_weight: np.ndarray) -> Value:
    """Independent labels whose odds are multiplied by weights."""
    if not log_weight.any():
        return product
    weight = np.exp(log_weight)
    return product * weight / (1 + product * (weight - 1))
