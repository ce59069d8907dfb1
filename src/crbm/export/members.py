"""The members of an `AutoClassifier` as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from crbm.estimators import HashCRBMClassifier
from crbm.estimators.auto.boosting import Boosting
from crbm.estimators.auto.committee import Committee
from crbm.estimators.auto.forest import Forest
from crbm.estimators.auto.members import Inputs, Member
from crbm.estimators.auto.ridge import SetCalibration
from crbm.estimators.auto.ridge_member import RidgeMember
from crbm.estimators.auto.svm import SetSVM
from crbm.estimators.auto.svm_member import SVMMember
from crbm.estimators.auto.trees import BoostingMember, ForestMember
from crbm.estimators.pooling import LEAST_LABEL
from crbm.export import candidates, energies
from crbm.export.graph import Value, concatenate, mean
from crbm.export.scaling import preprocess, squared_distances
from crbm.export.trees import SINGLE, leaf_sums
from crbm.preprocessing.pipelines import CUT_OFF

DOUBLE = np.dtype(np.float64)


class Found(NamedTuple):
    """Marginals and, if a member has them, probabilities of the label sets."""

    marginals: Value
    sets: Value | None = None


class Predictions:
    """What members predict for inputs, each computed once.

    Parameters
    ----------
    x
        The inputs in double precision.
    inputs
        The preprocessings that members share.
    """

    def __init__(self, x: Value, inputs: Inputs) -> None:
        self.x, self.shared = x, inputs
        self._inputs: dict[str | None, Value] = {None: x}
        self._found: dict[int, Found] = {}

    def of(self, member: Member) -> Found:
        """What a member predicts."""
        if id(member) not in self._found:
            build = MEMBERS[type(member)]
            self._found[id(member)] = build(member, self.inputs(member.inputs))
        return self._found[id(member)]

    def inputs(self, kind: str | None) -> Value:
        """The inputs of one kind."""
        if kind not in self._inputs:
            self._inputs[kind] = self._make(str(kind))
        return self._inputs[kind]

    def _make(self, kind: str) -> Value:
        if kind == "stack":
            parts = [log_odds(self.of(m).marginals) for m in self.shared.stacked]
            return concatenate(parts, 1).to(SINGLE)
        return preprocess(self.x, self.shared.preprocessors[kind]).to(SINGLE)


def log_odds(p: Value) -> Value:
    """Log-odds of probabilities kept away from 0 and 1, in double precision."""
    p = p.to(DOUBLE).clip(LEAST_LABEL, 1 - LEAST_LABEL)
    return p.log() - (1 - p).log()


def _forest(member: ForestMember, x: Value) -> Found:
    forest: Forest = member.forest
    shares = forest.leaves / len(forest.trees.roots)
    found = leaf_sums(forest.trees, sparse.csr_array(shares), x)
    if member.table is None:
        return Found(found.to(DOUBLE))
    return Found(found.to(DOUBLE) @ member.table, found)


def _boosting(member: BoostingMember, x: Value) -> Found:
    return Found(mean([_boosted(model, x) for model in member.models]))


def _boosted(model: Boosting, x: Value) -> Value:
    odds = leaf_sums(model.trees, sparse.csr_array(model.leaves), x)
    return (odds.to(DOUBLE) + model.start).sigmoid()


def _ridge(member: RidgeMember, x: Value) -> Found:
    x = x.to(DOUBLE)
    slope, bias, of_base = member.label_calibration
    odds = np.log(member.base) - np.log1p(-member.base)
    found = _regressed(x, member.of_labels)
    total = slope * (found - member.base) + (bias + of_base * odds)
    marginals = total.clip(-30, 30).sigmoid()
    if not member.predicts_sets:
        return Found(marginals)
    found = _regressed(x, member.of_sets)
    return Found(marginals, _calibrated(found, member.set_calibration, member.counts))


def _regressed(x: Value, solution: tuple[np.ndarray, np.ndarray]) -> Value:
    weight, intercept = solution
    return x @ weight + intercept


def _calibrated(found: Value, calibration: SetCalibration, counts: np.ndarray) -> Value:
    """p(v | u) over the label sets; 0 for those that were never seen."""
    seen = counts > 0
    of_counts = calibration.of_count * np.log(np.where(seen, counts, 1))
    return (calibration.slope * found + np.where(seen, of_counts, -np.inf)).softmax()


def _svm(member: SVMMember, x: Value) -> Found:
    n_sets, classes = len(member.table), member.machines[0].classes
    spread = np.zeros((len(classes), n_sets))
    spread[np.arange(len(spread)), classes] = 1
    scaled = x.clip(-CUT_OFF, CUT_OFF)
    first, *others = [
        weight * _votes(machines, scaled)
        for weight, machines in zip(member.weights, member.machines, strict=True)
    ]
    scores = sum(others, first) @ spread
    sets = _calibrated(scores, member.calibration, member.counts).to(SINGLE)
    return Found(sets.to(DOUBLE) @ member.table, sets)


def _votes(machines: SetSVM, x: Value) -> Value:
    """The share of won pairs of each class, (cases, classes), in double precision."""
    n_classes = len(machines.classes)
    squares = squared_distances(x, machines.vectors).to(SINGLE)
    kernel = (-machines.rate * squares).exp()
    rows = []
    for own in range(n_classes):
        part = slice(*machines.ends[own : own + 2].tolist())
        against = np.insert(machines.dual[:, part], own, 0, axis=0)
        against[:own] *= -1
        # cases, other class
        rows.append(kernel.columns(part.start, part.stop) @ against.T)
    # cases, class, other class
    own_side = concatenate([row.expand_dims(1) for row in rows], 1)
    intercepts = np.zeros((1, n_classes, n_classes), dtype=np.float32)
    intercepts[0][np.triu_indices(n_classes, 1)] = machines.intercepts
    own_side = own_side + intercepts
    margins = own_side - own_side.transpose(0, 2, 1)
    won = (margins > 0).to(DOUBLE).sum(2)
    clearness = margins.to(DOUBLE).sum(2)
    return (won + clearness / (3 * (clearness.abs() + 1))) / n_classes


def _committee(member: Committee, x: Value) -> Found:
    marginals, sets = [], []
    for model, rows in zip(member.models, member.rows, strict=True):
        u = x.to(SINGLE)
        if not isinstance(model, HashCRBMClassifier):
            energy = energies.Bipartite.of(model.models_[0], u)
            marginals.append(energy.visible_mean(energy.visible_bias).to(DOUBLE))
            continue
        own = candidates.set_probabilities(model, u)
        marginals.append((own @ model.label_sets_.numpy()).to(DOUBLE))
        assert member.table is not None
        spread = np.zeros((len(rows), len(member.table)), dtype=np.float32)
        spread[np.arange(len(rows)), rows] = 1
        sets.append(own.to(SINGLE) @ spread)
    return Found(mean(marginals), mean(sets) if sets else None)


MEMBERS: dict[type[Member], Callable[[Any, Value], Found]] = {
    ForestMember: _forest,
    BoostingMember: _boosting,
    RidgeMember: _ridge,
    SVMMember: _svm,
    Committee: _committee,
}
