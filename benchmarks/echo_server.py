"""The server of `crbm serve` with two more routes, which answer without a model.

    python -m benchmarks.echo_server MODEL N_WORKERS

Each reads a request as `predict` or `predict-array` do and writes an answer of the same
size, so that both can be compared with the same server, clients and payloads.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import uvicorn
from fastapi import Request, Response
from fastapi.routing import APIRoute

from crbm.web import create_app, load_models
from crbm.web.app import AnyWorker
from crbm.web.arrays import array_response, read_array
from crbm.web.json_body import JsonRoute, json_response
from crbm.web.prediction import Answer
from crbm.web.processes import serve_in_processes
from crbm.web.schemas import CaseRequest
from crbm.web.serving import GRACE_SECONDS, configuration, listen_for_each


def main(path: str, n_workers: int) -> None:
    """Serve until interrupted; prints the port."""
    torch.set_num_threads(1)
    models = load_models([Path(path)])
    app = create_app(models)
    classifier: Any = next(iter(models.values())).classifier
    n_labels = classifier.n_labels_
    rng = np.random.default_rng(0)
    answer = Answer((rng.random(n_labels) < 0.15).astype(int), rng.random(n_labels))
    names = classifier.label_names_

    async def echo(worker: AnyWorker, body: CaseRequest) -> Response:
        return json_response(answer.named(names))

    async def echo_array(worker: AnyWorker, request: Request) -> Response:
        read_array(await request.body())
        return array_response([answer.probabilities], ())

    for route, work, kind in (
        ("echo", echo, JsonRoute),
        ("echo/predict-array", echo_array, APIRoute),  # a path for binary bodies
    ):
        path = f"/api/models/{{name}}/{route}"
        app.router.routes.insert(0, kind(path, work, methods=["POST"]))
    listeners = listen_for_each("127.0.0.1", 0, n_workers)
    print(listeners[0].getsockname()[1], flush=True)

    def serve(worker: int) -> None:
        uvicorn.Server(configuration(app)).run(sockets=[listeners[worker]])

    if n_workers == 1:
        serve(0)
    else:
        serve_in_processes(serve, n_workers, grace_seconds=GRACE_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
