from __future__ import annotations

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy.sparse import csr_array

from crbm.datasets import Dataset, read, write
from crbm.datasets.formats import npz


def npy(header: str, payload: bytes = b"") -> bytes:
    """A .npy member with any header at all."""
    text = header.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + payload


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return stream.getvalue()


def test_round_trip_with_splits_and_groups(tmp_path, small, assert_same):
    file = tmp_path / "small.npz"
    splits = {"train": np.array([0, 2]), "test": np.array([1])}
    groups = np.array(["a", "b", "a", "c", "b"])
    fields = {"X": small.X, "Y": csr_array(small.Y), "splits": splits}
    write(file, Dataset(**fields, groups=groups, label_names=small.label_names))
    found = read(file)
    expected = Dataset(X=small.X, Y=small.Y, label_names=small.label_names)
    assert_same(found, expected)
    assert found.groups.tolist() == groups.tolist()
    assert {name: rows.tolist() for name, rows in found.splits.items()} == {
        "train": [0, 2],
        "test": [1],
    }


def test_images_stay_bytes_and_are_flattened(tmp_path):
    file = tmp_path / "a.npz"
    np.savez(file, X=np.ones((2, 3, 4), np.uint8), Y=np.ones((2, 1), bool))
    data = read(file)
    assert (data.X.dtype, data.X.shape) == (np.uint8, (2, 12))


def test_pickles_are_refused(tmp_path):
    file = tmp_path / "evil.npz"
    np.savez(file, X=np.array([[print]], dtype=object))
    with pytest.raises(ValueError, match=r"member `X.npy`.*pickled.* refused"):
        read(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "file is empty"),
        (b"PK not a zip", "not a complete NPZ archive"),
        (
            archive(
                Z=npy(
                    "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", b"\0" * 4
                )
            ),
            "no array `X`",
        ),
        (archive(X=b"nonsense"), r"member `X.npy`: damaged"),
        (archive(X=npy("{'descr': (")), r"member `X.npy`: damaged"),
        (
            archive(
                X=npy(
                    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}",
                    b"\0" * 12,
                )
            ),
            "declares 16 bytes of shape .* 12 follow",
        ),
        (
            archive(
                X=npy(
                    "{'descr': '<f4', 'fortran_order': False, 'shape': (50000, 50000)}"
                )
            ),
            "declares 10000000000 bytes",
        ),
        (
            archive(
                X=npy(
                    "{'descr': '|O', 'fortran_order': False, 'shape': (1, 1)}",
                    b"\x80\x04.",
                )
            ),
            "pickled",
        ),
        (
            archive(
                X=npy(
                    "{'descr': '<U1', 'fortran_order': False, 'shape': (1, 1)}",
                    b"a\0\0\0",
                )
            ),
            "a table of numbers is needed",
        ),
        (
            archive(
                X=npy(
                    "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}",
                    np.float32([np.nan]).tobytes(),
                )
            ),
            "line 1: a value is NaN",
        ),
    ],
)
def test_damage_names_the_member(put, content, message):
    path = put("bad.npz", content)
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_labels_must_be_binary_and_distinctly_named(tmp_path):
    file = tmp_path / "a.npz"
    np.savez(file, X=np.ones((2, 1)), Y=np.array([[0], [2]]))
    with pytest.raises(
        ValueError, match=r"a.npz`, line 2: a label must be 0 or 1, not 2"
    ):
        read(file)
    np.savez(file, X=np.ones((1, 1)), Y=np.ones((1, 2)), label_names=["a", "a"])
    with pytest.raises(ValueError, match=r"a.npz`: `label_names` has `a` twice"):
        read(file)


@pytest.mark.parametrize(
    "changed",
    [
        {"X_indices": np.array([0, 5])},
        {"X_indptr": np.array([0, 9, 2])},
        {"X_shape": np.array([2, 10**12])},
        {"X_shape": np.array([7])},
    ],
)
def test_a_sparse_matrix_that_points_outside_is_refused(tmp_path, changed):
    file = tmp_path / "a.npz"
    parts = {
        "X_data": np.ones(2),
        "X_indices": np.array([0, 1]),
        "X_indptr": np.array([0, 1, 2]),
        "X_shape": np.array([2, 2]),
    }
    np.savez(file, **parts | changed)
    with pytest.raises(ValueError, match="member `X`"):
        read(file)


def test_a_truncated_archive_is_refused(tmp_path, small):
    file = tmp_path / "a.npz"
    write(file, small)
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(ValueError, match="not a complete NPZ archive"):
        read(file)


def test_a_flipped_byte_is_noticed(tmp_path):
    file = tmp_path / "a.npz"
    np.savez(file, X=np.ones((50, 4), np.float32))
    content = bytearray(file.read_bytes())
    content[400] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"member `X.npy`: damaged .*CRC"):
        read(file)


def test_a_zip_bomb_is_refused_before_allocating(tmp_path):
    """64 MiB of zeros, a thousandth of that on disk."""
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (8192, 8192)}"
    file = tmp_path / "bomb.npz"
    file.write_bytes(archive(X=npy(header, bytes(8192 * 8192))))
    assert file.stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(
        ValueError, match="uncompressed size is 67108992 bytes; 1048576 are"
    ):
        npz.read_arrays(file, max_bytes=2**20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_a_directory_that_declares_the_impossible_is_refused(tmp_path):
    """The size in the zip directory is set to 3 GB; the file has 300 bytes."""
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3000000000)}"
    content = bytearray(archive(X=npy(header)))
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (3_000_000_128).to_bytes(4, "little")
    file = tmp_path / "liar.npz"
    file.write_bytes(content)
    with pytest.raises(ValueError, match="declares 3000000128 bytes"):
        npz.read_arrays(file)
