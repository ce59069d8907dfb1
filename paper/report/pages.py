"""Put rendered tables into README and documentation: `python -m paper.report.pages`.

A page has a comment `<!-- rows: NAME -->` before a table and `<!-- end -->` after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from paper.engine.store import Store
from paper.report import (
    bases as bases_report,
    class_tables,
    headline,
    images as image_report,
    real_targets,
    rules as rules_report,
    successor_tables,
    suite_tables,
    untuned as untuned_report,
)
from paper.report.scores import Score
from paper.report.table import Table
from paper.tables import (
    bases,
    images,
    outputs,
    rules,
    successors,
    suite,
    table1,
    untuned,
)

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/multilabel.md",
    "docs/reproduce.md",
    "docs/after_2011.md",
    "docs/objectives.md",
    "docs/outputs.md",
    "docs/tutorials/motion.md",
)
BLOCK = re.compile(r"(<!-- rows: ([\w-]+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)


def update(root: Path = ROOT) -> list[Path]:
    """Render all tables of the pages again; returns the pages that changed."""
    changed = []
    for page in (root / name for name in PAGES):
        text = page.read_text(encoding="utf-8")
        fresh = render(text, root / "results")
        if fresh != text:
            page.write_text(fresh, encoding="utf-8")
            changed.append(page)
    return changed


def render(text: str, folder: Path) -> str:
    """The text of a page with its tables rendered from the rows in `folder`."""

    def replaced(match: re.Match[str]) -> str:
        start, name, end = match.groups()
        return f"{start}\n{TABLES[name](folder)}\n\n{end}"

    return BLOCK.sub(replaced, text)


def _rows(folder: Path, name: str) -> list[dict[str, object]]:
    return list(Store(folder / f"{name}.jsonl"))


def ten_folds(folder: Path) -> str:
    """Ours and its opponents over ten folds of Yeast and Scene."""
    tables = suite_tables.ten_folds(
        _rows(folder, suite.EXPERIMENT), _rows(folder, table1.EXPERIMENT)
    )
    return "\n\n".join(map(_section, tables)) or NO_ROWS


def ranks(folder: Path) -> str:
    """The mean ranks of the suite."""
    tables = suite_tables.rank_tables(_rows(folder, suite.EXPERIMENT))
    return "\n\n".join(map(_section, tables)) or NO_ROWS


def after_2011(folder: Path) -> str:
    """All tables of the successors that have rows."""
    rows = _rows(folder, suite.EXPERIMENT) + _rows(folder, successors.EXPERIMENT)
    sections = [
        f"## {table.title.removeprefix('After 2011: ')}\n\n{_section(table)}"
        for table in successor_tables.tables(rows)
    ]
    return "\n\n".join(sections) or NO_ROWS


def labelled_images(folder: Path) -> str:
    """The table of each data set of images that has rows."""
    rows = _rows(folder, images.EXPERIMENT)
    return image_report.tables(rows, level=3) or NO_ROWS


NO_ROWS = "There are no rows yet."
TABLES: dict[str, Callable[[Path], str]] = {
    "headline": lambda folder: f"{headline.render(folder)}\n\n{headline.notes(folder)}",
    "ten-folds": ten_folds,
    "ranks": ranks,
    "images": labelled_images,
    "bases": lambda folder: bases_report.table(_rows(folder, bases.EXPERIMENT)),
    "untuned": lambda folder: untuned_report.table(_rows(folder, untuned.EXPERIMENT)),
    "after-2011": after_2011,
    "rules": lambda folder: rules_report.objectives_table(
        _rows(folder, rules.EXPERIMENT)
    ),
    "rules-paired": lambda folder: rules_report.paired_table(
        _rows(folder, rules.EXPERIMENT)
    ),
    "missing-labels": lambda folder: rules_report.missing_table(
        _rows(folder, rules.EXPERIMENT)
    ),
    "letters": lambda folder: class_tables.letters(_rows(folder, outputs.EXPERIMENT)),
    "unseen": lambda folder: class_tables.unseen(_rows(folder, outputs.EXPERIMENT)),
    "digits": lambda folder: class_tables.digits(_rows(folder, outputs.EXPERIMENT)),
    "motion": lambda folder: real_targets.motion_table(
        _rows(folder, outputs.EXPERIMENT)
    ),
    "real-errors": lambda folder: real_targets.table(
        _rows(folder, outputs.EXPERIMENT), "rrmse"
    ),
    "real-likelihoods": lambda folder: real_targets.table(
        _rows(folder, outputs.EXPERIMENT), "nll"
    ),
}


def _section(table: Table | None = None) -> str:
    """A table in Markdown, followed by its note."""
    if table is None:
        return NO_ROWS
    lines = [
        ["model", *table.columns],
        ["---"] * (1 + len(table.columns)),
        *([model, *map(_cell, scores)] for model, scores in table.rows),
    ]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{text}\n\n{table.note}".rstrip()


def _cell(score: Score | None) -> str:
    if score is None:
        return "-"
    text = f"**{score.mean}**" if score.best else score.mean
    text += f" ± {score.spread}" if score.spread else ""
    text += f" ({score.n_repeats})" if score.n_repeats else ""
    return f"{text}, {score.p_value}" if score.p_value else text


if __name__ == "__main__":
    for path in update():
        print(path)
