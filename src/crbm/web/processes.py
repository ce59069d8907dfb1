"""Run a server in several processes that share its port and its models."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess

QUICK_SECONDS = 5  # a process that ends sooner did not start
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve_in_processes(
    serve: Callable[[int], None], n_processes: int, *, grace_seconds: float
) -> None:
    """Call `serve` in forked processes until SIGINT or SIGTERM.

    A process that dies is replaced. What was loaded before is in memory once: forked
    processes share pages that nobody writes. The processes end when this one does,
    whatever ends it.

    Parameters
    ----------
    serve
        Runs a server until SIGTERM, on a socket that is open already. Called with the
        number of the process, from 0; a replacement has that of the one that died.
    n_processes
        Number of processes.
    grace_seconds
        How long the processes may take to stop before they are killed.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        raise ValueError("`--workers` above 1 needs Linux or macOS; use 1.")
    gc.collect()
    gc.freeze()  # the collector writes to the pages of what it looks at
    family = _Family(serve)
    stopping = threading.Event()
    before = {s: signal.signal(s, lambda *_: stopping.set()) for s in _SIGNALS}
    try:
        for number in range(n_processes):
            family.start_one(number)
        while not stopping.is_set():
            family.replace_dead(timeout=0.2)
    finally:
        family.stop(grace_seconds)
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)


class _Family:
    """The processes, with their numbers and the times at which they started."""

    def __init__(self, serve: Callable[[int], None]) -> None:
        self._serve = serve
        self._context = multiprocessing.get_context("fork")
        self._started: dict[ForkProcess, tuple[int, float]] = {}
        self._n_failed = 0  # starts in a row that failed
        # The other end closes when this process ends.
        self._reader, self._writer = os.pipe()

    def start_one(self, number: int) -> None:
        process = self._context.Process(target=self._run, args=(number,))
        process.start()
        self._started[process] = number, time.monotonic()

    def replace_dead(self, timeout: float) -> None:
        """Wait for the end of a process and start another in its place."""
        wait([process.sentinel for process in self._started], timeout)
        for process in [p for p in self._started if not p.is_alive()]:
            number, since = self._started.pop(process)
            was_quick = time.monotonic() - since < QUICK_SECONDS
            self._n_failed = self._n_failed + 1 if was_quick else 0
            if self._n_failed > 10:
                raise RuntimeError(
                    "The server's processes end as soon as they start "
                    f"(exit code {process.exitcode}). Run it with `--workers 1`."
                )
            self.start_one(number)

    def stop(self, grace_seconds: float) -> None:
        """End all processes, with SIGKILL if they hang."""
        until = time.monotonic() + grace_seconds
        for process in self._started:
            process.terminate()
        for process in self._started:
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        os.close(self._reader)
        os.close(self._writer)

    def _run(self, number: int) -> None:
        """What a process does."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.close(self._writer)
        threading.Thread(target=self._follow_parent, daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt):
            self._serve(number)

    def _follow_parent(self) -> None:
        """Stop this process when the one that started it is gone."""
        os.read(self._reader, 1)
        os.kill(os.getpid(), signal.SIGTERM)
