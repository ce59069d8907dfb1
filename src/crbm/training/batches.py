"""Where mini-batches come from: cases in memory, data sets of any size, loaders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Generator, Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

from crbm.models import EnergyModel
from crbm.types import Batch, Candidates, Cases

Data: TypeAlias = Cases | Dataset[Any] | DataLoader[Any]


class Part(NamedTuple):
    """Every `step`-th case of each batch, from the `first` on; all unless told.

    A batch that is too small for this part lends its first case, which then counts
    nothing.
    """

    first: int = 0
    step: int = 1

    def places(self, n_cases: int) -> slice:
        """Where the cases of this part are in a batch."""
        lent = self.first >= n_cases
        return slice(0, 1) if lent else slice(self.first, None, self.step)

    def counted(self, batch: Batch, n_cases: int) -> Batch:
        """The part of a batch that had `n_cases`, a lent case with no weight."""
        if self.first < n_cases:
            return batch
        return batch._replace(weight=batch.v.new_zeros(batch.n_cases))


WHOLE = Part()


class InMemory(NamedTuple):
    """Cases that were checked once and are drawn from in random order."""

    cases: Cases

    def batches(
        self, batch_size: int, generator: Generator | None, part: Part = WHOLE
    ) -> Iterator[Batch]:
        """The batches of one epoch; the last may be smaller."""
        order = torch.randperm(self.cases.n_cases, generator=generator)
        for chosen in order.to(self.cases.v.device).split(batch_size):
            batch = self.cases.select(chosen[part.places(len(chosen))])
            yield part.counted(batch, len(chosen))


class Streamed(NamedTuple):
    """Cases that are read when they are needed: nothing is known of all of them."""

    source: Dataset[Any] | DataLoader[Any]
    model: EnergyModel

    def batches(
        self, batch_size: int, generator: Generator | None, part: Part = WHOLE
    ) -> Iterator[Batch]:
        """The batches of one epoch, converted to the model's kind and checked."""
        with seeded(generator):
            if isinstance(self.source, IterableDataset):
                loader = DataLoader(self.source, batch_size, collate_fn=stacked)
                found = self._loaded(loader, part)
            elif isinstance(self.source, DataLoader):
                found = self._loaded(self.source, part)
            else:
                found = self._chosen(batch_size, generator, part)
            yield from found

    def _loaded(self, loader: DataLoader[Any], part: Part) -> Iterator[Batch]:
        """Batches as they come, of which this part is kept."""
        for items in loader:
            batch = self._admitted(items)
            mine = batch.select(part.places(batch.n_cases))
            yield part.counted(mine, batch.n_cases)

    def _chosen(
        self, batch_size: int, generator: Generator | None, part: Part
    ) -> Iterator[Batch]:
        """Batches in random order, of which only this part is read."""
        n_cases = len(self.source)  # type: ignore[arg-type]
        order = torch.randperm(n_cases, generator=generator)
        for chosen in order.split(batch_size):
            mine = chosen[part.places(len(chosen))].tolist()
            yield part.counted(self._admitted(stacked(self._read(mine))), len(chosen))

    def _read(self, places: list[int]) -> Sequence[Any]:
        read_many = getattr(self.source, "__getitems__", None)
        if read_many is not None:
            return read_many(places)
        return [self.source[place] for place in places]  # type: ignore[index]

    def _admitted(self, items: Any) -> Batch:
        """A batch as a loader gives it, in the model's precision and on its device."""
        batch, like = Batch(*items), next(self.model.parameters())
        batch = Batch(
            _like(batch.u, like),
            torch.as_tensor(batch.v).to(like),
            _candidates_like(batch.candidates, like),
            _like(batch.weight, like),
        )
        check_cases(self.model, batch)
        return batch


def source(model: EnergyModel, data: Data) -> InMemory | Streamed:
    """Whatever holds training cases, as something to draw batches from.

    Parameters
    ----------
    model
        What is going to learn from them.
    data
        A `Batch` or other `Cases`; a map-style data set of torch, read in random order;
        an iterable one, read in its own order; or a DataLoader, whose batches are
        taken as they come. Items are (u, v) or `Batch`, u being None for a model
        without inputs.
    """
    if isinstance(data, Cases):
        check_cases(model, data)
        return InMemory(data)
    if not isinstance(data, Dataset | DataLoader):
        raise TypeError(
            "`data` must be a Batch, or a Dataset or DataLoader of torch.utils.data; "
            f"got {type(data).__name__}."
        )
    return Streamed(data, model)


def check_cases(model: EnergyModel, data: Cases) -> None:
    """Refuse training cases that the model cannot learn from, before any update."""
    model.check_cases(data)


@contextmanager
def seeded(generator: Generator | None) -> Iterator[None]:
    """A block in which torch's global randomness follows from the generator.

    Samplers and data sets draw from the global state. It is set back afterwards, and
    the generator itself is left untouched: a data set then gives the same run as its
    cases in memory.
    """
    if generator is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(generator))
        yield


def derived_seed(generator: Generator, stream: int = 0) -> int:
    """A seed that follows from the generator's state, without drawing from it."""
    twin = generator.clone_state()
    return int(torch.randint(2**62, (stream + 1,), generator=twin)[stream])


def stacked(items: Sequence[Any]) -> Batch:
    """Single cases, (u, v) or `Batch`, as a batch.

    Examples
    --------
    >>> stacked([(torch.zeros(2), torch.ones(3)), (torch.ones(2), torch.ones(3))]).u
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
    table, mask, ids = Candidates.of(candidates)
    return Candidates(table.to(like), mask, ids)


def _like(field: Any, like: Tensor) -> Tensor | None:
    return None if field is None else torch.as_tensor(field).to(like)
