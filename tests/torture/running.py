"""Servers to attack: in this process, or as `crbm serve`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

import crbm
from crbm.web import create_app, load_models, serving
from planted import copied_patterns

DATA = copied_patterns(60)
X, Y = DATA.u.numpy(), DATA.v.numpy()
QUICK = {"n_epochs": 2, "random_state": 0}


def save_models(folder: Path) -> dict[str, list[tuple[list[float], np.ndarray]]]:
    """Write small models; returns some inputs with their probabilities by model."""
    kinds = {
        "logistic": crbm.LogisticClassifier(**QUICK),
        "crbm": crbm.CRBMClassifier(**QUICK, n_hidden=4),
        "hash": crbm.HashCRBMClassifier(**QUICK, n_hidden=4, n_estimators=2),
    }
    answers = {}
    for name, classifier in kinds.items():
        classifier.fit(X, Y).save(folder / f"{name}.safetensors")
        p = classifier.predict_proba(X[:8])
        answers[name] = list(zip(X[:8].tolist(), p, strict=True))
    images = X[:24].reshape(2, 6, 8)
    pixels = crbm.PixelClassifier(**QUICK, channels=(2, 4), n_hidden=2)
    pixels.fit(images, (images > 0).astype(int)).save(folder / "pixels.safetensors")
    return answers


@contextmanager
def server_in_thread(folder: Path) -> Iterator[str]:
    """Serve the models of a folder in a thread; yields the address."""
    models = load_models(sorted(folder.glob("*.safetensors")))
    server = uvicorn.Server(serving.configuration(create_app(models)))
    listener = serving.listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield serving.server_url("127.0.0.1", listener)
    finally:
        server.should_exit = True
        thread.join(30)


@contextmanager
def server_process(folder: Path) -> Iterator[tuple[str, int]]:
    """Run `crbm serve` on the models of a folder; yields its address and process."""
    files = map(str, sorted(folder.glob("*.safetensors")))
    command = [sys.executable, "-m", "crbm", "serve", *files, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"], process.pid
        finally:
            process.send_signal(signal.SIGINT)


def resident_megabytes(pid: int) -> float:
    """Memory that a process holds now."""
    status = Path(f"/proc/{pid}/status").read_text()
    found: Any = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024


CLIENT = """
import socket, sys
host, port, request = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode()
while True:
    with socket.create_connection((host, port)) as connection:
        for _ in range(50):
            connection.sendall(request)
            connection.recv(65536)
"""


def kill_clients(host: str, port: int, request: bytes, seconds: float) -> int:
    """Start clients that send requests all the time and kill them; returns how many."""
    end, n_killed = time.monotonic() + seconds, 0
    command = [sys.executable, "-I", "-S", "-c", CLIENT, host, str(port)]
    while time.monotonic() < end:
        with subprocess.Popen([*command, request.decode()]) as process:
            time.sleep(0.2)
            process.kill()
        n_killed += 1
        time.sleep(1.8)
    return n_killed
