"""Render the counts of attacks into `docs/reliability.md`.

`cd tests && python -m torture.report` does it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ROWS, PAGE = ROOT / "results" / "torture.json", ROOT / "docs" / "reliability.md"
TABLE = re.compile(r"^\| attacked .*?(?=\n\n)", flags=re.DOTALL | re.MULTILINE)
SOAKED = re.compile(r"(?<=^\*\*Soak\.\*\* ).*$", flags=re.MULTILINE)
COUNTS = ("tried", "refused", "failed", "lost")
SOAK = "server, soak"


def markdown(rows: list[dict[str, Any]]) -> str:
    """The rows as a table, with their sum.

    Examples
    --------
    >>> print(markdown([dict(area="a", tried=1200, refused=9, failed=0, lost=0)]))
    | attacked | tried | refused | failed | lost |
    | --- | ---: | ---: | ---: | ---: |
    | a | 1,200 | 9 | 0 | 0 |
    | all | 1,200 | 9 | 0 | 0 |
    """
    total = {name: sum(row[name] for row in rows) for name in COUNTS}
    lines = [["attacked", *COUNTS], ["---", *["---:"] * len(COUNTS)]]
    for row in [*rows, {"area": "all", **total}]:
        lines.append([row["area"], *(f"{row[name]:,}" for name in COUNTS)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def soak_sentence(rows: list[dict[str, Any]]) -> str:
    """What the soak test measured."""
    row = next(row for row in rows if row["area"] == SOAK)
    return (
        f"{row['seconds'] / 60:.0f} minutes of such requests on loopback, "
        f"{row['good']:,} of them good, while {row['killed_clients']:,} client "
        f"processes were killed. The server held {row['megabytes_after_warm_up']:.0f} "
        f"MB after a warm-up of five minutes and {row['megabytes_at_end']:.0f} MB at "
        f"the end, {row['growth_percent']:.1f} % more."
    )


def render(page: str, rows: list[dict[str, Any]]) -> str:
    """The page with the table and the sentence that the rows make."""
    page = TABLE.sub(lambda _: markdown(rows), page)
    return SOAKED.sub(lambda _: soak_sentence(rows), page)


def main() -> None:
    """Render the page from the rows."""
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(render(page, rows), encoding="utf-8")


if __name__ == "__main__":
    main()
