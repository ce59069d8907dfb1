"""What reading a file takes in memory is bounded by its size."""

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crbm.datasets import read
from crbm.datasets.formats import _common, csv_table, npz, parquet_table

MIB = 2**20
# Reads a small file for what packages keep, then measures the peak of each other one.
MEASURE = """
import sys
from crbm.datasets import read

def resident(key):
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(x for x in lines if x.startswith(key)).split()[1])

def measure(path):
    before = resident("VmRSS")
    open("/proc/self/clear_refs", "w").write("5")  # the peak is counted from here on
    read(path, labels=None if path.endswith("npz") else 1)
    return resident("VmHWM") - before

measure(sys.argv[1])
print(*map(measure, sys.argv[2:]))
"""


def write_files(folder: Path) -> dict[str, int]:
    """Files that take much memory, and the bytes that each may take."""
    limits = {}
    n_rows = 250_000
    texts = {
        "small": "a,b\n1,0\n",
        "digits": "a\n" + "1\n" * n_rows,
        "words": "a,b\n" + "0,no\n" * n_rows,
        "gaps": "a,b,c\n" + "1,,\n" * n_rows,
        "wide": ",".join(f"c{i}" for i in range(1500)) + "\n" + ",".join("1" * 1500),
    }
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
        limits[f"{name}.csv"] = csv_table.MEMORY_RATIO * len(text)
    limits["wide.csv"] += 1500 * csv_table.COLUMN_BYTES
    for kind in ("float32", "int8"):
        X = np.zeros((1000, 8000), kind)
        np.savez_compressed(folder / f"{kind}.npz", X=X)
        limits[f"{kind}.npz"] = npz.MEMORY_RATIO * X.nbytes
    limits["float32.npz"] = 2 * 32 * 10**6  # nothing is converted
    for name, values, width in (("zeros", 0.0, 8), ("texts", "no", 66)):
        table = pa.table({"x": [values] * n_rows, "y": [1] * n_rows})
        pq.write_table(table, folder / f"{name}.parquet")
        limits[f"{name}.parquet"] = parquet_table.MEMORY_RATIO * n_rows * (width + 8)
    return limits


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="resets Linux's peak of memory"
)
def test_memory_is_bounded_by_the_size_of_the_file(tmp_path):
    limits = write_files(tmp_path)
    files = [str(tmp_path / name) for name in limits]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *files],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    peaks = dict(zip(list(limits)[1:], map(int, done.stdout.split()), strict=True))
    slack = 8 * MIB  # the allocators take memory in large pieces
    assert {k: v for k, v in peaks.items() if v > limits[k] + slack} == {}, peaks


def test_more_columns_than_the_size_allows_are_refused(tmp_path):
    file = tmp_path / "wide.csv"
    names = ",".join(f"c{i}" for i in range(60_000))
    file.write_text(names + "\n" + ",".join("1" * 60_000))
    with pytest.raises(ValueError, match=r"line 1: 60000 columns .* Use NPZ or libsvm"):
        read(file, labels=())


@pytest.fixture
def small_limit(monkeypatch):
    """Zeros that are too many if 64 KiB may be unpacked from any file, not 64 MiB."""
    monkeypatch.setattr(_common, "UNPACKED_FREE", 2**16)
    return bytes(8 * MIB)


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused(
    tmp_path, small_limit
):
    file = tmp_path / "zeros.npz"
    np.savez_compressed(file, X=np.frombuffer(small_limit, np.uint8).reshape(4, -1))
    allowed = 2**16 + 256 * file.stat().st_size
    with pytest.raises(ValueError, match=rf"\d+ bytes; {allowed} are allowed"):
        read(file)
    assert read(file, max_bytes=9 * MIB).X.shape == (4, 2 * MIB)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a-idx2-ubyte.gz"])
def test_gzip_that_unpacks_to_far_more_than_its_size_is_refused(
    tmp_path, name, small_limit
):
    file, is_idx = tmp_path / name, "idx" in name
    sizes = (4).to_bytes(4, "big") + (2 * MIB).to_bytes(4, "big")
    head = b"\0\0\x08\x02" + sizes if is_idx else b""
    file.write_bytes(gzip.compress(head + small_limit))
    with pytest.raises(ValueError, match=r"uncompressed size is .* are allowed"):
        read(file, labels=None if is_idx else ())


def test_a_workbook_that_unpacks_to_far_more_than_its_size_is_refused(
    tmp_path, small_limit
):
    file = tmp_path / "a.xlsx"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", small_limit)
    with pytest.raises(ValueError, match=r"uncompressed size is .* are allowed"):
        read(file, labels=())
