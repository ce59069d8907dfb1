"""HashCRBM: exact learning and prediction over a small set of likely outputs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import clone
from torch import Generator, Tensor

from crbm import checks, decisions
from crbm.decisions import mixture
from crbm.decisions.joint import mean
from crbm.energies import Energy
from crbm.estimators import base_mixture, defaults, posteriors, stacking
from crbm.estimators.base_mixture import BaseLabels
from crbm.estimators.choices import check_choice
from crbm.estimators.hashed_cases import (
    HashedCases,
    SetTable,
    agreeing_candidates,
    complete_cases,
    held_out_recall,
    with_first_set,
    with_no_more,
)
from crbm.estimators.predictor import pad_sets
from crbm.estimators.structured import StructuredClassifier
from crbm.hashing import CandidateSets
from crbm.hashing.packed_sets import KEPT_BYTES
from crbm.inference import exact
from crbm.models import CRBM, EnergyModel
from crbm.objectives import CandidateLikelihood, MaxMargin, Objective
from crbm.types import Batch, Cases, Marginals

SET_MEASURES = ("example_f1", "jaccard")
PREDICTIONS = ("marginals", "mode", *SET_MEASURES)
OBJECTIVES: dict[str, Callable[..., Objective]] = {
    "likelihood": CandidateLikelihood,
    "max_margin": MaxMargin,
}


@dataclass(eq=False, repr=False, kw_only=True)
class HashCRBMClassifier(StructuredClassifier):
    """A CRBM over the label sets seen near each input: likelihood and marginals exact.

    Spectral hashing gives each input a short code; V(u), the candidates, are the label
    sets of training inputs whose codes differ in at most `radius` bits. Predicting by
    marginals can combine labels into sets never seen in training; by the mode it
    cannot. For the training parameters see `StructuredClassifier`.

    Parameters
    ----------
    n_bits
        Length of the codes; the paper tries 5, 7 and 9. Fewer bits, more candidates.
    radius
        Hamming distance within which codes are neighbours; None takes all label sets
        seen in training as candidates. "auto" does so where they are at most 2000, and
        is 1 where they are more.
    n_hidden, init_scale
        Hidden units, through which the labels depend on each other, and the standard
        deviation of their initial couplings.
    base_measure
        How much a candidate counts before anything is learned: "counts", how often
        its label set was seen in training, or "uniform", the paper's choice.
    prediction
        "marginals" (best for Hamming error), "mode" (best for whole sets),
        "example_f1" or "jaccard" (best for these two), see `crbm.decisions`.
    n_estimators
        Models with different seeds whose joint distributions are averaged.
    objective, objective_params
        "likelihood", exact over the candidates, or "max_margin", loss-augmented over
        the candidates, with the parameters of `MaxMargin`, e.g. `{"margin": 0.5,
        "costs": [1, 1, 3]}`. Max margin is for predictions by the mode: its
        probabilities are not calibrated.
    n_proposals
        Label sets per case beyond its candidates, for answers that were never seen in
        training: the likeliest labels in sizes near the expected one, and unions of
        likely candidates. Together they have the probability 1 - `candidate_recall_`
        (from 0.01 to 0.99), in proportion to exp(-F) times how often sets of their size
        were seen. Of that, 1 - `proposal_recall_` is left to all other sets, by
        independent labels, so that no set is impossible in `score_samples`. Proposals
        count in everything but the marginals; 0 adds none.
    base, base_inputs
        A scikit-learn classifier with `predict_proba`, for several labels or copied for
        each, e.g. `RandomForestClassifier()`. Its log-odds are inputs of the model,
        "beside" X or "instead" of it; those of training cases come from copies that
        did not learn from them. It makes a joint distribution of any classifier: over
        the candidates, mixed with the labels of the base as if they were independent,
        so that no label set is impossible. Early stopping's held-out cases choose the
        share of the latter, `base_labels_.share`; with `n_proposals` it is 0.

    Attributes
    ----------
    sets_
        The fitted `CandidateSets`.
    candidate_recall_
        How often the true set was a candidate, for cases held out of the index.
    proposal_recall_
        How often it was among the proposals where it was no candidate, for the cases
        held out by early stopping; 0.9 without such cases.

    Notes
    -----
    [1]_, Section 6.1, Eqs. 14 to 16.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> classifier = HashCRBMClassifier(n_epochs=5, random_state=0).fit(X, Y)
    >>> classifier.predict(X).shape
    (100, 5)
    >>> classifier.predict_top_k(X, k=3).probability.shape
    (100, 3)
    """

    n_bits: int = 7
    radius: int | str | None = "auto"
    n_hidden: int = 32
    init_scale: float = 0.3
    base_measure: str = "counts"
    prediction: str = "marginals"
    n_estimators: int = 1
    objective: str = "likelihood"
    objective_params: dict[str, Any] | None = None
    n_proposals: int = 0
    base: Any = None
    base_inputs: str = "beside"

    # candidates are many, so that a step of the weights changes more at once
    adam_rate = 1e-3
    short_name = "hash-crbm"
    has_cheap_joint = True
    several_classes = True
    earlier_defaults: ClassVar[dict[str, Any]] = {
        **StructuredClassifier.earlier_defaults,
        "base_measure": "uniform",
    }

    @property
    def label_sets_(self) -> Tensor:
        """The label sets seen in training."""
        return self.sets_.table_

    @property
    def candidate_recall_(self) -> float:
        """How often the true set was a candidate, for cases held out of the index.

        Computed at first use, by an index of nine tenths of at most `RECALL_CASES`
        training cases.
        """
        if not hasattr(self, "_candidate_recall"):
            recall = held_out_recall(clone(self.sets_), self._recall_cases)
            self._candidate_recall = recall
            del self._recall_cases
        return self._candidate_recall

    @property
    def proposal_recall_(self) -> float:
        """How often the true set was among the proposals where it was no candidate."""
        return getattr(self, "_proposal_recall", posteriors.PROPOSAL_RECALL)

    @property
    def _n_members(self) -> int:
        return self.n_estimators

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.radius, str):
            checks.one_of("radius", self.radius, ("auto",))
        checks.one_of("base_measure", self.base_measure, ("counts", "uniform"))
        checks.one_of("prediction", self.prediction, PREDICTIONS)
        stacking.check(self.base)
        checks.one_of("base_inputs", self.base_inputs, ("beside", "instead"))
        if self.base is not None and self.warm_start:
            raise ValueError("A `base` needs `warm_start`=False; it learns anew.")
        check_choice("objective", self.objective, self.objective_params, OBJECTIVES)
        checks.whole_number("n_estimators", self.n_estimators, at_least=1)
        checks.whole_number("n_proposals", self.n_proposals, at_least=0)

    def _check_outputs(self) -> None:
        super()._check_outputs()
        if self.base is not None and self.columns_ is not None:
            raise ValueError("A `base` is for labels, not for columns of classes.")
        if self.columns_ is not None and self.prediction in SET_MEASURES:
            raise ValueError(
                f'`prediction`="{self.prediction}" is for labels that are present or '
                'absent; for columns of classes use "marginals" or "mode".'
            )

    def _new_model(self, n_inputs: int, generator: Generator | None) -> EnergyModel:
        return CRBM(
            n_inputs,
            self.n_labels_,
            self.n_hidden,
            generator,
            init_scale=self.init_scale,
            visible=self._visible,
        )

    @property
    def _mixes_base(self) -> bool:
        """Whether the base has a share of the probability of its own."""
        return self.base is not None and self.base_labels_.share > 0

    def _start(self, model: EnergyModel, data: Batch) -> None:
        if self.base_measure != "counts":
            super()._start(model, data)
        if self.base is not None:
            stacking.start(model, self.n_labels_)

    def _objective(self) -> Objective:
        return OBJECTIVES[self.objective](**(self.objective_params or {}))

    def _infer(self, energy: Energy, cases: Batch) -> Marginals:
        return exact.marginals(energy, candidates=cases.candidates)

    def _labels(
        self, u: Tensor, known: Tensor | None, p: np.ndarray | None = None
    ) -> np.ndarray:
        if self.prediction == "marginals":
            return super()._labels(u, known, p)
        if self.prediction == "mode":
            return self._mode(u, known).numpy() > 0.5
        decide = getattr(decisions, self.prediction)
        return np.concatenate([decide(joint) for joint in self._joints(u, known)])

    @torch.no_grad()
    def _joints(self, u: Tensor, known: Tensor | None) -> Iterator[decisions.Joint]:
        if self._mixes_base:
            for joint in base_mixture.joints(self, u, known):
                yield joint.unmixed()
            return
        for posterior in posteriors.with_proposals(self, u, known):
            if posterior.ids is None:
                yield decisions.Joint(posterior.weight, posterior.v)
            else:
                weight = exact.weight_by_row(posterior)
                yield decisions.Joint(weight, posterior.v)

    def _learn_candidates(self, data: Batch, *, more: bool) -> None:
        assert data.u is not None
        if more and self.base is not None:
            raise ValueError("A `base` cannot learn in parts. Use `fit`.")
        if more:  # on a copy, so that an interrupted call changes nothing
            grown = copy.copy(self.sets_)
            self.sets_: CandidateSets = grown.partial_fit(data.u, data.v)
            return
        sets = CandidateSets(self.n_bits, defaults.radius(self, data.v))
        weight = None if data.weight is None else data.weight.numpy()
        self.sets_ = sets.fit(data.u, data.v, weight)
        self._recall_cases = complete_cases(data)
        if hasattr(self, "_candidate_recall"):
            del self._candidate_recall
        if self.base is not None:
            self.base_labels_ = base_mixture.calibrate(self, data)

    def _learn_stored_candidates(self, sample: Batch, blocks: Iterator[Batch]) -> None:
        assert sample.u is not None
        radius = 1 if self.radius == "auto" else self.radius  # files hold many cases
        sets = CandidateSets(self.n_bits, radius).start(sample.u, self.n_labels_)
        for block in blocks:
            sets.partial_fit(block.u, block.v)
        sets.check_any()
        self.sets_, self._recall_cases = sets, complete_cases(sample)
        if hasattr(self, "_candidate_recall"):
            del self._candidate_recall

    def _measure(self, held_out: Batch | None) -> None:
        super()._measure(held_out)
        self._proposal_recall = posteriors.proposal_recall(self, held_out)
        if self.base is not None and not self.n_proposals:
            self.base_labels_ = base_mixture.weigh(self, held_out)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        plain: dict[str, Any] = {
            "candidate_recall_": self.candidate_recall_,
            "proposal_recall_": self.proposal_recall_,
        }
        if self.radius == "auto":
            plain["radius_"] = self.sets_.radius
        if self.base is not None:
            plain["base_labels_"] = list(self.base_labels_)
        return self.sets_.state(), plain

    def _restore(self, tensors: dict[str, Tensor], plain: dict[str, Any]) -> None:
        radius = plain["radius_"] if self.radius == "auto" else self.radius
        self.sets_ = CandidateSets(self.n_bits, radius).restored(tensors)
        n_hashed, n_inputs = self.sets_.hash_.n_features_in_, self.models_[0].n_inputs
        if n_hashed != n_inputs:
            raise ValueError(
                f"the hash is of {n_hashed} inputs, the model of {n_inputs}"
            )
        self._candidate_recall = plain["candidate_recall_"]
        earlier = posteriors.PROPOSAL_RECALL
        self._proposal_recall = plain.get("proposal_recall_", earlier)
        # files of version 0.1 have none: the candidates have all of the probability
        self.base_labels_ = BaseLabels(*map(float, plain.get("base_labels_", ())))

    def _with_candidates(self, data: Batch) -> Cases:
        assert data.u is not None
        groups, table = self.sets_.groups(data.u), self._table(data.u)
        if data.v.isnan().any():
            fill = with_no_more if self.columns_ is None else with_first_set
            table, groups = agreeing_candidates(table, groups, data.v, fill)
        return HashedCases(data.u, data.v, data.weight, table, groups)

    def _table(self, like: Tensor) -> SetTable:
        """The label sets and their base measure in the precision of a tensor."""
        counts = self.sets_.counts_ if self.base_measure == "counts" else None
        log_base = None if counts is None else counts.to(like).log()
        packed = self.sets_.packed_
        small = packed.n_dense_bytes <= KEPT_BYTES
        sets = packed.dense().to(like) if small else packed
        return SetTable(sets, log_base, like.dtype)

    @torch.no_grad()
    def _marginals(self, u: Tensor, known: Tensor | None) -> Tensor:
        if self._mixes_base:
            means = [mean(joint) for joint in base_mixture.joints(self, u, known)]
            return torch.cat(means).clamp(0, 1).to(u)
        found = posteriors.over_candidates(self, u, known)
        return torch.cat([exact.average(posterior) for posterior in found])

    @torch.no_grad()
    def _mode(self, u: Tensor, known: Tensor | None) -> Tensor:
        if self._mixes_base:
            return self._top_k(u, 1, known)[0][:, 0]
        found = posteriors.with_proposals(self, u, known)
        return torch.cat([posteriors.best(each, 1)[0][:, 0] for each in found])

    @torch.no_grad()
    def _top_k(self, u: Tensor, k: int, known: Tensor | None) -> tuple[Tensor, Tensor]:
        if self._mixes_base:
            joints = base_mixture.joints(self, u, known)
            best = (mixture.top_k(joint, k) for joint in joints)
        else:
            found = posteriors.with_proposals(self, u, known)
            best = (posteriors.best(each, k) for each in found)
        padded = [pad_sets(*each, k) for each in best]
        labels, probability = zip(*padded, strict=True)
        return torch.cat(labels), torch.cat(probability)

    @torch.no_grad()
    def _log_probability(self, u: Tensor, v: Tensor) -> Tensor:
        if self._mixes_base:
            return base_mixture.log_probability(self, u, v)
        found, start = [], 0
        for posterior in posteriors.with_proposals(self, u, None):
            assert posterior.weight is not None
            labels = v[start : start + len(posterior.weight), None]
            agrees = ((labels == exact.dense(posterior)) | labels.isnan()).all(-1)
            own = (posterior.weight * agrees).sum(-1).log()
            if self.n_proposals:
                own = posteriors.with_rest(self, own, posterior, u, v, start)
            found.append(own)
            start += len(posterior.weight)
        return torch.cat(found)
