"""`crbm serve --workers 2`: two processes answer on one port, and are replaced."""

import contextlib
import io
import itertools
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest

from crbm.web import processes, serving

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="reads Linux's list of children"
)


def children(pid):
    return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def wait_until(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "nothing happened in time"
        time.sleep(0.05)


def predict(url):
    """The answer to a binary request on a connection of its own."""
    file = io.BytesIO()
    np.save(file, np.ones(4, np.float32))
    headers = {"Content-Type": "application/x-npy", "Connection": "close"}
    route = f"{url}/api/models/crf/predict-array"
    with urlopen(Request(route, file.getvalue(), headers), timeout=30) as answer:
        return np.load(io.BytesIO(answer.read()))


@needs_proc
def test_workers_answer_on_one_port_and_are_replaced(model_files, classifiers):
    command = [sys.executable, "-m", "crbm", "serve", "--workers", "2", "--json"]
    command += ["--port", "0", str(model_files / "crf.safetensors")]
    expected = classifiers["crf"].predict_proba(np.ones((1, 4)))[0]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        url = json.loads(server.stdout.readline())["url"]
        wait_until(lambda: len(children(server.pid)) == 2)
        np.testing.assert_allclose(predict(url), expected, atol=1e-6)
        first, second = children(server.pid)
        os.kill(int(first), signal.SIGKILL)
        wait_until(lambda: len(children(server.pid) - {first}) == 2)
        for _ in range(4):
            np.testing.assert_allclose(predict(url), expected, atol=1e-6)
        left = children(server.pid)
        assert second in left
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    wait_until(lambda: not any(Path("/proc", pid).exists() for pid in left))


SCRIPT = """
import importlib.util, os, sys, time
spec = importlib.util.spec_from_file_location("processes", {path!r})
processes = importlib.util.module_from_spec(spec)  # without the packages of crbm.web
spec.loader.exec_module(processes)
def serve(number):
    print(os.getpid(), flush=True)
    {body}
processes.QUICK_SECONDS = 60
processes.serve_in_processes(serve, 2, grace_seconds=1)
"""


def start(body):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(path=processes.__file__, body=body)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@needs_proc
def test_workers_end_with_the_process_that_started_them():
    with start("time.sleep(600)") as parent:
        pids = [parent.stdout.readline().strip() for _ in range(2)]
        parent.kill()
        wait_until(lambda: not any(is_running(pid) for pid in pids))


def is_running(pid):
    """Whether a process is there and not only waits to be collected."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@needs_proc
def test_workers_that_cannot_start_are_an_error():
    with start("sys.exit(3)") as parent:
        _, shown = parent.communicate(timeout=120)
    assert parent.returncode == 1
    assert "end as soon as they start (exit code 3)" in shown


@pytest.mark.skipif(sys.platform != "linux", reason="others share one socket")
def test_connections_are_spread_over_the_workers():
    listeners = serving.listen_for_each("127.0.0.1", 0, 2)
    address = listeners[0].getsockname()
    clients = [socket.create_connection(address) for _ in range(64)]
    accepted = []
    try:
        for listener in listeners:
            listener.setblocking(False)
            taken = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    taken.append(listener.accept()[0])
            accepted.append(taken)
        assert sum(map(len, accepted)) == 64
        assert min(map(len, accepted)) > 12  # 5 standard deviations below half
        with pytest.raises(OSError, match="Choose another with --port or --host"):
            serving.listen_for_each(*address, 2)
    finally:
        for opened in [*clients, *listeners, *itertools.chain(*accepted)]:
            opened.close()


def test_a_single_worker_has_a_socket_of_its_own():
    (listener,) = serving.listen_for_each("127.0.0.1", 0, 1)
    with listener, pytest.raises(OSError, match="Cannot listen"):
        serving.listen(*listener.getsockname())


def test_more_than_one_needs_fork(monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    with pytest.raises(ValueError, match="`--workers` above 1 needs Linux or macOS"):
        processes.serve_in_processes(lambda number: None, 2, grace_seconds=1.0)
