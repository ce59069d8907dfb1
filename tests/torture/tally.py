"""Count what attacks came to: tried, refused, failed, lost."""

from __future__ import annotations

import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CPU_SECONDS = 10.0  # of one attempt; a longer one counts as a hang
MOST_FAULTS = 20  # kept with their description


class LostError(AssertionError):
    """Work that was complete is gone, or an answer is silently wrong."""


class HangError(AssertionError):
    """An attempt took more than `CPU_SECONDS` of the processor."""


@dataclass
class Tally:
    """The outcomes of one kind of attack.

    Parameters
    ----------
    area
        What was attacked.
    tried
        Number of attempts.
    refused
        Attempts that ended with a clear error of the library, in one line.
    failed
        Attempts that ended in any other error, a hang, NaN or a status of 5xx.
    lost
        Attempts after which work was gone, or which got a wrong answer.
    faults
        The first of the failed and lost attempts.
    """

    area: str
    tried: int = 0
    refused: int = 0
    failed: int = 0
    lost: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def fail(self, what: str, *, lost: bool = False) -> None:
        """Count an attempt that failed, or that lost something."""
        self.lost += lost
        self.failed += not lost
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(what[:500])

    def attempt(
        self, what: str, call: Callable[[], Any], *, one_line: bool = True
    ) -> None:
        """Make one attempt. It may succeed, or raise a clear error of the library."""
        self.tried += 1
        try:
            with cpu_limit(CPU_SECONDS), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except LostError as error:
            self.fail(f"{what}: {error}", lost=True)
        except Exception as error:
            if is_clear(error, one_line=one_line):
                self.refused += 1
            else:
                self.fail(f"{what}: {_place(error)}: {type(error).__name__}: {error}")

    @property
    def is_sound(self) -> bool:
        """Whether there were attempts, and none failed or lost anything."""
        return self.tried > 0 and not self.failed and not self.lost

    def row(self) -> dict[str, Any]:
        """The counts as plain data."""
        return {**asdict(self), "seconds": round(self.seconds, 1)}


def is_clear(error: Exception, *, one_line: bool = True) -> bool:
    """Whether an error is one that the library promises: its kind, one printable line.

    Messages of scikit-learn about arrays have several lines.

    Examples
    --------
    >>> is_clear(ValueError("`a.csv`, line 3: a label must be 0 or 1, not 2."))
    True
    >>> is_clear(KeyError("x")), is_clear(ValueError("two\\nlines"))
    (False, False)
    """
    own = type(error).__module__.startswith("crbm")
    plain = type(error) in (ValueError, TypeError, ImportError)
    of_files = isinstance(error, OSError)
    text = str(error) if one_line else str(error).replace("\n", " ")
    return (own or plain or of_files) and bool(text) and text.isprintable()


def _place(error: Exception) -> str:
    """The last line of the library that an error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "crbm" in frame.filename] or frames
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}"


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `HangError` in the block after some seconds of the processor."""

    def stop(number: int, frame: Any) -> None:
        raise HangError(f"not done after {seconds:g} s of the processor")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def until(seconds: float, most: int | None = None) -> Iterator[int]:
    """Count from 0 until the time is over, or up to a number of attempts.

    Examples
    --------
    >>> list(until(60, most=3))
    [0, 1, 2]
    """
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end and (most is None or number < most):
        yield number
        number += 1
