"""States that an objective keeps for each training case, from update to update."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from crbm.types import Batch
from crbm.units import Units

NEEDS_ROWS = (
    "This objective keeps states for each training case, so it must recognise the "
    "cases, but these batches do not say which rows they hold. Train on a Batch or on "
    "a map-style Dataset instead of a stream, or use Perceptron."
)


class CaseMemory:
    """A bounded number of states per training case.

    Discrete states are stored as bytes.

    Parameters
    ----------
    n_states
        States per case.
    """

    def __init__(self, n_states: int) -> None:
        self.n_states = n_states
        self.states: Tensor | None = None
        self.counts = torch.zeros(0, dtype=torch.int64)

    def read(
        self,
        rows: Int[Tensor, " batch"],
        v: Float[Tensor, "batch visible"],
        units: Units,
    ) -> tuple[Float[Tensor, "batch states visible"], Bool[Tensor, "batch states"]]:
        """The states of some cases with outputs like v, and which of them exist."""
        if self.states is None or int(rows.max()) >= len(self.counts):
            self._grow(int(rows.max()) + 1, v, units)
        assert self.states is not None
        places = torch.arange(self.n_states)
        exists = places < self.counts[rows.cpu()][:, None]
        return self.states[rows.cpu()].to(v), exists.to(v.device)

    def write(
        self,
        rows: Int[Tensor, " batch"],
        places: Int[Tensor, " batch"],
        v: Float[Tensor, "batch visible"],
    ) -> None:
        """Store a state of each case at a place, which read() has made room for."""
        assert self.states is not None
        rows, places = rows.cpu(), places.cpu()
        self.states[rows, places] = v.to(self.states)
        self.counts[rows] = torch.maximum(self.counts[rows], places + 1)

    def _grow(self, n_rows: int, v: Tensor, units: Units) -> None:
        """Make room for at least `n_rows` cases."""
        before = len(self.counts)
        n_rows = max(n_rows, 2 * before)
        if self.states is None:
            is_whole = units.is_finite and bool((v == v.round()).all())
            dtype = torch.int8 if is_whole else v.dtype
            self.states = torch.zeros(0, self.n_states, v.shape[1], dtype=dtype)
        pad = (0, 0, 0, 0, 0, n_rows - before)
        self.states = torch.nn.functional.pad(self.states, pad)
        self.counts = torch.nn.functional.pad(self.counts, (0, n_rows - before))

    def state(self) -> dict[str, Tensor]:
        """The memory, for a checkpoint."""
        if self.states is None:
            return {}
        return {"states": self.states, "counts": self.counts}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue with the memory of a checkpoint."""
        if not state:
            return
        if state["states"].shape[:2] != (len(state["counts"]), self.n_states):
            raise ValueError("The stored states do not fit this objective.")
        self.states, self.counts = state["states"].clone(), state["counts"].clone()


def rows_of(batch: Batch) -> Int[Tensor, " batch"]:
    """The rows of a batch in the training data; batches without them are refused."""
    if batch.rows is None:
        raise ValueError(NEEDS_ROWS)
    return batch.rows


def number_rows(batch: Batch) -> Batch:
    """The batch as its own training data, where it has no row numbers."""
    if batch.rows is not None:
        return batch
    return batch._replace(rows=torch.arange(batch.n_cases, device=batch.v.device))
