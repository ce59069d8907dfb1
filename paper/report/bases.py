"""The table of `crbm reproduce bases` as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from paper.engine.store import Row
from paper.tables import bases

MEASURES = {
    "hamming": "wrong labels, %",
    "subset": "right sets, %",
    "log_loss": "log loss",
}


def write(rows: Iterable[Row], folder: Path) -> list[Path]:
    """Write `bases.md`; returns its path."""
    path = folder / "bases.md"
    path.write_text(table(rows) + "\n")
    return [path]


def table(rows: Iterable[Row]) -> str:
    """One row per data set and base; each measure alone -> with HashCRBM."""
    current = {cell.key for cell in bases.cells()}
    found = {
        (row["dataset"], row["model"]): row["metrics"]
        for row in rows
        if bases.cell(row["dataset"], *row["model"].rsplit(", ", 1)).key in current
    }
    lines = [["data", "base", *MEASURES.values()], ["---"] * (2 + len(MEASURES))]
    n_better, n_pairs = dict.fromkeys(MEASURES, 0), 0
    for name in bases.SPLITS:
        for base in bases.BASES:
            pair = [
                found.get((name, f"{base}, {h}")) for h in (bases.ALONE, bases.WITH)
            ]
            if None in pair:
                continue
            alone, with_structure = pair
            assert alone is not None
            assert with_structure is not None
            n_pairs += 1
            cells = []
            for measure in MEASURES:
                one, two = alone[measure], with_structure[measure]
                digits = 3 if measure == "log_loss" else 2
                cells.append(f"{one:.{digits}f} -> {two:.{digits}f}")
                better = two > one if measure == "subset" else two < one
                n_better[measure] += better
            lines.append([name, base, *cells])
    if not n_pairs:
        return "There are no rows yet."
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    counts = ", ".join(
        f"{title.split(',')[0]} {n_better[name]}" for name, title in MEASURES.items()
    )
    return f"{text}\n\nBetter with the HashCRBM, of {n_pairs} pairs: {counts}."
