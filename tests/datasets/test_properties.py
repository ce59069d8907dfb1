"""Whatever the bytes, a reader succeeds or raises its one-line ValueError."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from crbm.datasets import Dataset, read, write
from crbm.datasets.formats import idx, mulan_xml

examples = settings(max_examples=80, deadline=None, derandomize=True)
cells = st.floats(width=32, allow_nan=False, allow_infinity=False)
safe = st.text(
    st.characters(
        codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="'\"\\"
    ),
    min_size=1,
    max_size=8,
)


@st.composite
def fields(draw: st.DrawFn) -> dict[str, Any]:
    """What a data set is made of; made in the test, where beartype may roll dice."""
    n_rows = draw(st.integers(1, 5))
    names = draw(st.lists(safe, min_size=2, max_size=7, unique=True))
    n_labels = draw(st.integers(1, len(names) - 1))
    n_features = len(names) - n_labels
    X = draw(arrays(np.float32, (n_rows, n_features), elements=cells, fill=st.just(0)))
    Y = draw(arrays(np.uint8, (n_rows, n_labels), elements=st.integers(0, 1)))
    return {
        "X": csr_array(X) if draw(st.booleans()) else X,
        "Y": Y,
        "feature_names": tuple(names[:n_features]),
        "label_names": tuple(names[n_features:]),
    }


@examples
@given(parts=fields())
@pytest.mark.parametrize("ending", ["arff", "npz", "libsvm"])
def test_round_trip(scratch, assert_same, ending, parts):
    data, file = Dataset(**parts), scratch / f"trip.{ending}"
    write(file, data)
    if ending == "libsvm":
        options = {"labels": data.label_names, "n_features": data.X.shape[1]}
        expected = Dataset(X=csr_array(data.X), Y=data.Y, label_names=data.label_names)
        assert_same(read(file, **options), expected)
    else:
        assert_same(read(file), data)


@examples
@given(parts=fields())
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_round_trip_of_tables(scratch, assert_same, ending, parts):
    X = parts["X"] if isinstance(parts["X"], np.ndarray) else parts["X"].toarray()
    data = Dataset(**parts | {"X": X})
    file = scratch / f"trip.{ending}"
    write(file, data)
    assert_same(read(file, labels=data.label_names), data)


@examples
@given(
    values=st.sampled_from(["u1", "i2", "f4"]).flatmap(
        lambda kind: arrays(kind, st.lists(st.integers(0, 4), min_size=1, max_size=4))
    )
)
def test_round_trip_of_idx(scratch, values):
    file = scratch / "trip-idx"
    idx.write_array(file, values)
    np.testing.assert_array_equal(idx.read_array(file), values)


@examples
@given(names=st.lists(safe, min_size=1, max_size=5, unique=True))
def test_round_trip_of_label_names(scratch, names):
    mulan_xml.write(scratch / "trip.xml", names)
    assert mulan_xml.read(scratch / "trip.xml") == tuple(names)


def outcome(path: Path, **options: object) -> None:
    """Reads, and lets nothing pass but success or our error."""
    message = ""
    try:
        read(path, **options)
    except ValueError as error:
        message = str(error)
    assert not message or (str(path) in message and "\n" not in message)


ARFF_PIECES = [
    "@relation r\n", "@relation 'r: -C 1'\n", "@relation 'r: -C -2'\n", "@attribute a ",
    "@attribute 'b' ", "@attribute ", "{0,1}\n", "{0, 1", "numeric\n", "integer\n",
    "\t",
    "@data\n", "@DATA", "0,1\n", "{0 1}\n", "{0 1,0 1}", "{", "}", "'", '"', "\\", "%",
    ",", "?", "nan", "1e999", "inf", "-", "\n", "\r\n", " ", "\x00", "\x1c", "é", "1_0",
]  # fmt: skip
LIBSVM_PIECES = [
    "0", "1", ",", " ", ":", "\n", "1:1 ", "2:-3.5", "0,1 1:2\n", "#", "-", "e", "nan",
    "9" * 20, "\r", "\t", "\x0b", "é", "_",
]  # fmt: skip
CSV_PIECES = [
    "a", "b", ",", "\n", "1", "0", "a,b\n", "1,0\n", '"', "\r", " ", "nan", "é", "\x00",
    "1e999", ";", "true",
]  # fmt: skip


def soup(pieces: list[str]) -> st.SearchStrategy[bytes]:
    """Grammatical pieces in any order, which reach deeper than random bytes."""
    text = st.lists(st.sampled_from(pieces), max_size=25).map("".join).map(str.encode)
    return st.one_of(text, text.map(gzip.compress), st.binary(max_size=60))


ARFF_HEAD = b"@relation 'r: -C 1'\n@attribute a {0,1}\n@attribute b numeric\n@data\n"


@examples
@given(content=st.one_of(soup(ARFF_PIECES), soup(ARFF_PIECES).map(ARFF_HEAD.__add__)))
def test_arff_survives_anything(scratch, content):
    file = scratch / "soup.arff"
    file.write_bytes(content)
    outcome(file)


@examples
@given(content=soup(LIBSVM_PIECES))
def test_libsvm_survives_anything(scratch, content):
    file = scratch / "soup.libsvm"
    file.write_bytes(content)
    outcome(file)


@examples
@given(content=soup(CSV_PIECES), labels=st.sampled_from([(), -1, 1, ("b",)]))
def test_csv_survives_anything(scratch, content, labels):
    file = scratch / "soup.csv"
    file.write_bytes(content)
    outcome(file, labels=labels)


@examples
@given(content=st.binary(max_size=40), head=st.sampled_from([b"", b"\0\0\x08\x02"]))
def test_idx_survives_anything(scratch, head, content):
    for name, pack in [("soup.idx", bytes), ("soup.idx.gz", gzip.compress)]:
        file = scratch / name
        file.write_bytes(pack(head + content))
        outcome(file)


@examples
@given(content=st.binary(max_size=80))
def test_xml_survives_anything(scratch, content):
    file = scratch / "soup.xml"
    file.write_bytes(b'<labels><label name="a"/>' + content)
    with pytest.raises(ValueError, match=r"soup.xml"):
        mulan_xml.read(file)


@pytest.fixture(scope="module")
def whole(scratch: Path) -> dict[str, bytes]:
    """One sound file of each binary format."""
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]], dtype=np.uint8)
    for name, inputs in [("a.npz", X), ("b.npz", csr_array(X)), ("c.parquet", X)]:
        write(scratch / name, Dataset(X=inputs, Y=Y))
    idx.write_array(scratch / "d.idx.gz", X)
    return {
        name: (scratch / name).read_bytes()
        for name in ("a.npz", "b.npz", "c.parquet", "d.idx.gz")
    }


@settings(examples, max_examples=120)
@given(data=st.data())
@pytest.mark.parametrize("name", ["a.npz", "b.npz", "c.parquet", "d.idx.gz"])
def test_damaged_binary_files_are_refused_or_read(scratch, whole, name, data):
    """Cut at any byte, or any few bytes overwritten."""
    content = bytearray(whole[name])
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        patch = data.draw(st.binary(min_size=1, max_size=8))
        content[place : place + len(patch)] = patch
    file = scratch / f"damaged-{name}"
    file.write_bytes(content)
    outcome(file, **({"labels": ()} if name == "c.parquet" else {}))
