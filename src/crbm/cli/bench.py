"""`crbm bench`: ratios and comparisons measured side by side in one run."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from crbm.cli.errors import plain_errors
from crbm.experiments import benchmarks


class Suite(StrEnum):
    """What can be measured."""

    FLOOR = "floor"
    MULTILABEL = "multilabel"
    LARGE = "large"


@plain_errors
def bench(
    suite: Annotated[Suite, typer.Option(help="What to measure.")] = Suite.FLOOR,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Measure speed and accuracy against the hardware's limit and against peers."""
    rows = benchmarks.run(suite.value, say=lambda text: typer.echo(text, err=True))
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    table = Table(*rows[0], title=f"crbm bench --suite {suite.value}")
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    Console().print(table)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
