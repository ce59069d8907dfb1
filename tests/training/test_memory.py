"""A long run needs no more memory than a short one."""

import json
import multiprocessing
from pathlib import Path

import pytest

import long_runs

# An epoch leaves its record, a tuple of three numbers: some 150 bytes of Python. A
# leaked copy of the weights would be 35 kB per epoch, 28 MB in all, outside of Python.
BYTES_PER_EPOCH, RESIDENT_BYTES = 400, 8_000_000


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="reads Linux's count of pages"
)
def test_memory_does_not_grow_over_a_thousand_epochs(tmp_path):
    # in a process of its own, without the checks of types that tests run with
    context = multiprocessing.get_context("forkserver")
    process = context.Process(
        target=long_runs.memory_of_a_thousand_epochs, args=(tmp_path,)
    )
    process.start()
    process.join()
    early, late = json.loads((tmp_path / "measured.json").read_text())
    assert late["python"] - early["python"] < 800 * BYTES_PER_EPOCH
    assert late["resident"] - early["resident"] < RESIDENT_BYTES
