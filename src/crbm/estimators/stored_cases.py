"""Fit classifiers to cases in files: a sample first, then all cases in blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from crbm.estimators import class_weights, encoding, members
from crbm.estimators.members import Augment
from crbm.preprocessing.stored import PIECE, StoredRows, check_alike
from crbm.types import Batch, Cases

# Cases of which preprocessing and the hash are learned, and the numbers in them.
SAMPLE_CASES, SAMPLE_NUMBERS = 20_000, 2**23
# Cases that are shuffled together, and the numbers in them.
BLOCK_CASES, BLOCK_NUMBERS = 65_536, 2**23
# Parts that are read in turns, so that neighbours in a file are kept apart.
READERS = 8

WithCandidates = Callable[[Batch], Cases]


class StoredCases:
    """Encoded inputs and labels, read from files when they are needed.

    Parameters
    ----------
    classifier
        It has learned the encoding, from a sample.
    X, Y
        Inputs and labels of the cases; labels may also be an array.
    """

    def __init__(self, classifier: Any, X: StoredRows, Y: Any) -> None:
        check_labels(X, Y)
        self.classifier, self.X, self.Y = classifier, X, Y
        self.n_cases = len(X)

    def read(self, part: int) -> Iterator[Batch]:
        """The cases of a part, some at a time."""
        if isinstance(self.Y, StoredRows):
            labels: Iterator[Any] = self.Y.pieces(part)
        else:
            start = self.X.starts[part]
            own = self.Y[start : start + self.X.part_sizes[part]]
            labels = (own[at : at + PIECE] for at in range(0, len(own), PIECE))
        for x, y in zip(self.X.pieces(part), labels, strict=True):
            yield encoding.more_data(self.classifier, x, y, None)

    def all(self) -> Iterator[Batch]:
        """All cases in their order, in large blocks."""
        readers = (self.read(part) for part in range(len(self.X.part_sizes)))
        yield from _blocks((b for reader in readers for b in reader), self._n_at_once)

    def shuffled(self, batch_size: int) -> Iterator[Batch]:
        """Blocks of cases in random order; all but the last hold whole batches.

        Parts are read in random order, some in turns, and each block is shuffled.
        Draws from torch's global generator.
        """
        order = deque(torch.randperm(len(self.X.part_sizes)).tolist())
        n_cases = max(batch_size, self._n_at_once // batch_size * batch_size)
        waiting: Batch | None = None
        for block in _blocks(self._in_turns(order), n_cases):
            cases = block if waiting is None else _join([waiting, block])
            cases = cases.select(torch.randperm(cases.n_cases))
            n_whole = cases.n_cases // batch_size * batch_size
            waiting = cases.select(slice(n_whole, None))
            if n_whole:
                yield cases.select(slice(0, n_whole))
        if waiting is not None and waiting.n_cases:
            yield waiting

    def _in_turns(self, order: deque[int]) -> Iterator[Batch]:
        """Pieces of several parts in turns."""
        readers: deque[Iterator[Batch]] = deque()
        while order or readers:
            while order and len(readers) < READERS:
                readers.append(self.read(order.popleft()))
            reader = readers.popleft()
            piece = next(reader, None)
            if piece is not None:
                yield piece
                readers.append(reader)

    @property
    def _n_at_once(self) -> int:
        width = self.X.shape[1] + self.classifier.n_labels_
        return min(BLOCK_CASES, max(1, BLOCK_NUMBERS // width))


class BatchLoader(DataLoader[Batch]):
    """Batches of stored cases in a new random order at each pass."""

    n_cases: int

    def __init__(
        self, cases: StoredCases, batch_size: int, with_candidates: WithCandidates
    ) -> None:
        batches = _Batches(cases, batch_size, with_candidates)
        super().__init__(batches, batch_size=None, collate_fn=_unchanged)
        self.n_cases = cases.n_cases


class _Batches(IterableDataset[Batch]):
    def __init__(
        self, cases: StoredCases, n_at_once: int, with_candidates: WithCandidates
    ) -> None:
        self.cases, self.n_at_once = cases, n_at_once
        self.with_candidates = with_candidates

    def __iter__(self) -> Iterator[Batch]:
        for block in self.cases.shuffled(self.n_at_once):
            cases = self.with_candidates(block)
            for rows in torch.arange(cases.n_cases).split(self.n_at_once):
                yield cases.select(rows)


def fit(
    classifier: Any,
    X: StoredRows,
    Y: Any,
    sample_weight: Any,
    validation: Any,
    augment: Augment | None,
) -> None:
    """Fit a classifier to stored cases.

    The encoding, the preprocessing and the hash are learned from a sample, which is all
    cases where these are few.
    """
    _check(classifier, sample_weight, validation)
    check_labels(X, Y)
    if hasattr(classifier, "models_"):
        del classifier.models_
    n_sample = max(1, min(SAMPLE_CASES, SAMPLE_NUMBERS // X.shape[1]))
    sample = encoding.fit_data(
        classifier, X.sample(n_sample), _sample_labels(X, Y, n_sample), None
    )
    if isinstance(Y, StoredRows) and Y.names is not None:
        classifier.label_names_ = list(Y.names)
    if classifier.columns_ is not None:
        raise ValueError(
            "Labels of stored cases must be 0, 1 or NaN, one column per label; these "
            "are columns of several classes. Encode them, e.g. with OneHotEncoder."
        )
    generator = encoding.fit_generator(classifier.random_state)
    cases = StoredCases(classifier, X, Y)
    # the sample is only a part of the cases: none of it is held out to stop early
    train, held_out = sample, None
    if validation is not None:
        train, held_out = members.hold_out(classifier, sample, validation, generator)
    classifier._make_models(generator, sample)
    classifier._learn_stored_candidates(train, cases.all())
    loader = BatchLoader(cases, classifier.batch_size, classifier._with_candidates)
    classifier.histories_ = members.train(
        classifier,
        loader,
        held_out,
        classifier.n_epochs,
        generator,
        augment,
        stored=True,
    )
    class_weights.apply(classifier, sample)
    classifier.n_iter_ = max(len(history.epochs) for history in classifier.histories_)
    classifier._measure(held_out)


def check_labels(X: StoredRows, Y: Any) -> None:
    """Require labels of the same cases."""
    if isinstance(Y, StoredRows):
        check_alike(X, Y)
    elif not isinstance(Y, np.ndarray | Tensor) or len(Y) != len(X):
        size = f"{len(Y)} rows" if hasattr(Y, "__len__") else "no rows"
        raise ValueError(
            "Labels of stored inputs must be stored rows or an array with one row for "
            f"each of the {len(X)} cases; got {type(Y).__name__} with {size}."
        )


def _check(classifier: Any, sample_weight: Any, validation: Any) -> None:
    """Refuse what would need all cases in memory."""
    if sample_weight is not None:
        raise ValueError("`sample_weight` is not supported for stored inputs.")
    if classifier.warm_start:
        raise ValueError("`warm_start` is not supported for stored inputs.")
    asks_to_stop = classifier.early_stopping != "auto" and classifier.early_stopping
    holds_out = asks_to_stop or classifier.thresholds is not None
    if holds_out and validation is None:
        raise ValueError(
            "Early stopping and thresholds need held-out cases in memory where the "
            "inputs are stored in files: pass `validation=(X, y)`."
        )


def _sample_labels(X: StoredRows, Y: Any, n_rows: int) -> Any:
    """The labels of the rows that `X.sample` takes."""
    if isinstance(Y, StoredRows):
        return Y.sample(n_rows)
    places = X.sample_places(n_rows)
    starts = X.starts
    return Y[np.concatenate([starts[part] + own for part, own in places.items()])]


def _blocks(pieces: Iterator[Batch], n_cases: int) -> Iterator[Batch]:
    """Pieces joined until they have at least `n_cases`."""
    waiting: list[Batch] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(part.n_cases for part in waiting) >= n_cases:
            yield _join(waiting)
            waiting = []
    if waiting:
        yield _join(waiting)


def _join(parts: list[Batch]) -> Batch:
    inputs = [part.u for part in parts if part.u is not None]
    return Batch(torch.cat(inputs), torch.cat([part.v for part in parts]))


def _unchanged(batch: Any) -> Any:
    return batch
