"""Damaged files that are read a piece at a time are named in one line."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from crbm.datasets import open_rows, open_table

TABLE = pa.table({"x": np.arange(100.0), "y": np.arange(100) % 2})


@pytest.mark.parametrize("ending", ["parquet", "arrow", "npy"])
@pytest.mark.parametrize("keep", [0, 9, 300])
def test_the_rest_of_a_file_is_refused(ending, keep, tmp_path):
    file = tmp_path / f"b.{ending}"
    pq.write_table(TABLE, tmp_path / "a.parquet")
    if ending == "parquet":
        pq.write_table(TABLE, file)
    elif ending == "arrow":
        feather.write_feather(TABLE, file)
    else:
        np.save(file, np.ones((100, 2)))
    file.write_bytes(file.read_bytes()[:keep])
    source = tmp_path if ending == "parquet" else file
    with pytest.raises(ValueError, match=rf"b\.{ending}`: not a complete") as raised:
        open_rows(source)
    assert str(raised.value).isprintable()


def test_a_file_damaged_in_the_middle_is_named_when_it_is_read(tmp_path):
    file = tmp_path / "a.parquet"
    pq.write_table(TABLE, file, compression="none", use_dictionary=False)
    content = bytearray(file.read_bytes())
    content[4:40] = bytes(36)  # the header of the first page
    file.write_bytes(content)
    X, _ = open_table(file, ["y"])
    with pytest.raises(ValueError, match=r"a\.parquet`: not a complete table"):
        list(X.all_pieces())


@pytest.mark.parametrize(("declared", "what"), [(150, "50 rows less"), (60, "40 rows")])
def test_other_numbers_of_rows_than_declared_are_refused(declared, what, tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    rows = open_rows(tmp_path)
    rows.part_sizes = (declared,)
    with pytest.raises(ValueError, match=rf"a\.parquet`: damaged \({what}"):
        list(rows.all_pieces())


def test_names_of_columns_are_printable(tmp_path):
    table = pa.table({"x\x1b[2J": [1.0], "word\x1b[2J": ["a"]})
    pq.write_table(table, tmp_path / "a.parquet")
    for columns in (None, ["z"]):
        with pytest.raises(ValueError, match=r"\\x1b\[2J") as raised:
            open_rows(tmp_path, columns)
        assert str(raised.value).isprintable()
