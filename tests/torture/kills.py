"""Kill processes that train, save models and append results; nothing may be lost."""

from __future__ import annotations

import multiprocessing
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

import crbm
import long_runs
from paper.engine.store import Cell, Outcome, Store
from planted import copied_patterns
from torture.tally import Tally, until

SECONDS = 120.0  # for a run to end
N_EPOCHS = 12
DATA = copied_patterns(40)
X, Y = DATA.u.numpy(), DATA.v.numpy()


def processes() -> Any:
    """Make processes that start with the packages imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crbm", "torch._dynamo", "torture.kills"])
    return context


def run_training(
    folder: Path, rng: random.Random, seconds: float, most: int | None = None
) -> Tally:
    """Kill training runs and resume them; they must end as undisturbed ones do."""
    tally, context = Tally("kill -9, training"), processes()
    expected = {
        name: long_runs.outcome(*long_runs.run(name, n_epochs=N_EPOCHS))
        for name in ("plain", "adam", "persistent")
    }
    for number in until(seconds, most):
        name = rng.choice(sorted(expected))
        own = folder / f"training-{number}"
        own.mkdir()
        for _ in range(3):
            tally.tried += _kill_within(
                context, long_runs.run_kept, (name, own, N_EPOCHS), rng, 0.4
            )
        _finish(context, tally, name, own, expected[name])
        shutil.rmtree(own)
    return tally


def run_saves(
    folder: Path, rng: random.Random, seconds: float, most: int | None = None
) -> Tally:
    """Kill a process that replaces a model file; the file is one of its versions."""
    tally, context = Tally("kill -9, saving models"), processes()
    path = folder / "model.safetensors"
    versions = [_classifier(seed).predict_proba(X) for seed in (0, 1)]
    _classifier(0).save(path)
    for _ in until(seconds, most):
        tally.tried += _kill_within(context, _save_for_ever, (path,), rng, 0.2)
        try:
            found = crbm.load(path).predict_proba(X)
            whole = any(np.array_equal(found, p) for p in versions)
        except ValueError:
            whole = False
        if not whole:
            tally.fail("the model file is not whole", lost=True)
    return tally


def run_store(
    folder: Path, rng: random.Random, seconds: float, most: int | None = None
) -> Tally:
    """Kill a process that appends results; what it has acknowledged stays."""
    tally, context = Tally("kill -9, appending results"), processes()
    for number in until(seconds, most):
        path = folder / f"rows-{number}.jsonl"
        told = folder / f"told-{number}"
        tally.tried += _kill_within(context, _append_for_ever, (path, told), rng, 0.2)
        acknowledged = told.read_text().count("\n") if told.exists() else 0
        if len(list(Store(path))) < acknowledged:
            tally.fail(f"{path.name}: an acknowledged row is gone", lost=True)
    return tally


def _kill_within(
    context: Any,
    target: Callable[..., None],
    args: Any,
    rng: random.Random,
    most: float,
) -> bool:
    """Start a process and kill it after a random time; whether it was still alive."""
    process = context.Process(target=target, args=args)
    process.start()
    time.sleep(rng.uniform(0, most))
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def _finish(
    context: Any, tally: Tally, name: str, folder: Path, expected: dict[str, Any]
) -> None:
    """Let a run end undisturbed, and compare its result."""
    end = folder / "end.safetensors"
    process = context.Process(target=long_runs.run_kept, args=(name, folder, N_EPOCHS))
    process.start()
    process.join(SECONDS)
    if process.exitcode != 0:
        process.kill()
        tally.fail(f"{name}: the resumed run ended with {process.exitcode}")
        return
    found = load_file(end)
    same = found.keys() == expected.keys() and all(
        torch.equal(found[key], tensor) for key, tensor in expected.items()
    )
    if not same:
        tally.fail(f"{name}: the resumed run ended in other numbers", lost=True)
    if list(folder.glob("*.part")):
        tally.fail(f"{name}: a draft is left over")


def _classifier(seed: int) -> crbm.LogisticClassifier:
    return crbm.LogisticClassifier(n_epochs=1, random_state=seed).fit(X, Y)


def _save_for_ever(path: Path) -> None:
    torch.set_num_threads(1)
    classifiers = [_classifier(seed) for seed in (0, 1)]
    while True:
        for classifier in classifiers:
            classifier.save(path)


def _append_for_ever(path: Path, told: Path) -> None:
    store = Store(path)
    with told.open("a") as stream:
        for fold in range(100_000):
            cell = Cell("table1", "scene", "HashCRBM", fold, 0, {})
            store.add(cell, Outcome({"hamming": 8.8}, {}), seconds=1.0)
            stream.write(f"{fold}\n")
            stream.flush()
