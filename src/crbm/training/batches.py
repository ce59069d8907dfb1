"""Sources of mini-batches: cases in memory, data sets of any size, loaders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Generator, Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

from crbm.models import EnergyModel
from crbm.training.randomness import seeding
from crbm.types import Batch, Candidates, Cases

Data: TypeAlias = Cases | Dataset[Any] | DataLoader[Any]


class Shard(NamedTuple):
    """Every `step`-th case of each batch, from the `first` on; all by default.

    If a batch has fewer cases than there are shards, the spare shards process its first
    case with weight 0.
    """

    first: int = 0
    step: int = 1

    def places(self, n_cases: int) -> slice:
        """Where the cases of this shard are in a batch."""
        spare = self.first >= n_cases
        return slice(0, 1) if spare else slice(self.first, None, self.step)

    def weigh(self, batch: Batch, n_cases: int) -> Batch:
        """This shard of a batch that had `n_cases`; weight 0 if it is a spare one."""
        if self.first < n_cases:
            return batch
        return batch._replace(weight=batch.v.new_zeros(batch.n_cases))


WHOLE = Shard()


class InMemory(NamedTuple):
    """Cases in memory, checked once and drawn in random order."""

    cases: Cases

    def batches(
        self, batch_size: int, generator: Generator | None, shard: Shard = WHOLE
    ) -> Iterator[Batch]:
        """The batches of one epoch; the last may be smaller."""
        order = torch.randperm(self.cases.n_cases, generator=generator)
        for chosen in order.to(self.cases.v.device).split(batch_size):
            mine = chosen[shard.places(len(chosen))]
            batch = self.cases.select(mine)._replace(rows=mine)
            yield shard.weigh(batch, len(chosen))


class Streamed(NamedTuple):
    """Cases that are read when they are needed."""

    source: Dataset[Any] | DataLoader[Any]
    model: EnergyModel

    def batches(
        self, batch_size: int, generator: Generator | None, shard: Shard = WHOLE
    ) -> Iterator[Batch]:
        """The batches of one epoch, converted to the model's kind and checked.

        Samplers and data sets draw from the global generator. In random order a data
        set gives the same run as its cases in memory.
        """
        source = self.source
        if isinstance(source, IterableDataset):
            source = DataLoader(source, batch_size, collate_fn=stack)
        if isinstance(source, DataLoader):
            # The objective may draw nothing, and each epoch needs an order of its own.
            torch.rand((), generator=generator)
            batches = self._from_loader(source, shard)
        else:
            batches = self._in_random_order(batch_size, generator, shard)
        with seeding(generator):
            yield from batches

    def _from_loader(self, loader: DataLoader[Any], shard: Shard) -> Iterator[Batch]:
        """This shard of the batches of a loader."""
        for items in loader:
            batch = self._convert(items)
            mine = batch.select(shard.places(batch.n_cases))
            yield shard.weigh(mine, batch.n_cases)

    def _in_random_order(
        self, batch_size: int, generator: Generator | None, shard: Shard
    ) -> Iterator[Batch]:
        """Batches in random order; only this shard of each is read."""
        n_cases = len(self.source)  # type: ignore[arg-type]
        order = torch.randperm(n_cases, generator=generator)
        for chosen in order.split(batch_size):
            mine = chosen[shard.places(len(chosen))]
            batch = self._convert(stack(self._read(mine.tolist())))
            yield shard.weigh(batch._replace(rows=mine), len(chosen))

    def _read(self, places: list[int]) -> Sequence[Any]:
        read_many = getattr(self.source, "__getitems__", None)
        if read_many is not None:
            return read_many(places)
        return [self.source[place] for place in places]  # type: ignore[index]

    def _convert(self, items: Any) -> Batch:
        """A loader's batch in the model's precision and on its device, checked."""
        batch, like = Batch(*items), next(self.model.parameters())
        batch = Batch(
            _like(batch.u, like),
            torch.as_tensor(batch.v).to(like),
            _candidates_like(batch.candidates, like),
            _like(batch.weight, like),
        )
        self.model.check_cases(batch)
        return batch


def source(model: EnergyModel, data: Data) -> InMemory | Streamed:
    """Training data of any kind as something to draw batches from.

    Parameters
    ----------
    model
        The model that learns from them.
    data
        A `Batch` or other `Cases`; a map-style data set of torch, read in random order;
        an iterable one, read in its own order; or a DataLoader, whose batches are
        taken as they come. Items are (u, v) or `Batch`, u being None for a model
        without inputs.
    """
    if isinstance(data, Cases):
        model.check_cases(data)
        return InMemory(data)
    if not isinstance(data, Dataset | DataLoader):
        raise TypeError(
            "`data` must be a Batch, or a Dataset or DataLoader of torch.utils.data; "
            f"got {type(data).__name__}."
        )
    return Streamed(data, model)


def stack(items: Sequence[Any]) -> Batch:
    """Single cases, (u, v) or `Batch`, as a batch.

    Examples
    --------
    >>> stack([(torch.zeros(2), torch.ones(3)), (torch.ones(2), torch.ones(3))]).u
    tensor([[0., 0.],
            [1., 1.]])
    """
    fields = [_column(values) for values in zip(*items, strict=True)]
    return Batch(*fields)  # type: ignore[arg-type]


def _column(values: Sequence[Any]) -> Tensor | None:
    if values[0] is None:
        return None
    return torch.stack([torch.as_tensor(value) for value in values])


def _candidates_like(candidates: Any, like: Tensor) -> Candidates | None:
    if candidates is None:
        return None
    table, mask, ids, log_base = Candidates.of(candidates)
    return Candidates(table.to(like), mask, ids, _like(log_base, like))


def _like(field: Any, like: Tensor) -> Tensor | None:
    return None if field is None else torch.as_tensor(field).to(like)
