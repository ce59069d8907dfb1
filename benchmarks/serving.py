"""Measure `crbm serve` under load: single predictions in JSON and in binary.

Beside them stands a route of the same server that answers without a model.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from benchmarks.load import Outcome, closed_loop, open_loop
from crbm.estimators import CRBMClassifier

N_PIXELS, N_HIDDEN = 784, 256
CLIENTS, WORKERS = 32, 2
SECONDS, ROUNDS = 2.0, 3


class Kind(NamedTuple):
    """A route, the one that answers without a model, and how bodies are written."""

    route: str
    echo: str
    content_type: str
    encode: Callable[[np.ndarray], bytes]


def _json(image: np.ndarray) -> bytes:
    return json.dumps({"input": image.tolist()}).encode()


def _npy(image: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, image.astype(np.uint8))
    return file.getvalue()


KINDS = {
    "JSON": Kind("predict", "echo", "application/json", _json),
    "binary": Kind("predict-array", "echo/predict-array", "application/x-npy", _npy),
}


def rows(echo: Callable[[str], None]) -> list[dict[str, Any]]:
    """Answers per second to 32 clients, and latencies at half of that rate."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        model().save(path)
        with running_server(path) as server:
            return [_row(server, name, kind, echo) for name, kind in KINDS.items()]


def _row(
    server: Server, name: str, kind: Kind, echo: Callable[[str], None]
) -> dict[str, Any]:
    load_average, url = os.getloadavg()[0], server.url
    own = requests(url, kind.route, kind)
    without = requests(url, kind.echo, kind)
    pairs = []
    for number in range(ROUNDS + 1):
        echo(f"{name}, {CLIENTS} clients, round {number} of {ROUNDS} ...")
        found = [_measure(server, each) for each in (without, own)]
        if number:  # the first loads the kernels
            pairs.append(found)
    echoed, predicted = zip(*pairs, strict=True)
    half = median(each.rate for each in predicted) / 2
    echo(f"{name}, {half:.0f} a second ...")
    steady = open_loop(url, own, CLIENTS, half, SECONDS)
    outcomes = [steady, *(each.outcome for pair in pairs for each in pair)]
    return {
        "requests": name,
        "answers/s": median(each.rate for each in predicted),
        "p99 ms": _p99(predicted[-1].outcome),
        "echo/s": median(each.rate for each in echoed),
        "times slower than echo": median(a.rate / b.rate for a, b in pairs),
        "p99 ms at half": _p99(steady),
        "server CPU ms": median(each.server_ms for each in predicted),
        "echo CPU ms": median(each.server_ms for each in echoed),
        "client CPU ms": median(each.client_ms for each in predicted),
        "failed": sum(outcome.n_failed for outcome in outcomes),
        "load average before": load_average,
    }


def _p99(outcome: Outcome) -> float:
    return float(np.percentile(outcome.milliseconds or [np.nan], 99))


class Measured(NamedTuple):
    """The outcome of a load, and processor time per answer."""

    outcome: Outcome
    server_ms: float
    client_ms: float

    @property
    def rate(self) -> float:
        """Successful requests per second."""
        return max(1, len(self.outcome.milliseconds)) / self.outcome.seconds


def _measure(server: Server, own: list[bytes]) -> Measured:
    before = server.cpu_seconds(), time.process_time()
    outcome = closed_loop(server.url, own, CLIENTS, SECONDS)
    after = server.cpu_seconds(), time.process_time()
    per_answer = 1000 / max(1, len(outcome.milliseconds))
    used = [per_answer * (b - a) for a, b in zip(before, after, strict=True)]
    return Measured(outcome, *used)


class Server(NamedTuple):
    """The address and the process of a server."""

    url: str
    process: int

    def cpu_seconds(self) -> float:
        """Processor time of the server's processes so far; 0 if not on Linux."""
        children = Path(f"/proc/{self.process}/task/{self.process}/children")
        if not children.exists():
            return 0.0
        ticks = 0
        for process in (self.process, *map(int, children.read_text().split())):
            numbers = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1]
            ticks += sum(map(int, numbers.split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def running_server(path: Path) -> Iterator[Server]:
    """Run the server on a free port."""
    command = [sys.executable, "-m", "benchmarks.echo_server", str(path)]
    tree = str(Path(__file__).parents[1])
    paths = os.pathsep.join([tree, os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [*command, str(WORKERS)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": paths},
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise OSError("The server did not start; see its messages above.")
            yield Server(f"http://127.0.0.1:{int(line)}", process.pid)
        finally:
            process.send_signal(signal.SIGINT)


def requests(url: str, route: str, kind: Kind) -> list[bytes]:
    """HTTP requests with random images, as bytes."""
    rng = np.random.default_rng(0)
    images = (rng.random((64, N_PIXELS)) < 0.15).astype(int)
    head = (
        f"POST /api/models/model/{route} HTTP/1.1\r\n"
        f"Host: {urlsplit(url).netloc}\r\nContent-Type: {kind.content_type}\r\n"
    )
    bodies = [kind.encode(image) for image in images]
    return [
        f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies
    ]


def model() -> CRBMClassifier:
    """A model with the paper's sizes; its accuracy does not matter here."""
    rng = np.random.default_rng(0)
    images = (rng.random((64, N_PIXELS)) < 0.15).astype(np.float32)
    classifier = CRBMClassifier(
        n_hidden=N_HIDDEN,
        n_epochs=1,
        learning_rate=2**-4,
        preprocessing="none",
        objective="perceptron",
        inference="search",
        random_state=0,
    )
    return classifier.fit(images, images)
