"""A run killed at random moments and resumed ends like one left in peace."""

import multiprocessing
import random
import signal
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

import long_runs

N_EPOCHS, SECONDS = 12, 60


@pytest.fixture(scope="module")
def processes():
    """Processes that come into the world with torch already imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crbm", "torch._dynamo"])
    return context


def killed_after(process, path, n_writes):
    """Kill the process -9 a moment after some more checkpoints were written."""
    seen, last, deadline = 0, inode(path), time.monotonic() + SECONDS
    while seen < n_writes and process.is_alive() and time.monotonic() < deadline:
        now = inode(path)
        seen, last = seen + (now != last), now
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.01))
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def inode(path):
    """Which file lies at the path: another one after each checkpoint."""
    return path.stat().st_ino if path.exists() else None


@pytest.mark.parametrize("name", ["plain", "adam", "persistent"])
def test_killed_and_resumed_is_undisturbed(name, processes, tmp_path):
    kept, end = tmp_path / "kept.safetensors", tmp_path / "end.safetensors"
    n_kills, arguments = 0, (name, tmp_path, N_EPOCHS)
    for n_writes in (0, *random.choices(range(1, 10), k=2)):
        process = processes.Process(target=long_runs.run_kept, args=arguments)
        process.start()
        n_kills += killed_after(process, kept, n_writes)
    process = processes.Process(target=long_runs.run_kept, args=arguments)
    process.start()
    process.join(SECONDS)
    assert process.exitcode == 0
    assert n_kills == 3
    expected = long_runs.outcome(*long_runs.run(name, n_epochs=N_EPOCHS))
    long_runs.assert_same(load_file(end), expected)
    assert [file.name for file in Path(tmp_path).glob("*.part")] == []
