from __future__ import annotations

import gzip
import struct
import tracemalloc

import numpy as np
import pytest

from crbm.datasets import read
from crbm.datasets.formats import idx


@pytest.mark.parametrize("kind", ["u1", "i1", "i2", "i4", "f4", "f8"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_round_trip(tmp_path, kind, ending):
    values = np.arange(-6, 18).reshape(2, 3, 4).astype(kind)
    file = tmp_path / f"a-idx3{ending}"
    idx.write_array(file, values)
    found = idx.read_array(file)
    np.testing.assert_array_equal(found, values)
    assert found.dtype == values.dtype
    assert found.dtype.isnative


def test_the_bytes_are_those_of_the_published_format(tmp_path):
    file = tmp_path / "labels-idx1-ubyte"
    idx.write_array(file, np.array([5, 0, 4], np.uint8))
    assert file.read_bytes() == bytes.fromhex("00000801 00000003 050004")


def test_images_and_classes_become_a_data_set(tmp_path):
    images, classes = tmp_path / "a-idx3-ubyte.gz", tmp_path / "b-idx1-ubyte.gz"
    idx.write_array(images, np.arange(12, dtype=np.uint8).reshape(2, 2, 3))
    idx.write_array(classes, np.array([2, 0], np.uint8))
    data = read(images, labels=str(classes))
    assert data.Y.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert data.X[1].tolist() == [6, 7, 8, 9, 10, 11]
    assert (data.input_shape, data.label_names) == ((2, 3), ("0", "1", "2"))
    assert read(images).Y.shape == (2, 0)


def test_classes_must_match_the_images(tmp_path):
    images, classes = tmp_path / "a-idx3-ubyte", tmp_path / "b-idx1-ubyte"
    idx.write_array(images, np.zeros((2, 2, 2), np.uint8))
    for values, message in [
        (np.zeros(3, np.uint8), r"b-idx1-ubyte`: 2 class numbers are needed"),
        (np.zeros(2, np.float32), "2 class numbers are needed, not float32"),
        (np.array([-1, 0], np.int32), "class numbers must be in"),
    ]:
        idx.write_array(classes, values)
        with pytest.raises(ValueError, match=message):
            read(images, labels=classes)


WHOLE = bytes.fromhex("00000802 00000002 00000003") + bytes(6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "file is empty"),
        (b"\x89PNG....", "wrong magic number 89504e47"),
        (WHOLE[:3], "wrong magic number 000008"),
        (b"\0\0\x07\x01" + WHOLE[4:], "wrong magic number 00000701"),
        (WHOLE[:9], "declares 2 axes"),
        (b"\0\0\x08\0", "declares 0 axes"),
        (WHOLE[:-1], "declares 6 bytes of shape .* the file has fewer"),
        (WHOLE + b"\0", "declares 6 bytes of shape .* the file has more"),
        (gzip.compress(WHOLE, mtime=0)[:-10], "truncated or damaged gzip"),
        (gzip.compress(WHOLE, mtime=0) + b"junk", "truncated or damaged gzip"),
        (gzip.compress(WHOLE + b"\0", mtime=0), "the file has more"),
        (gzip.compress(b"", mtime=0), "file is empty"),
    ],
)
def test_damage_is_named(put, content, message):
    path = put("bad-idx2-ubyte", content)
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_ten_gigabytes_declared_in_a_small_file_are_refused(put, pack):
    content = struct.pack(">4B2I", 0, 0, 8, 2, 100_000, 100_000) + bytes(1000)
    path = put("bad-idx2-ubyte", pack(content))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"declares 10000000000 bytes; .* cannot hold"):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_a_gzip_bomb_with_an_honest_header_meets_the_limit(put):
    content = struct.pack(">4B2I", 0, 0, 8, 2, 1000, 10_000) + bytes(10**7)
    path = put("bomb-idx2-ubyte", gzip.compress(content))
    with pytest.raises(
        ValueError, match="uncompressed size is 10000000 bytes; 1000 are allowed"
    ):
        read(path, max_bytes=1000)


def test_a_text_bomb_meets_the_limit(put):
    path = put("bomb.csv.gz", gzip.compress(b"a,b\n" + b"0,0\n" * 10**6))
    with pytest.raises(ValueError, match="uncompressed size is more than 100000 bytes"):
        read(path, labels=-1, max_bytes=100_000)
