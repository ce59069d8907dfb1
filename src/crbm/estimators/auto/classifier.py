"""A classifier that chooses and pools its members by itself."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from rich.console import Console
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from crbm import checks, decisions
from crbm.decisions import Joint, mixture
from crbm.decisions.joint import mean
from crbm.estimators import class_weights, encoding, inputs
from crbm.estimators.auto.catalogue import MEMBERS, STACKED, make_member
from crbm.estimators.auto.members import Inputs, Member, Task
from crbm.estimators.auto.pool import Pool, judge
from crbm.estimators.auto.scaling import least_seconds
from crbm.estimators.auto.svm_member import SVMMember
from crbm.estimators.members import all_or_nothing
from crbm.estimators.predictor import LabelSetClassifier
from crbm.training import distributed
from crbm.types import Batch

# Distinct label sets up to which their joint distribution is learned.
MOST_SETS = 4000
# The share of the time limit that fitting members may take; pooling takes the rest.
FITTING_SHARE = 0.85


@dataclass(eq=False, repr=False, kw_only=True)
class AutoClassifier(LabelSetClassifier):
    """Labels predicted together, without parameters to choose.

    Several members are fitted: a random forest, kernel ridge regression, support vector
    machines on label sets, boosted trees, and HashCRBMs on scaled inputs, on kernel
    features and on the log-odds of the other members. The scaling and the kernel are
    chosen by left-out cases. Each member is judged on cases that it did not learn from,
    and their log probabilities are pooled with the weights that make those cases most
    likely. The result is one joint distribution p(v | u), from which the best answer
    for `metric` is derived. For whole label sets the weights are chosen by how often
    the likeliest set is right.

    Parameters
    ----------
    metric
        What predictions should be best at: "hamming" (single labels), "subset_accuracy"
        (whole label sets), "example_f1", "micro_f1", "macro_f1", "jaccard" or
        "log_loss".
    time_limit
        Seconds after which `fit` stops trying members; None tries all of them. A run
        with a limit depends on the speed of the machine and cannot be repeated exactly.
    members
        Names of the members to try, see `MEMBERS`; None tries all that suit the data.
    class_weight
        How much a present label counts relative to an absent one: a dict from labels to
        weights, one weight per label, or "balanced"; see `StructuredClassifier`.
    n_folds
        Models per member; each leaves out another part of the cases.
    random_state
        Seed of all randomness, as in scikit-learn.
    n_threads
        Threads to compute with; chosen by size unless given.
    progress
        Whether to print each member when it is fitted; None does so on a terminal only.

    Attributes
    ----------
    leaderboard_
        An `Entry` for every member that was tried.
    classes_, label_names_, n_labels_
        What the labels are.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> classifier = AutoClassifier(members=["forest"], random_state=0).fit(X, Y)
    >>> classifier.predict(X).shape
    (100, 5)
    >>> classifier.predict_top_k(X, k=3).probability.shape
    (100, 3)
    >>> [entry.member for entry in classifier.leaderboard_]
    ['forest']
    """

    # scikit-learn wants wrong parameters stored here and refused in `fit`
    __no_type_check__ = True

    metric: str = "hamming"
    time_limit: float | None = None
    members: Any = None
    class_weight: Any = None
    n_folds: int = 5
    random_state: Any = None
    n_threads: int | None = None
    progress: bool | None = False

    short_name = "auto"
    has_cheap_joint = True
    # The members scale inputs themselves.
    preprocessing: ClassVar[str] = "none"

    def _check_parameters(self) -> None:
        checks.one_of("metric", self.metric, decisions.MEASURES)
        class_weights.check(self.class_weight)
        checks.whole_number("n_folds", self.n_folds, at_least=2)
        if self.time_limit is not None:
            checks.positive("time_limit", self.time_limit)
        for name in self.members if self.members is not None else ():
            checks.one_of("members", name, MEMBERS)

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AutoClassifier:
        """Fit and pool the members.

        Parameters
        ----------
        X
            Inputs, one row per case: array, frame or sparse matrix.
        y
            Labels as an indicator matrix (NaN where a label is not known), as a list of
            sets, or as one column of two classes.
        sample_weight
            How much each case counts.

        Notes
        -----
        Ctrl-C ends the search for members: those that are complete are pooled. Under
        torchrun the first rank does all the work and the others receive the result.
        """
        self._check_parameters()
        with all_or_nothing(self):
            fit = partial(self._fit, X, y, sample_weight)
            self.__dict__.update(distributed.current().from_first(fit))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Fit and pool the members; returns all attributes."""
        started = time.monotonic()
        data = encoding.fit_data(self, X, y, sample_weight)
        task, shared = self._task(data, started), Inputs()
        weight = class_weights.class_weights(self, data)
        fitted, seconds = self._fit_members(task, shared)
        self.pool_ = Pool.fit(task, fitted, seconds, shared, weight)
        self.leaderboard_ = self.pool_.leaderboard
        self._set_thresholds()
        return self.__dict__

    def _fit_members(
        self, task: Task, shared: Inputs
    ) -> tuple[list[Member], list[float]]:
        """The members that were fitted in time, and what each cost."""
        console = self._console()
        fitted: list[Member] = []
        seconds: list[float] = []
        plan = self._plan(task)
        for place, member in enumerate(plan):
            if fitted and not self._is_time_left(task, seconds):
                break
            if fitted and not self._is_time_for(member, task, shared):
                continue
            started = time.monotonic()
            own = task.with_share_of_time(2 / (len(plan) - place + 1))
            try:
                member.fit(own, shared)
            except KeyboardInterrupt:
                if not fitted:
                    raise
                warnings.warn(
                    f"Interrupted while fitting `{member.name}`; the members before it "
                    "are pooled.",
                    stacklevel=3,
                )
                break
            if member.name in STACKED:
                shared.stacked.append(member)
            fitted.append(member)
            seconds.append(time.monotonic() - started)
            loss = judge(member, task).log_loss
            console.print(f"{member.name}: log loss {loss:.4f}, {seconds[-1]:.1f} s")
        return fitted, seconds

    def _task(self, data: Batch, started: float) -> Task:
        """The training cases with their label sets and folds."""
        generator = encoding.to_generator(self.random_state)
        assert data.u is not None
        X, Y = data.u.double().numpy(), data.v.double().numpy()
        complete = ~np.isnan(Y).any(1)
        table, sets = np.unique(Y[complete], axis=0, return_inverse=True)
        places = np.full(len(Y), -1)
        places[complete] = sets.ravel()
        order = torch.randperm(len(Y), generator=generator).numpy()
        n_folds = min(self.n_folds, len(Y))
        limit = math.inf if self.time_limit is None else self.time_limit
        return Task(
            X,
            Y,
            None if data.weight is None else data.weight.double().numpy(),
            table,
            places,
            use_sets=0 < len(table) <= MOST_SETS,
            folds=[np.sort(part) for part in np.array_split(order, n_folds)],
            seed=int(torch.randint(2**31 - 1, (1,), generator=generator)),
            deadline=started + FITTING_SHARE * limit,
        )

    def _plan(self, task: Task) -> list[Member]:
        """The members to try, in order."""
        names = MEMBERS if self.members is None else tuple(self.members)
        plan = [make_member(name) for name in names if self._suits(name, names, task)]
        if not plan:
            raise ValueError(
                f"None of the members {list(names)} suits these {len(task.Y)} cases. "
                "Choose others, or leave `members` as it is."
            )
        return plan

    def _suits(self, name: str, names: tuple[str, ...], task: Task) -> bool:
        """Whether a member can learn from these cases."""
        kind, _, source = name.partition(", ")
        if kind == "forest":
            return len(task.table) > 0
        if kind == "svm":
            return SVMMember.suits(task)
        if source == "stack" and not set(STACKED) & set(names):
            return False
        if kind == "logistic" and self.members is None and task.use_sets:
            return False  # a HashCRBM on the same inputs is at least as good
        return len(task.Y) >= 3 and (task.use_sets or kind != "hash-crbm")

    def _is_time_left(self, task: Task, seconds: list[float]) -> bool:
        """Whether there is time for a member as fast as the fastest before."""
        return task.deadline - time.monotonic() > min(seconds)

    def _is_time_for(self, member: Member, task: Task, shared: Inputs) -> bool:
        """Whether there is time for the kernel, if a member needs it first."""
        left = task.deadline - time.monotonic()
        if member.inputs != "kernel" or "kernel" in shared.preprocessors:
            return True
        n_targets = task.Y.shape[1] + task.use_sets * len(task.table)
        return left == math.inf or least_seconds(len(task.X), n_targets) < left

    def _console(self) -> Console:
        console = Console(stderr=True)
        shown = console.is_terminal if self.progress is None else self.progress
        return Console(stderr=True, quiet=not shown, highlight=False)

    def _set_thresholds(self) -> None:
        """Thresholds for micro and macro F1 that maximise its expected value."""
        self.thresholds_ = np.full(self.n_labels_, 0.5)
        if self.metric == "macro_f1":
            self.thresholds_ = decisions.macro_f1_thresholds(self.pool_.judged)
        elif self.metric == "micro_f1":
            self.thresholds_[:] = decisions.micro_f1_threshold(self.pool_.judged)

    # Prediction

    @property
    def label_sets_(self) -> Tensor:
        """The label sets seen in training."""
        check_is_fitted(self, "pool_")
        return self.pool_.table

    def _joint(self, u: Tensor, known: Tensor | None) -> Joint:
        """p(v | u) given the known labels, `mixed`."""
        return self._given(
            self.pool_.joint(self.pool_.predict(u.double().numpy())), known
        )

    def _given(self, joint: Joint, known: Tensor | None) -> Joint:
        return joint if known is None else mixture.given(joint, known.double())[0]

    def _marginals(self, u: Tensor, known: Tensor | None) -> Tensor:
        return mean(self._joint(u, known)).clamp(0, 1)

    def _labels(
        self, u: Tensor, known: Tensor | None, p: np.ndarray | None = None
    ) -> np.ndarray:
        if self.metric == "subset_accuracy":
            found = self.pool_.predict(u.double().numpy())
            joint = self._given(self.pool_.joint(found), known)
            return self.pool_.whole_sets(found, joint)
        if self.metric not in ("example_f1", "jaccard"):
            return super()._labels(u, known, p)
        return decisions.best(self.metric, self._joint(u, known).unmixed())

    def _log_probability(self, u: Tensor, v: Tensor) -> Float[Tensor, " batch"]:
        _, log_p = mixture.given(self._joint(u, None), v.double())
        return log_p.clamp_max(0)

    def _top_k(self, u: Tensor, k: int, known: Tensor | None) -> tuple[Tensor, Tensor]:
        return mixture.top_k(self._joint(u, known), k)

    def training_summary(self) -> dict[str, Any]:
        """The members in use, the best log loss of one of them, and the time."""
        used = [entry for entry in self.leaderboard_ if any(entry[-3:])]
        return {
            "members": [entry.member for entry in used],
            "best_member_log_loss": min(entry.log_loss for entry in self.leaderboard_),
            "seconds": sum(entry.seconds for entry in self.leaderboard_),
        }

    # Files

    def _trained_state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return self.pool_.state()

    def _restore_trained(
        self, tensors: dict[str, Tensor], plain: dict[str, Any]
    ) -> None:
        n_inputs = inputs.n_inputs(self)
        self.pool_ = Pool.restored(tensors, plain, n_inputs, self.n_labels_)
        self.leaderboard_ = self.pool_.leaderboard

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return {}, {}

    def _restore(self, tensors: dict[str, Tensor], plain: dict[str, Any]) -> None:
        """All is set by `_restore_trained`."""
