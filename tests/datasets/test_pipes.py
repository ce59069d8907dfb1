"""Readers refuse pipes and devices, which may never end."""

import os
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from crbm.datasets import open_rows, open_table, read
from crbm.datasets.formats import idx, mulan_xml


def read_labels_of_images(path):
    """Read sound images with this file as their classes."""
    images = path.with_name("images-idx3-ubyte")
    idx.write_array(images, np.zeros((3, 2, 2), np.uint8))
    idx.read(images, path)


READERS = {
    **{
        name: lambda path: read(path, labels=-1)
        for name in (
            *("a.arff", "a.csv", "a.csv.gz", "a.parquet", "a.arrow", "a.xlsx"),
            *("a.jsonl", "a.json"),
        )
    },
    **{name: read for name in ("a.libsvm", "a.npz", "a.idx")},
    "labels.xml": mulan_xml.read,
    "labels-idx1-ubyte": read_labels_of_images,
    "rows.parquet": lambda path: open_table(path, ["y"]),
    "rows.arrow": open_rows,
    "rows.npy": open_rows,
}


@contextmanager
def at_most(seconds):
    """Fail if the block takes longer; it may not end by itself."""

    def fail(*_):
        pytest.fail("the reader waits")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", READERS)
def test_pipes_and_devices_are_refused(name, kind, tmp_path):
    path = Path(tmp_path, name)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with at_most(5), pytest.raises(ValueError, match="is a pipe or a device; a"):
        READERS[name](path)
