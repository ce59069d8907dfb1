"""Small Parquet and Arrow files that stand for much data are refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from crbm.datasets import open_rows, open_table, read
from crbm.datasets.formats import arrow_table, parquet_table

TOO_LARGE = r"bomb\.\w+`: the uncompressed size is (more than )?\d+ bytes; \d+ are all"


def repeated(text, n_rows, **options):
    """A column with the same text in all rows, which its file holds once."""
    codes = pa.array(np.zeros(n_rows, np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array([text]), **options)


def texts_in_lists():
    """Ten texts per row."""
    ends = np.arange(0, 10_001, 10, dtype=np.int32)
    return pa.ListArray.from_arrays(ends, repeated("x" * 4000, 10_000))


BOMBS = {
    "numbers": (lambda: repeated(1.0, 5_000_000), {}),
    "texts": (lambda: repeated("x" * 4000, 10_000), {}),
    "texts in lists": (texts_in_lists, {}),
    "bytes": (lambda: pa.array([b"x" * 1000] * 40_000, pa.binary(1000)), {}),
    "beginnings": (
        lambda: pa.array(["x" * 10_000 for _ in range(4000)]),
        {"use_dictionary": False, "column_encoding": {"x": "DELTA_BYTE_ARRAY"}},
    ),
}


@pytest.fixture
def bomb(tmp_path, monkeypatch):
    """A place for a file that may unpack to 1 MiB and 1,024 times its size."""
    monkeypatch.setattr(arrow_table, "UNPACKED_FREE", 2**20)
    return tmp_path / "bomb.parquet"


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_of_much_data_is_refused(name, bomb, monkeypatch):
    make, options = BOMBS[name]
    pq.write_table(pa.table({"x": make()}), bomb, **options)
    assert bomb.stat().st_size < 22_000
    built = []
    monkeypatch.setattr(parquet_table, "to_table", lambda *_: built.append(1))
    with pytest.raises(ValueError, match=TOO_LARGE) as raised:
        read(bomb, labels=())
    assert not built
    if name == "beginnings":  # refused while it is read
        assert "more than" in str(raised.value)


def test_equal_texts_in_an_arrow_file_are_counted(bomb):
    file = bomb.with_suffix(".arrow")
    table = pa.table({"x": BOMBS["texts"][0]()})
    feather.write_feather(table, file, compression="zstd")
    with pytest.raises(ValueError, match=TOO_LARGE):
        read(file, labels=())


def test_the_limit_follows_from_the_size_of_the_file_or_is_given(bomb):
    pq.write_table(pa.table({"x": repeated(1.0, 1_000_000)}), bomb)
    allowed = 2**20 + 1024 * bomb.stat().st_size
    with pytest.raises(ValueError, match=f"8000000 bytes; {allowed} are allowed"):
        read(bomb, labels=())
    assert read(bomb, labels=(), max_bytes=9_000_000).X.shape == (1_000_000, 1)


def test_a_folder_of_small_files_of_many_rows_is_refused(bomb):
    pq.write_table(pa.table({"x": repeated(1.0, 5_000_000)}), bomb)
    for open_one in (open_rows, lambda path, **given: open_table(path, ["x"], **given)):
        with pytest.raises(ValueError, match=TOO_LARGE):
            open_one(bomb.parent)
        open_one(bomb.parent, max_bytes=10**9)


def test_texts_of_all_encodings_are_read(tmp_path):
    """Also those that are kept as codes while they are measured."""
    table = pa.table(
        {
            "word": ["a", "b", None, "a"],
            "is": [["p", "q"], None, [], ["q"]],
            "kind": pa.array(["u", "v", "u", "v"]).dictionary_encode(),
            "begins": ["same 1", "same 2", None, "same 3"],
        }
    )
    file = tmp_path / "a.parquet"
    pq.write_table(
        table,
        file,
        use_dictionary=["word", "is", "kind"],
        column_encoding={"begins": "DELTA_BYTE_ARRAY"},
    )
    found = read(file, labels=()).X
    assert found.records() == table.to_pylist()
    assert found.roles == {"kind": "categorical"}
