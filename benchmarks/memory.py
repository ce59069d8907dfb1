"""Peak memory of this process."""

from __future__ import annotations

import re
from pathlib import Path


def peak_megabytes() -> float | None:
    """Peak resident memory of this process; None if the system is not Linux.

    `getrusage` is not used, because it returns the peak of the parent process if that
    is larger.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
    return int(peak[1]) / 1024 if peak else None
