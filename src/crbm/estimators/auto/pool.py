"""The pooled members: one joint distribution, its fit and its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from crbm import metrics
from crbm.decisions import Joint, mixture
from crbm.decisions.joint import mean, mode, product_probability, reweight
from crbm.estimators import pooling
from crbm.estimators.auto.catalogue import make_member
from crbm.estimators.auto.members import Inputs, Member, Prediction, Size, Task
from crbm.estimators.auto.scaling import Scaling
from crbm.estimators.auto.selection import select_for_sets
from crbm.preprocessing import Preprocessor
from crbm.preprocessing.packing import below

# Members with less weight are dropped, as they would only cost time.
LEAST_WEIGHT = 0.02


class Scores(NamedTuple):
    """How well predictions fit cases that were not learned from."""

    log_loss: float
    hamming: float
    subset_accuracy: float


class Entry(NamedTuple):
    """A line of the leaderboard: a member, judged on cases it did not learn from.

    Parameters
    ----------
    member
        Its name.
    log_loss, hamming, subset_accuracy
        Of its predictions for those cases: mean -log p of single labels, the share of
        wrong labels, and of label sets entirely right.
    seconds
        What it cost to fit.
    label_weight, set_weight, whole_weight
        Its weights in the pools of labels and of label sets, and in the choice of whole
        label sets; 0 if it was dropped.
    """

    member: str
    log_loss: float
    hamming: float
    subset_accuracy: float
    seconds: float
    label_weight: float
    set_weight: float
    whole_weight: float = 0.0


@dataclass
class Pool:
    """p(v | u) of several members together.

    Parameters
    ----------
    members, inputs
        The members that have a weight, and the preprocessed inputs they share.
    table
        The label sets seen in training.
    labels, sets
        The weights of the members: of their marginals, and of their label sets if they
        have them.
    whole
        The weights by which whole label sets are chosen: of the members that have them,
        of independent labels, and of the pooled label sets. Empty: the likeliest sets.
    seen_only
        Whether whole label sets are only chosen among those of the table; otherwise the
        likeliest set wins where it is not in the table.
    share
        The share of independent labels in the joint distribution; it makes label sets
        possible that were never seen.
    leaderboard
        An entry for every member that was tried.
    class_weight
        What the odds of each label are multiplied by.
    judged
        The pooled marginals of training cases, by models that left them out; not in
        files.
    """

    members: list[Member]
    inputs: Inputs
    table: Float[Tensor, "sets labels"]
    labels: pooling.LabelPool
    sets: pooling.SetPool
    whole: pooling.SetPool
    share: float
    leaderboard: list[Entry]
    class_weight: Float[np.ndarray, " labels"]
    seen_only: bool = False
    judged: Float[np.ndarray, "cases labels"] | None = None

    @classmethod
    def fit(
        cls,
        task: Task,
        members: list[Member],
        seconds: list[float],
        inputs: Inputs,
        class_weight: Float[np.ndarray, " labels"],
    ) -> Pool:
        """Weigh the members by cases that all of them have left out."""
        rows = np.flatnonzero(np.logical_and.reduce([m.judged for m in members]))
        rows = rows if len(rows) else np.arange(len(task.Y))
        found = [_select(member.out_of_fold, rows) for member in members]
        weight = None if task.weight is None else task.weight[rows]
        truth, places = task.Y[rows], task.sets[rows]
        labels = pooling.fit_labels([p.marginals for p in found], truth, weight)
        tables, sets, whole = _tables(found), pooling.SetPool([]), pooling.SetPool([])
        if tables:
            product = labels([p.marginals for p in found])
            tables.append(_over_table(product, task.table))
            known = np.max(tables[:-1], axis=0) > 0  # to members that left the case out
            sets = pooling.fit_sets(tables, _known_to_some(places, known))
            whole = select_for_sets(
                [table * known for table in (*tables, sets(tables))], places
            )
        of_sets = iter(zip(sets.weights, whole.weights, strict=False))
        weights = [
            (w, *(next(of_sets) if p.sets is not None else (0.0, 0.0)))
            for w, p in zip(labels.weights, found, strict=True)
        ]
        used = [max(own) >= LEAST_WEIGHT for own in weights]
        pool = cls(
            members,
            inputs,
            torch.from_numpy(task.table),
            labels,
            sets,
            whole,
            1.0,
            [
                Entry(
                    member.name, *judge(member, task), cost, *(own if use else (0,) * 3)
                )
                for member, cost, own, use in zip(
                    members, seconds, weights, used, strict=True
                )
            ],
            class_weight,
        )
        pool.share = pool._fit_share(found, places, truth)
        if tables and (places >= 0).any():
            pool.seen_only = pool._right_more_often_among_seen(found, places, truth)
        pool.judged = mean(pool.joint(found)).numpy()
        pool._drop([use for use in used] if any(used) else [True] * len(used))
        return pool

    def _fit_share(
        self, found: list[Prediction], places: np.ndarray, truth: np.ndarray
    ) -> float:
        complete, tables = places >= 0, _tables(found)
        if not tables or not complete.any():
            return 1.0
        own = (np.flatnonzero(complete), places[complete])
        p = self.labels([each.marginals for each in found])
        of_table = self.sets([*tables, _over_table(p, self.table.numpy())])[own]
        of_table[np.max([table[own] for table in tables], axis=0) <= 0] = 0
        p = p[complete]
        right = np.where(truth[complete] > 0.5, p, 1 - p)
        return pooling.fit_share(of_table, np.exp(np.log(right).sum(1)))

    def _right_more_often_among_seen(
        self, found: list[Prediction], places: np.ndarray, truth: np.ndarray
    ) -> bool:
        """Whether whole sets of cases left out are right more often in the table."""
        complete = np.flatnonzero(places >= 0)
        found = [_select(each, complete) for each in found]
        known = torch.from_numpy(np.max(_tables(found), axis=0) > 0)
        joint = self.joint(found)
        joint = joint._replace(weight=joint.weight * known)
        n_right = []
        for self.seen_only in (False, True):
            right = (self.whole_sets(found, joint) == truth[complete]).all(1)
            n_right.append(int(right.sum()))
        return n_right[1] > n_right[0]

    def _drop(self, used: list[bool]) -> None:
        """Keep the members in use, and the inputs that they need."""
        chosen = [m for m, use in zip(self.members, used, strict=True) if use]
        weights = [w for w, use in zip(self.labels.weights, used, strict=True) if use]
        with_sets = [m for m in self.members if m.predicts_sets]
        kept = [place for place, m in enumerate(with_sets) if m in chosen]
        self.sets, self.whole = (
            pooling.SetPool(
                [pool.weights[i] for i in kept] + pool.weights[len(with_sets) :]
                if kept
                else []
            )
            for pool in (self.sets, self.whole)
        )
        self.labels = self.labels._replace(weights=weights)
        for member in self.members:
            del member.out_of_fold, member.judged
        self.members = chosen
        self.inputs.keep(chosen)

    def predict(self, X: Float[np.ndarray, "cases inputs"]) -> list[Prediction]:
        """What each member predicts."""
        return [member.predict(X, self.inputs) for member in self.members]

    def whole_sets(
        self, found: list[Prediction], joint: Joint
    ) -> Bool[np.ndarray, "cases labels"]:
        """The label sets that are most often entirely right.

        Parameters
        ----------
        found
            The predictions of the members.
        joint
            The joint distribution, `mixed`, perhaps given known labels.
        """
        likeliest = mode(joint.unmixed())
        tables = _tables(found)
        if not self.whole.weights or not tables or (self.class_weight != 1).any():
            return likeliest
        product = self.labels([p.marginals for p in found])
        tables.append(_over_table(product, self.table.numpy()))
        scores = self.whole([*tables, self.sets(tables)])
        possible = joint.weight.numpy() > 0  # given the known labels
        chosen = self.table[np.where(possible, scores, -1).argmax(1)].numpy() > 0.5
        in_table = possible.any(1)
        if not self.seen_only:
            own = torch.from_numpy(likeliest).double()
            same = mixture.equal_rows(self.table, own).numpy()
            in_table &= (same & possible).any(1)
        return np.where(in_table[:, None], chosen, likeliest)

    def joint(self, found: list[Prediction]) -> Joint:
        """p(v | u) of each case, `mixed`, from the predictions of the members."""
        product = torch.from_numpy(self.labels([p.marginals for p in found]))
        tables = _tables(found)
        if tables:
            over_table = _over_table(product.numpy(), self.table.numpy())
            weight = torch.from_numpy(self.sets([*tables, over_table]))
            joint = Joint(weight, self.table, product, self.share)
        else:
            joint = Joint.independent(product)
        if (self.class_weight != 1).any():
            joint = reweight(joint, self.class_weight)
        return joint.mixed()

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain data that predictions need."""
        tensors: dict[str, Tensor] = {"sets": self.table.to(torch.uint8)}
        for kind, preprocessor in self.inputs.preprocessors.items():
            for name, tensor in preprocessor.state().items():
                tensors[f"inputs.{kind}.{name}"] = tensor
        stacked = self.inputs.stacked
        only_input = [m for m in stacked if m not in self.members]
        described = []
        kept = [*self.members, *only_input]
        for place, member in enumerate(kept):
            own, plain = member.state()
            described.append({"name": member.name, **plain})
            tensors |= {f"members.{place}.{name}": own[name] for name in own}
        return tensors, {
            "members": described,
            "n_pooled": len(self.members),
            "inputs": list(self.inputs.preprocessors),
            "scaling": self.inputs.scaling,
            "stacked": [kept.index(member) for member in stacked],
            "label_weights": self.labels.weights,
            "label_bias": self.labels.bias,
            "set_weights": self.sets.weights,
            "whole_weights": self.whole.weights,
            "whole_seen_only": self.seen_only,
            "share": self.share,
            "class_weight": self.class_weight.tolist(),
            "leaderboard": [list(entry) for entry in self.leaderboard],
        }

    @classmethod
    def restored(
        cls,
        tensors: dict[str, Tensor],
        plain: dict[str, Any],
        n_inputs: int,
        n_labels: int,
    ) -> Pool:
        """The pool whose `state` this was; raises if it is inconsistent."""
        inputs, table = _restored_inputs(tensors, plain), tensors["sets"].double()
        sets = pooling.SetPool([float(w) for w in plain["set_weights"]])
        size = Size(n_inputs, n_labels, table.numpy() if sets.weights else None)
        members = _restored_members(tensors, plain, inputs, size)
        labels = pooling.LabelPool(
            [float(w) for w in plain["label_weights"]], float(plain["label_bias"])
        )
        n_with_sets = sum(member.predicts_sets for member in members)
        n_with_sets += n_with_sets > 0  # and the product of the labels
        # files of version 0.1 have none
        whole = pooling.SetPool([float(w) for w in plain.get("whole_weights", [])])
        n_whole = len(sets.weights) + 1 if whole.weights else 0
        if (len(labels.weights), len(sets.weights)) != (
            len(members),
            n_with_sets,
        ) or len(whole.weights) != n_whole:
            raise ValueError("the weights do not fit the members")
        if not members or not 0 <= float(plain["share"]) <= 1:
            raise ValueError("there are no members, or their share is not a share")
        weight = np.array(plain["class_weight"], dtype=float)
        if weight.shape != (n_labels,) or not (weight > 0).all():
            raise ValueError("there must be a positive weight for each label")
        share, entries = (
            float(plain["share"]),
            [Entry(*e) for e in plain["leaderboard"]],
        )
        parts = (members, inputs, table, labels, sets, whole, share, entries, weight)
        return cls(*parts, bool(plain.get("whole_seen_only", False)))


def _restored_inputs(tensors: dict[str, Tensor], plain: dict[str, Any]) -> Inputs:
    inputs = Inputs()
    if plain["scaling"] is not None:
        kind, gamma = plain["scaling"]
        inputs.scaling = Scaling(str(kind), float(gamma))
    for kind in plain["inputs"]:
        assert inputs.scaling is not None
        unfitted = inputs.scaling.preprocessor(kind)
        inputs.preprocessors[kind] = Preprocessor.from_state(
            unfitted.kind, below(f"inputs.{kind}.", tensors), unfitted.kernel_gamma
        )
    return inputs


def _restored_members(
    tensors: dict[str, Tensor], plain: dict[str, Any], inputs: Inputs, size: Size
) -> list[Member]:
    """The pooled members; those of the stack go to `inputs`."""
    members = [make_member(str(each["name"])) for each in plain["members"]]
    inputs.stacked = [members[place] for place in plain["stacked"]]
    for place, (member, each) in enumerate(zip(members, plain["members"], strict=True)):
        n_columns = size.n_inputs
        if member.inputs is not None:
            n_columns = inputs.n_columns(member.inputs, size.n_inputs, size.n_labels)
        own = below(f"members.{place}.", tensors)
        member.restore(own, each, size._replace(n_inputs=n_columns))
    return members[: plain["n_pooled"]]


def judge(member: Member, task: Task) -> Scores:
    """Scores on the cases that a member left out."""
    rows = member.judged if member.judged.any() else np.ones(len(task.Y), dtype=bool)
    truth, found = task.Y[rows], _select(member.out_of_fold, rows)
    labels = (found.marginals > 0.5).astype(float)
    sets = labels if found.sets is None else task.table[found.sets.argmax(1)]
    return Scores(
        metrics.label_log_loss(truth, found.marginals, least=pooling.LEAST_LABEL),
        metrics.hamming_error(truth, labels),
        metrics.subset_accuracy(truth, sets),
    )


def _tables(found: Sequence[Prediction]) -> list[np.ndarray]:
    return [each.sets for each in found if each.sets is not None]


def _over_table(product: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Probabilities of the label sets if labels were independent."""
    chance = product_probability(torch.from_numpy(product), torch.from_numpy(table))
    total = chance.sum(1, keepdim=True).clamp_min(torch.finfo(chance.dtype).tiny)
    return (chance / total).numpy()


def _select(prediction: Prediction, rows: np.ndarray) -> Prediction:
    sets = prediction.sets
    return Prediction(prediction.marginals[rows], None if sets is None else sets[rows])


def _known_to_some(places: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The places of label sets that some member could know; -1 for the others."""
    own = known[np.arange(len(places)), np.maximum(places, 0)]
    return np.where(own & (places >= 0), places, -1)
