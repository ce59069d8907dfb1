from __future__ import annotations

from pathlib import Path

import pytest

from crbm.datasets import read, write
from crbm.datasets.formats._common import require


@pytest.mark.parametrize("name", ["a.npz", "a.arff", "a.libsvm"])
def test_every_sparse_format_is_told_by_its_name(tmp_path, small, name):
    write(tmp_path / name, small)
    assert read(tmp_path / name).Y.tolist() == small.Y.tolist()


def test_the_format_can_be_stated(tmp_path, small):
    write(tmp_path / "a.data", small, format="npz")
    assert read(tmp_path / "a.data", format="npz").X.shape == (5, 3)


def test_unknown_formats_are_refused(tmp_path, small):
    with pytest.raises(ValueError, match="the file name does not tell the format"):
        read(tmp_path / "a.docx")
    with pytest.raises(ValueError, match="Unknown format `xlsx`; use one of `arff`"):
        read(tmp_path / "a", format="xlsx")
    with pytest.raises(ValueError, match=r"A \.tsv file is `csv`"):
        read(tmp_path / "a", format="tsv")
    with pytest.raises(ValueError, match=r"Cannot write format `idx`; use one of"):
        write(tmp_path / "a.idx", small)


def test_label_files_only_where_they_belong(tmp_path):
    with pytest.raises(ValueError, match="`labels` must be names of its columns"):
        read(tmp_path / "a.csv", labels=Path("labels.xml"))
    with pytest.raises(ValueError, match="IDX file of class numbers"):
        read(tmp_path / "a-idx3-ubyte", labels=["a"])


def test_a_missing_file_is_a_missing_file(tmp_path):
    for name in ("a.arff", "a.csv", "a.parquet", "a.npz", "a.libsvm", "a.idx"):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / name, labels=None if name[2] in "ainl" else ())


def test_a_missing_package_says_how_to_install_it():
    with pytest.raises(ImportError, match=r"needs `x-y`. .*`pip install crbm\[data\]`"):
        require("no_such_module", "x-y", "Reading")
