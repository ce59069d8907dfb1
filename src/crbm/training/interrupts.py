"""Ctrl-C and the end that batch systems announce, as a wish instead of a blow."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A run was stopped from outside and can go on; the message says how."""


@contextmanager
def noted_signals() -> Iterator[threading.Event]:
    """A block in which the first signal to stop is noted and only the second obeyed.

    Signals that the process ignores stay ignored. Python hands signals to the main
    thread alone, so in other threads nothing changes.
    """
    noted = threading.Event()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    mine = {n: f for n, f in before.items() if f not in (None, signal.SIG_IGN)}

    def put_back() -> None:
        for number, handler in mine.items():
            signal.signal(number, handler)

    def note(number: int, frame: Any) -> None:
        noted.set()
        put_back()

    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    for number in mine:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        put_back()
