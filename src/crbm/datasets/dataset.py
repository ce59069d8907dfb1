"""`Dataset`, which `load` and `read` return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from crbm import checks
from crbm.preprocessing import ClassColumns, Table

Array: TypeAlias = npt.NDArray[Any]
if TYPE_CHECKING:
    Matrix: TypeAlias = Any  # scipy ships no type hints
else:
    Matrix = Array | csr_array | Table


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Dataset:
    """Inputs, binary outputs, their names and where the data come from.

    Parameters
    ----------
    X
        Inputs (n_cases, n_features): float32, or uint8 for images. CSR if the
        source is sparse. A `Table` if there are other columns than numbers, or
        missing values; every classifier takes it.
    Y
        Outputs (n_cases, n_labels): 0 and 1 as uint8. CSR if a dense array would be
        large. float32 with NaN if some are missing. Real values if `outputs` is
        "numbers".
    name
        The data set's name, or the name of its file.
    feature_names, label_names
        One name per column; by default ``x0, x1, ...`` and ``y0, y1, ...``.
    splits
        Official splits, such as ``{"train": rows, "test": rows}``; empty if there
        are none.
    groups
        One value per case. Cases of one group belong on the same side of a split.
    input_shape, output_shape
        Shape of one case as an image, if it is one.
    licence, citation, source
        As the publishers state them.
    label_source
        The column of label sets and the separator in it, if the labels come from one.
    outputs
        "labels" (0 and 1) or "numbers", for `CRBMRegressor`.
    columns
        Where the labels are the classes of some columns: those columns.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(X=np.eye(3, dtype=np.float32), Y=np.eye(3, 2, dtype=np.uint8))
    >>> data
    Dataset(name='', X=(3, 3) dense, Y=(3, 2) dense, splits=[])
    >>> data.label_names
    ('y0', 'y1')
    >>> round(data.cardinality, 2), data.n_label_sets
    (0.67, 3)
    """

    X: Matrix
    Y: Matrix
    name: str = ""
    feature_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    splits: Mapping[str, Array] = field(default_factory=dict)
    groups: Array | None = None
    input_shape: tuple[int, ...] | None = None
    output_shape: tuple[int, ...] | None = None
    licence: str = ""
    citation: str = ""
    source: str = ""
    label_source: Mapping[str, str | None] | None = None
    outputs: str = "labels"
    columns: ClassColumns | None = None

    def __post_init__(self) -> None:
        if not self.feature_names:
            self._set("feature_names", _default_names("x", self.X.shape[1]))
        if not self.label_names:
            self._set("label_names", _default_names("y", self.Y.shape[1]))
        if issparse(self.Y):
            self._set("Y", _to_canonical(self.Y))
        _check_sizes(self)
        checks.one_of("outputs", self.outputs, ("labels", "numbers"))
        _check_inputs(self.X)
        if self.outputs == "labels":
            _check_labels(self.Y)

    def _set(self, attribute: str, value: object) -> None:
        object.__setattr__(self, attribute, value)  # the dataclass is frozen

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        return (
            f"Dataset(name={self.name!r}, X={_summary(self.X)}, "
            f"Y={_summary(self.Y)}, splits={list(self.splits)})"
        )

    def part(self, name: str) -> tuple[Matrix, Matrix]:
        """Inputs and outputs of the official split `name`."""
        if name not in self.splits:
            known = ", ".join(f"`{split}`" for split in self.splits) or "no split"
            raise ValueError(
                f"Data set `{self.name}` has {known}, not `{name}`. "
                "Use `crbm.datasets.folds` to make your own splits."
            )
        rows = self.splits[name]
        return self.X[rows], self.Y[rows]

    @property
    def targets(self) -> Matrix:
        """What to pass to `fit`: `Y`, or the table of classes that `Y` encodes."""
        return self.Y if self.columns is None else self.columns.to_table(self.Y)

    def summary(self) -> dict[str, Any]:
        """Name, number of cases and feature names, as JSON for a model file."""
        names = list(self.feature_names)
        found = {"name": self.name, "n_cases": len(self), "feature_names": names}
        if self.label_source is not None:
            found["label_source"] = dict(self.label_source)
        return found

    @property
    def cardinality(self) -> float:
        """Mean number of labels per case; missing ones do not count."""
        total = self.Y.sum() if issparse(self.Y) else np.nansum(self.Y)
        return float(total / len(self))

    @property
    def n_label_sets(self) -> int:
        """Number of distinct rows of `Y`; those with missing labels do not count."""
        if issparse(self.Y):
            bounds = self.Y.indptr[1:-1]
            return len({row.tobytes() for row in np.split(self.Y.indices, bounds)})
        complete = self.Y[~np.isnan(self.Y).any(axis=1)]
        packed = np.packbits(np.asarray(complete, dtype=np.uint8), axis=1)
        return len({row.tobytes() for row in packed})


def _default_names(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{i}" for i in range(count))


def _to_canonical(matrix: csr_array) -> csr_array:
    """A copy with sorted indices, no duplicates and no stored zeros.

    Two rows are equal exactly if their indices are.
    """
    matrix = csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _summary(matrix: Matrix) -> str:
    kind = "table" if isinstance(matrix, Table) else "dense"
    return f"{tuple(matrix.shape)} {'sparse' if issparse(matrix) else kind}"


def _check_sizes(data: Dataset) -> None:
    n_cases = data.X.shape[0]
    counts = {"`Y`": data.Y.shape[0]}
    if data.groups is not None:
        counts["`groups`"] = len(data.groups)
    for what, count in counts.items():
        if count != n_cases:
            raise ValueError(f"{what} has {count} rows and `X` has {n_cases}.")
    _check_names("feature_names", data.feature_names, data.X.shape[1])
    _check_names("label_names", data.label_names, data.Y.shape[1])
    for name, rows in data.splits.items():
        if len(rows) and (rows.min() < 0 or rows.max() >= n_cases):
            raise ValueError(
                f"Split `{name}` names row {rows.max()}; there are {n_cases} rows."
            )


def _check_names(what: str, names: Sequence[str], count: int) -> None:
    if len(names) != count:
        raise ValueError(f"`{what}` has {len(names)} names for {count} columns.")
    if len(set(names)) < count:
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"`{what}` has `{duplicate}` twice; names must be distinct.")


def _check_inputs(X: Matrix) -> None:
    stored = X.data if issparse(X) else X
    is_float = not isinstance(X, Table) and stored.dtype.kind == "f"
    if is_float and not np.isfinite(stored).all():
        raise ValueError("`X` holds NaN or infinity. Impute or drop those values.")


def _check_labels(Y: Matrix) -> None:
    outputs = Y.data if issparse(Y) else Y
    is_number = outputs.dtype.kind in "buif"
    if not is_number or checks.first_not_binary(outputs, missing=True) is not None:
        raise ValueError(
            f"Labels must be 0, 1 or NaN; `Y` ({outputs.dtype}) holds "
            f"{np.unique(outputs)[:5].tolist()}. Binarise it, e.g. with "
            "MultiLabelBinarizer."
        )
