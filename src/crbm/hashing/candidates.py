"""Candidate outputs V(u): the outputs of training cases with similar inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Float, Int, Int64, UInt64
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn.functional import pad

from crbm import checks
from crbm.hashing import outputs
from crbm.hashing.arrays import Matrix, as_matrix
from crbm.hashing.codes import check_n_bits, pack
from crbm.hashing.growing import GrowingIndex
from crbm.hashing.index import CodeIndex
from crbm.hashing.packed_sets import PackedSets
from crbm.hashing.ragged import CandidateIds, Groups, Ragged
from crbm.hashing.spectral import SpectralHash
from crbm.types import Candidates


class CandidateSets(BaseEstimator):  # type: ignore[misc]
    """For each input, the outputs of training inputs whose codes are near its own.

    Parameters
    ----------
    n_bits
        Length of the codes; fewer bits make larger sets.
    radius
        Largest Hamming distance of a near code. If no code is within it, the nearest
        codes are used, so that no set is empty. None means all outputs seen in
        training, for every input. It can be changed after fitting.

    Attributes
    ----------
    table_
        The distinct outputs, (n_outputs, n_labels), float32; those of `fit` in
        lexicographic order. Unpacked from `packed_`, which holds one bit per label.
    counts_
        How often each of them was seen, weighted by `sample_weight`; None in files of
        versions that did not count.
    hash_
        The fitted `SpectralHash` of the inputs.
    index_
        The `GrowingIndex` from codes to rows of the table.

    Notes
    -----
    V(u) of [1]_, Section 6.1 and Eq. 15; with `radius=None` the V of Eq. 14. Rows of V
    with NaN (unknown labels) are left out of the table; their inputs still count for
    the hash.

    Examples
    --------
    >>> U = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> V = np.array([[1, 0], [1, 0], [0, 1], [1, 1]])
    >>> sets = CandidateSets(n_bits=1, radius=0).fit(U, V)
    >>> sets.table_.tolist()
    [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> sets.candidates(np.array([[0.8]])).table.tolist()
    [[[0.0, 1.0], [1.0, 1.0]]]
    """

    n_bits: int
    radius: int | None

    @no_type_check  # scikit-learn: `__init__` stores any value, `fit` checks it
    def __init__(self, n_bits: int = 7, radius: int | None = 1) -> None:
        self.n_bits = n_bits
        self.radius = radius

    def fit(self, U: Any, V: Any, sample_weight: Any = None) -> CandidateSets:
        """Learn the hash of the inputs U and index the outputs V by it.

        U and V have one row per case and are NumPy arrays, SciPy matrices or tensors.
        `sample_weight` affects the hash and the counts.
        """
        self._check_radius()
        rows = outputs.pack_rows(as_matrix("V", V))
        _check_any_complete(rows, "propose")
        hashing = SpectralHash(self.n_bits).fit(U, sample_weight=sample_weight)
        codes = pack(hashing.encode(U))
        _check_same_length(len(codes), len(rows.keys))
        self.hash_ = hashing
        weight = np.ones(len(codes)) if sample_weight is None else sample_weight
        return self._set_index(codes, rows, np.asarray(weight, dtype=np.float64))

    def start(self, U: Any, n_labels: int) -> CandidateSets:
        """Learn the hash of the inputs U only; `partial_fit` then adds cases."""
        self._check_radius()
        self.hash_ = SpectralHash(self.n_bits).fit(U)
        self.index_ = GrowingIndex()
        self.packed_ = PackedSets.empty(n_labels)
        self.counts_: Tensor | None = torch.zeros(0)
        return self

    def partial_fit(self, U: Any, V: Any) -> CandidateSets:
        """Add cases to the index; the hash stays that of the first call.

        The time follows the number of new cases. New outputs come last in the table.
        """
        if not hasattr(self, "index_"):
            return self.fit(U, V)
        rows = self._rows(as_matrix("V", V))
        codes = pack(self.hash_.encode(U))
        _check_same_length(len(codes), len(rows.keys))
        packed, ids = self.packed_.extended(rows)
        index = self.index_.add(codes[rows.complete], ids, self.n_bits)
        counts = self.counts_
        if counts is not None:
            counts = pad(counts, (0, len(packed) - len(counts)))
            own, n_own = np.unique(ids, return_counts=True)
            counts[torch.from_numpy(own)] += torch.from_numpy(n_own)
        self.packed_, self.index_, self.counts_ = packed, index, counts
        return self

    def check_any(self) -> None:
        """Raise if no case so far had all its labels known."""
        if not len(self.packed_):
            raise ValueError("`V` must have at least one row without NaN to propose.")

    def _set_index(
        self,
        codes: UInt64[np.ndarray, " cases"],
        rows: outputs.PackedRows,
        weight: Float[np.ndarray, " cases"],
    ) -> CandidateSets:
        packed, ids = outputs.distinct(rows)
        self.packed_ = PackedSets(packed, rows.n_labels)
        index = GrowingIndex()
        self.index_ = index.add(codes[rows.complete], ids, self.n_bits)
        counts = np.bincount(ids, weight[rows.complete], len(packed))
        self.counts_ = torch.from_numpy(counts).float()
        return self

    @property
    def table_(self) -> Float[Tensor, "outputs labels"]:
        """The distinct outputs as float32."""
        return self.packed_.dense()

    def state(self) -> dict[str, Tensor]:
        """Everything that was fitted, as named tensors."""
        check_is_fitted(self)
        index = self.index_.whole()
        arrays = {
            "components": self.hash_.components_,
            "lower": self.hash_.lower_,
            "extent": self.hash_.extent_,
            "directions": self.hash_.directions_.astype(np.int64),
            "wave_numbers": self.hash_.wave_numbers_.astype(np.int64),
            "codes": index.codes.view(np.int64),
            "ends": index.outputs.indptr,
            "ids": index.outputs.ids,
            "packed": np.array(self.packed_.packed),
            "n_labels": np.array(self.packed_.n_labels),
        }
        tensors = {f"sets.{name}": torch.from_numpy(a) for name, a in arrays.items()}
        if self.counts_ is not None:
            tensors["sets.counts"] = self.counts_
        return tensors

    def restored(self, tensors: Mapping[str, Tensor]) -> CandidateSets:
        """Load the tensors of `state`; raises if they are inconsistent."""
        arrays = {
            name.removeprefix("sets."): tensor.numpy()
            for name, tensor in tensors.items()
            if name.startswith("sets.")
        }
        check_n_bits(self.n_bits)
        self._check_radius()
        self.hash_ = SpectralHash(self.n_bits)._restore(arrays)
        self.packed_ = _restored_sets(arrays)
        self.counts_ = _restored_counts(arrays.get("counts"), len(self.packed_))
        outputs_of = Ragged(arrays["ends"], arrays["ids"])
        codes = arrays["codes"].view(np.uint64)
        _check_index(codes, outputs_of, len(self.packed_))
        self.index_ = GrowingIndex((CodeIndex(codes, outputs_of, self.n_bits),))
        return self

    def candidates(self, U: Any) -> Candidates:
        """The outputs V(u) of each row of U.

        The tensor holds every set in full; `ids` takes far less memory.
        """
        ids, mask = self.ids(U)
        if self.radius is None:
            return Candidates(self.table_.expand(len(ids), -1, -1), mask)
        return Candidates(self.table_[ids], mask)

    def ids(self, U: Any) -> CandidateIds:
        """V(u) of each row of U as rows of `table_`.

        With `radius=None` both tensors are expanded views of one row.
        """
        return self.groups(U).padded()

    def ragged(self, U: Any) -> Ragged:
        """V(u) of each row of U as rows of `table_`, without padding."""
        return self.groups(U).ragged()

    def groups(self, U: Any) -> Groups:
        """V(u) of each row of U as rows of `table_`, one set per distinct code.

        The compact form for a whole data set, because many cases share a short code.
        `groups.select(cases).padded()` gives the tensors of a batch.
        """
        check_is_fitted(self)
        self._check_radius()
        codes = pack(self.hash_.encode(U))
        if self.radius is not None:
            return self.index_.groups(codes, radius=self.radius)
        n_outputs = len(self.packed_)
        all_outputs = Ragged(
            np.array([0, n_outputs]), np.arange(n_outputs, dtype=np.int32)
        )
        return Groups(np.zeros(len(codes), dtype=np.int64), all_outputs)

    def sizes(self, U: Any) -> Int[np.ndarray, " cases"]:
        """The number of outputs in V(u), for each row of U."""
        return self.groups(U).sizes

    def recall(self, U: Any, V: Any) -> float:
        """The share of cases whose true output is in V(u).

        Cases with unknown labels (NaN) do not count.
        """
        groups, V = self.groups(U), as_matrix("V", V)
        _check_same_length(len(groups.which), V.shape[0])
        rows = self._rows(V)
        _check_any_complete(rows, "judge")
        return float(groups.contains(self.packed_.locate(rows))[rows.complete].mean())

    def locate(self, V: Any) -> Int64[np.ndarray, " cases"]:
        """The index of each row of V in `table_`, or -1 if it is not there.

        Rows with unknown labels (NaN) get -1.
        """
        check_is_fitted(self)
        return self.packed_.locate(self._rows(as_matrix("V", V)))

    def _rows(self, V: Matrix) -> outputs.PackedRows:
        n_labels = self.packed_.n_labels
        if V.shape[1] != n_labels:
            raise ValueError(
                f"`V` must have {n_labels} columns, one per label seen in fitting; got "
                f"shape {V.shape}."
            )
        return outputs.pack_rows(V)

    def _check_radius(self) -> None:
        if self.radius is not None:
            checks.whole_number("radius", self.radius, at_least=0)


def _check_index(
    codes: UInt64[np.ndarray, " codes"], outputs_of: Ragged, n_outputs: int
) -> None:
    ends, ids = outputs_of
    if not (codes.ndim == ends.ndim == ids.ndim == 1 and ids.dtype == np.int32):
        raise ValueError("the index of codes has arrays of the wrong kind")
    complete = len(ends) == len(codes) + 1 and ends[0] == 0 and ends[-1] == len(ids)
    ordered = (np.diff(ends) > 0).all() and (codes[1:] > codes[:-1]).all()
    if not (
        complete and ordered and len(codes) and ids.min() >= 0 and ids.max() < n_outputs
    ):
        raise ValueError("the index of codes does not fit its table of outputs")


def _restored_sets(arrays: Mapping[str, np.ndarray]) -> PackedSets:
    """The table of outputs; files of earlier versions hold one byte per label."""
    if "table" in arrays:
        table = arrays["table"]
        return PackedSets(outputs.pack_rows(table).packed, table.shape[1])
    packed, n_labels = arrays["packed"], int(arrays["n_labels"])
    if packed.dtype != np.uint8 or packed.ndim != 2 or not packed.size:
        raise ValueError("the table of outputs has the wrong kind")
    fits = n_labels > 0 and packed.shape[1] == -(-n_labels // 8)
    padding = packed[:, -1] & np.uint8(2 ** (-n_labels % 8) - 1)
    if not fits or padding.any():
        raise ValueError("the table of outputs does not fit its number of labels")
    return PackedSets(packed, n_labels)


def _restored_counts(counts: np.ndarray | None, n_outputs: int) -> Tensor | None:
    if counts is None:
        return None
    if counts.shape != (n_outputs,) or not (counts > 0).all():
        raise ValueError("the counts of the outputs do not fit their table")
    return torch.from_numpy(counts)


def _check_same_length(n_inputs: int, n_outputs: int) -> None:
    if n_inputs != n_outputs:
        raise ValueError(
            f"`U` and `V` must have one row per case each; `U` has {n_inputs} and `V` "
            f"has {n_outputs}."
        )


def _check_any_complete(rows: outputs.PackedRows, purpose: str) -> None:
    if not rows.complete.any():
        raise ValueError(
            f"`V` must have at least one row without NaN to {purpose}; each of its "
            f"{len(rows.complete)} rows lacks a label."
        )
