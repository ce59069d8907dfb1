"""The memory that this process has taken."""

from __future__ import annotations

import re
from pathlib import Path


def peak_megabytes() -> float | None:
    """The most that this process has held at once; None where the system is not Linux.

    `getrusage` would answer with the peak of the process that started this one, where
    that was the larger.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
    return int(peak[1]) / 1024 if peak else None
