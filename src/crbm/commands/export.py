"""`crbm export`: write a model file for another runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crbm.commands.output import check_output_path
from crbm.estimators import load
from crbm.export import to_onnx


def run(model: Path | str, *, out: Path | None, force: bool) -> dict[str, Any]:
    """Write the ONNX model of a model file; returns what it takes and gives.

    Parameters
    ----------
    model
        The model file.
    out, force
        The .onnx file, by default beside the model, and whether an existing file may be
        replaced.
    """
    out = Path(model).with_suffix(".onnx") if out is None else out
    check_output_path(out, force=force, endings=(".onnx",))
    exported = to_onnx(load(model), out)
    report = {"file": str(out), "input": "X", **exported._asdict()}
    report["notices"] = _notices(exported.encoded)
    return report


def _notices(encoded: bool) -> list[str]:
    """What a user of the ONNX model has to know."""
    if not encoded:
        return []
    return [
        "The model reads tables: `X` is not the table's own columns, but what "
        "`crbm.load(MODEL).encoder_.transform(table)` returns."
    ]
