"""The model card of `crbm inspect`: a page in Markdown to publish a model with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from crbm.commands.output import check_output_path

# What the Hugging Face hub reads at the top of a card.
HEADER = """---
library_name: crbm
tags:
- crbm
- {task}
---
"""
USE = """```python
import crbm

model = crbm.load("{file}")
model.{call}
```
"""
MOST_NAMES = 50


def write(report: Mapping[str, Any], path: Path, *, force: bool) -> None:
    """Write the card of an inspected model to a Markdown file."""
    check_output_path(path, force=force, endings=(".md",))
    path.write_text(card(report), encoding="utf-8")


def card(report: Mapping[str, Any]) -> str:
    """The card of a model that `crbm inspect` described.

    Examples
    --------
    >>> report = {"file": "m.safetensors", "kind": "CRBMClassifier", "n_features": 2}
    >>> report |= {"label_names": ["a", "b"], "settings": {"n_hidden": 3}}
    >>> print(card(report | {"training": [{"epochs": 5}]}).split("\\n## ")[1])
    Outputs
    <BLANKLINE>
    2 labels: a, b
    <BLANKLINE>
    """
    kind, file = report["kind"], Path(report["file"]).name
    of_images = "n_channels" in report
    task = "image-segmentation" if of_images else "multi-label-classification"
    call = "predict(images)" if of_images else "predict_proba(X)"
    parts = [
        HEADER.format(task=task),
        f"# {Path(file).stem}\n",
        f"A `{kind}` of [crbm](https://pypi.org/project/crbm/), structured output "
        "prediction with conditional restricted Boltzmann machines.\n",
        USE.format(file=file, call=call),
        "## Outputs\n",
        f"{len(report['label_names'])} labels: {_listed(report['label_names'])}\n",
        *_inputs(report),
        *_trained_on(report.get("trained_on")),
        "## Training\n",
        _table(report["training"]),
        *_pairs(report),
        "## Parameters\n",
        _facts(report["settings"]),
        "## Size and versions\n",
        _facts(_sizes(report) | dict(report.get("versions") or {})),
    ]
    return "\n".join(parts)


def _inputs(report: Mapping[str, Any]) -> list[str]:
    if "n_channels" in report:
        return ["## Inputs\n", f"Images with {report['n_channels']} channel(s).\n"]
    if "columns" in report:
        return [
            "## Inputs\n",
            "A table with these columns:\n",
            _table(report["columns"]),
        ]
    names = report.get("feature_names")
    listed = f": {_listed(names)}" if names else "."
    return ["## Inputs\n", f"{report['n_features']} numbers per case{listed}\n"]


def _trained_on(data: Mapping[str, Any] | None) -> list[str]:
    return ["## Training data\n", _facts(data)] if data else []


def _pairs(report: Mapping[str, Any]) -> list[str]:
    """The labels that attract and that exclude each other most."""
    pairs = [(*pair, "attract") for pair in report.get("attract", ())]
    pairs += [(*pair, "exclude") for pair in report.get("exclude", ())]
    if not pairs:
        return []
    rows = [
        {"label": one, "and": other, "kind": kind, "log odds ratio": strength}
        for one, other, strength, kind in pairs
    ]
    return ["## Labels that depend on each other\n", _table(rows)]


def _sizes(report: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in report.items()
        if name.startswith("n_") or name == "candidate_recall"
    }


def _facts(facts: Mapping[str, Any]) -> str:
    return _table([{"name": name, "value": value} for name, value in facts.items()])


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = list(rows[0])
    lines = [[name.replace("_", " ") for name in columns], ["---"] * len(columns)]
    lines += [[_cell(row[name]) for name in columns] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(_cell(name) for name in names[:MOST_NAMES]) + more
