"""Run all attacks and print one table: `python -m torture`, or `make torture`."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torture import data, files, kills, models, running, server, soak
from torture.tally import Tally

# Shares of the time, which add up to 1 for each attack of a group together.
SHARES = {"files": 0.2, "models": 0.25, "kills": 0.2, "data": 0.15, "server": 0.2}


def attacks(
    seconds: float, rng: random.Random, n_requests: int | None = None
) -> Iterator[Tally]:
    """The tallies of all attacks, one after another."""
    for name in files.FORMATS:
        share = SHARES["files"] * seconds / len(files.FORMATS)
        yield _timed(lambda folder, n=name, s=share: files.run(n, folder, rng, s))
    share = SHARES["models"] * seconds / (len(models.KINDS) + 1)
    for kind in models.KINDS:
        yield _timed(lambda folder, k=kind: models.run_models(k, folder, rng, share))
    yield _timed(lambda folder: models.run_checkpoints(folder, rng, share))
    share = SHARES["kills"] * seconds / 3
    for run in (kills.run_training, kills.run_saves, kills.run_store):
        yield _timed(lambda folder, run=run: run(folder, rng, share))
    yield _timed(lambda folder: data.run(rng, SHARES["data"] * seconds))
    share = SHARES["server"] * seconds
    yield _timed(lambda folder: attack_server(folder, rng, share, n_requests))


def attack_server(
    folder: Path, rng: random.Random, seconds: float, n_requests: int | None = None
) -> Tally:
    """Send hostile requests to `crbm serve`."""
    answers = running.save_models(folder)
    with running.server_process(folder) as (url, _):
        attack = server.Attack(url, answers)
        load = attack.run(rng, seconds=seconds, n_requests=n_requests, n_clients=16)
        return asyncio.run(load)


def _timed(run: Callable[[Path], Tally]) -> Tally:
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = run(Path(folder))
    tally.seconds = time.monotonic() - start
    return tally


def line(row: dict[str, Any]) -> str:
    """A row of the table as text."""
    counts = "".join(
        f"{row[key]:>10,}" for key in ("tried", "refused", "failed", "lost")
    )
    return f"{row['area']:30}{counts}{row['seconds']:>9.0f} s"


def main() -> None:
    """Run the attacks that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=15, help="time for all")
    parser.add_argument("--requests", type=int, help="number of requests; only these")
    parser.add_argument("--soak", type=float, help="minutes of a soak test; only this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="add the rows to this file")
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    print(f"{'':30}{'tried':>10}{'refused':>10}{'failed':>10}{'lost':>10}")
    n_faults = 0
    for row in _rows(chosen, rng):
        print(line(row), flush=True)
        print(*(f"    {fault}" for fault in row["faults"]), sep="\n", end="")
        n_faults += row["failed"] + row["lost"]
        if chosen.json is not None:
            _keep(chosen.json, row)
    raise SystemExit(1 if n_faults else 0)


def _rows(chosen: Any, rng: random.Random) -> Iterator[dict[str, Any]]:
    if chosen.soak is not None:
        start = time.monotonic()
        tally, details = soak.run(60 * chosen.soak, rng)
        tally.seconds = time.monotonic() - start
        yield tally.row() | details
    elif chosen.requests is not None:
        most = 60 * chosen.minutes
        yield _timed(
            lambda folder: attack_server(folder, rng, most, chosen.requests)
        ).row()
    else:
        yield from (tally.row() for tally in attacks(60 * chosen.minutes, rng))


def _keep(path: Path, row: dict[str, Any]) -> None:
    """Put a row into a file in place of an older one of its area."""
    rows = json.loads(path.read_text()) if path.exists() else []
    rows = [old for old in rows if old["area"] != row["area"]] + [row]
    path.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
