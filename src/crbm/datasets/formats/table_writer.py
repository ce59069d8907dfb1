"""Write CSV and Parquet tables: the features, then the labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scipy.sparse import issparse

from crbm.datasets.dataset import Dataset
from crbm.datasets.formats._common import file_error, require


def write_csv(path: Path | str, data: Dataset) -> None:
    """Write a CSV file with a header."""
    csv = require("pyarrow.csv", "pyarrow", "Writing CSV")
    names = (*data.feature_names, *data.label_names)
    if any("\n" in name or "\r" in name for name in names):
        raise file_error(path, "a column name has a line break. Rename it.")
    csv.write_csv(_table(path, data), str(path))


def write_parquet(path: Path | str, data: Dataset) -> None:
    """Write a Parquet file."""
    parquet = require("pyarrow.parquet", "pyarrow", "Writing Parquet")
    parquet.write_table(_table(path, data), str(path))


def _table(path: Path | str, data: Dataset) -> Any:
    pa = require("pyarrow", "pyarrow", "Writing tables")
    if issparse(data.X) or issparse(data.Y):
        raise file_error(
            path, "sparse data cannot be a table. Write libsvm, ARFF or NPZ."
        )
    columns = [*data.X.T, *data.Y.T]
    names = [*data.feature_names, *data.label_names]
    return pa.Table.from_arrays([pa.array(column) for column in columns], names=names)
