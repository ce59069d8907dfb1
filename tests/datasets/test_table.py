from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import issparse

from crbm.datasets import read, write

TABLE = "weight,dog,cat\n30.5,1,0\n\n4,0,1\n"


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_round_trip(tmp_path, small, assert_same, ending):
    file = tmp_path / f"small{ending}"
    if issparse(small.X):
        with pytest.raises(ValueError, match="sparse data cannot be a table"):
            write(file, small)
        return
    write(file, small)
    assert_same(read(file, labels=list(small.label_names)), small)
    assert_same(read(file, labels=-2), small)


def test_labels_are_named_or_counted(put):
    path = put("pets.csv.gz", gzip.compress(TABLE.encode()))
    assert read(path, labels=["cat", "dog"]).Y.tolist() == [[0, 1], [1, 0]]
    assert read(path, labels=-1).label_names == ("cat",)
    assert read(path, labels="dog").label_names == ("dog",)
    assert read(path, labels=()).X.shape == (2, 3)


def test_a_byte_order_mark_and_windows_lines_are_fine(put):
    path = put("pets.csv", b"\xef\xbb\xbf" + TABLE.replace("\n", "\r\n").encode())
    assert read(path, labels=-2).feature_names == ("weight",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file is empty"),
        ("weight,dog\n", "no rows after the header"),
        (TABLE.replace("4,0,1", "4,0"), "line 4: Expected 3 columns, got 2"),
        (TABLE.replace("4,0,1", "4,0,1,1"), "line 4: Expected 3 columns, got 4"),
        (TABLE.replace("4,0,1", "heavy,0,1"), "line 4: .*invalid value 'heavy'"),
        (TABLE.replace("4,0,1", ",0,1"), "line 4: a value is NaN or missing"),
        (TABLE.replace("4,0,1", "nan,0,1"), "line 4: a value is NaN or missing"),
        (TABLE.replace("4,0,1", "inf,0,1"), "line 4: inf does not fit"),
        (TABLE.replace("4,0,1", "4,0,2"), "line 4: a label must be 0 or 1, not 2"),
        (TABLE.replace("4,0,1", "4,0,"), "line 4: a label must be 0 or 1, not nan"),
        (TABLE.replace("cat", "dog"), "column name `dog` appears twice"),
    ],
)
def test_damaged_csv_is_named_with_its_line(put, text, message):
    path = put("bad.csv", text)
    with pytest.raises(ValueError, match=message) as caught:
        read(path, labels=-1)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labels_must_be_named(put):
    path = put("pets.csv", TABLE)
    with pytest.raises(ValueError, match="pass `labels`"):
        read(path)
    with pytest.raises(ValueError, match="label `bird` is not a column"):
        read(path, labels=["bird"])


def test_parquet_takes_integers_and_booleans(tmp_path):
    file = tmp_path / "a.parquet"
    table = {"x": pa.array([1, 2], pa.int32()), "y": pa.array([True, False])}
    pq.write_table(pa.table(table), file)
    data = read(file, labels=["y"])
    assert data.X.tolist() == [[1], [2]]
    assert data.Y.tolist() == [[1], [0]]


def test_damaged_parquet_is_named(tmp_path, put):
    with pytest.raises(ValueError, match=r"bad.parquet`: not a complete Parquet file"):
        read(put("bad.parquet", b"PAR1 nothing"), labels=())
    for column, message in [
        (pa.array(["a", "b"]), "column `x` has type string"),
        (pa.array([1.0, None]), "line 2: a value is NaN or missing"),
    ]:
        file = tmp_path / "a.parquet"
        pq.write_table(pa.table({"x": column}), file)
        with pytest.raises(ValueError, match=message):
            read(file, labels=())


def test_a_small_parquet_of_many_rows_is_refused_before_it_is_read(tmp_path):
    """A constant column of 20 million rows takes a few kilobytes."""
    file = tmp_path / "bomb.parquet"
    column = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(20_000_000, np.int8)), pa.array([1.0])
    )
    pq.write_table(pa.table({"x": column}), file)
    assert file.stat().st_size < 100_000
    with pytest.raises(
        ValueError, match="uncompressed size is 160000000 bytes; 1000000 are"
    ):
        read(file, labels=(), max_bytes=10**6)
