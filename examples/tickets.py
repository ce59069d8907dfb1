"""Write `tickets.csv`, a made-up table of support tickets, and some without labels.

    python examples/tickets.py
    crbm train tickets.csv --labels billing,bug,cancel --drop ticket --out m.safetensors
    crbm predict m.safetensors new.csv --out predicted.csv --top-k 3
    crbm serve m.safetensors

Customers write about bills, bugs, or that they cancel, which bills and bugs together
often lead to. Some values are missing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np

LABELS = ("billing", "bug", "cancel")
# What is written if a label is present; each ticket also has a common phrase.
PHRASES = {
    "billing": ("charged twice", "wrong invoice", "a refund please", "the price"),
    "bug": ("the app crashes", "an error on login", "it does not load", "slow today"),
    "cancel": ("close my account", "ending the contract", "we are leaving", "no more"),
}
COMMON = ("hello", "thanks in advance", "since last week", "please help", "urgent")
PLANS = ("free", "pro", "team")


def tickets(n_rows: int, seed: int) -> Iterator[dict[str, object]]:
    """Rows of a table with numbers, categories, dates, texts and three labels."""
    rng = np.random.default_rng(seed)
    for number in range(n_rows):
        plan = PLANS[rng.choice(3, p=(0.5, 0.35, 0.15))]
        seats = 1 if plan == "free" else int(rng.integers(1, 40))
        billing = rng.random() < (0.1 if plan == "free" else 0.45)
        bug = rng.random() < (0.3 if billing else 0.5)
        cancel = rng.random() < (0.05, 0.25, 0.75)[int(billing) + int(bug)]
        present = dict(zip(LABELS, (billing, bug, cancel), strict=True))
        words = [rng.choice(COMMON)]
        for label, is_present in present.items():
            if rng.random() < (0.9 if is_present else 0.05):
                words.append(rng.choice(PHRASES[label]))
        rng.shuffle(words)
        day = date(2025, 1, 1) + timedelta(days=int(rng.integers(0, 365)))
        yield {
            "ticket": 10_000 + number,
            "opened": day.isoformat(),
            "plan": plan if rng.random() < 0.95 else "",
            "seats": seats if rng.random() < 0.9 else "",
            "message": ", ".join(words),
            **{label: int(value) for label, value in present.items()},
        }


def write(path: Path, n_rows: int, seed: int, *, labels: bool = True) -> None:
    """Write a table, with its labels or without."""
    rows = [
        {name: row[name] for name in row if labels or name not in LABELS}
        for row in tickets(n_rows, seed)
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    write(Path("tickets.csv"), 1500, seed=0)
    write(Path("new.csv"), 100, seed=1, labels=False)
    print("tickets.csv and new.csv are written")
