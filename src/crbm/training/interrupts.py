"""Turn SIGINT and SIGTERM into a flag that the training loop checks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A run was stopped by a signal and can be resumed; the message says how."""


@contextmanager
def delayed_signals() -> Iterator[threading.Event]:
    """Set the event at the first signal inside this context; a second one acts at once.

    Signals that the process ignores stay ignored. Python delivers signals to the main
    thread only, so in other threads nothing changes.
    """
    event = threading.Event()
    previous = {number: signal.getsignal(number) for number in SIGNALS}
    handlers = {n: f for n, f in previous.items() if f not in (None, signal.SIG_IGN)}

    def restore_handlers() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    def set_event(number: int, frame: Any) -> None:
        event.set()
        restore_handlers()

    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    for number in handlers:
        signal.signal(number, set_event)
    try:
        yield event
    finally:
        restore_handlers()
