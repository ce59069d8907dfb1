"""The report of the demo: one HTML file that contains its pictures."""

from __future__ import annotations

import base64
import io
import os
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import numpy as np

import crbm
from crbm import plotting
from demo.digits import Digits
from demo.genes import OURS, Genes, verdicts

SHAPE = (28, 28)
N_DIGITS, N_GENES, N_SETS = 6, 4, 3
TEMPLATE = "report.html.jinja"


class LikelySet(NamedTuple):
    """A label set, its predicted probability, and whether it is the true one."""

    labels: str
    probability: float
    is_true: bool


class Gene(NamedTuple):
    """A test gene: its true label set and the most probable ones."""

    truth: str
    sets: list[LikelySet]


def write(folder: Path, digits: Digits, genes: Genes, seconds: float) -> Path:
    """Write report.html, and the restored digits also as restored.png."""
    restored = restoration(digits)
    restored.savefig(folder / "restored.png")
    source = files("demo").joinpath(TEMPLATE).read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(source).render(
        version=crbm.__version__,
        minutes=seconds / 60,
        digits=digits.errors,
        genes=genes.errors,
        verdicts=verdicts(genes),
        restored=_inline(restored),
        filters=_inline(filters(digits)),
        calibration=_inline(calibration(genes)),
        examples=examples(genes),
        commands=next_commands(folder),
    )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def next_commands(folder: Path) -> list[str]:
    """Commands to try next."""
    return [
        f"{_command()} serve {folder}/*.safetensors",
        f"{_command()} inspect {folder}/yeast-autoclassifier.safetensors",
        f"{_command()} train YOUR.csv --labels a,b,c --out model.safetensors",
    ]


def _command() -> str:
    """`crbm`, or its path if it is not on the search path."""
    if shutil.which("crbm"):
        return "crbm"
    return os.path.relpath(Path(sys.executable).with_name("crbm"))


def restoration(digits: Digits) -> Any:
    """Plot restorations of digits that lost many pixels, as in Figure 2."""
    n_lost = (digits.clean != digits.noisy).sum(1)
    most_lost = np.flatnonzero(n_lost >= np.quantile(n_lost, 0.75))
    rows = most_lost[np.linspace(0, len(most_lost) - 1, N_DIGITS).astype(int)]
    columns = {name: images[rows] for name, images in digits.restored.items()}
    columns["clean"] = digits.clean[rows]
    figure = plotting.new_figure(1.2 * (len(columns) + 1), 1.2 * N_DIGITS + 0.3)
    plotting.restoration(digits.noisy[rows], columns, SHAPE, figure=figure)
    return figure


def filters(digits: Digits) -> Any:
    """Plot the weights of the hidden units of CD-PercLoss."""
    weights = digits.models["CD-PercLoss"].models_[0].state_dict()["weight_vh"]
    figure = plotting.new_figure(5.0, 5.0)
    plotting.filters(weights.numpy(), SHAPE, n_filters=49, ax=figure.subplots())
    return figure


def calibration(genes: Genes) -> Any:
    """Plot the calibration of our best classifier's probabilities."""
    p = genes.models[OURS].predict_proba(genes.X)
    figure = plotting.new_figure(4.5, 4.5)
    plotting.calibration(genes.Y, p, ax=figure.subplots())
    return figure


def examples(genes: Genes) -> list[Gene]:
    """The most probable label sets of a few genes."""
    model = genes.models[OURS]
    rows = np.linspace(0, len(genes.X) - 1, N_GENES).astype(int)
    top = model.predict_top_k(genes.X[rows], k=N_SETS)
    names = np.asarray(model.label_names_)
    return [
        _gene(names, truth, sets, probabilities)
        for truth, sets, probabilities in zip(genes.Y[rows], *top, strict=True)
    ]


def _gene(
    names: np.ndarray, truth: np.ndarray, sets: np.ndarray, probabilities: np.ndarray
) -> Gene:
    likely = [
        LikelySet(_join_names(names, labels), float(p), np.array_equal(labels, truth))
        for labels, p in zip(sets, probabilities, strict=True)
    ]
    return Gene(_join_names(names, truth), likely)


def _join_names(names: np.ndarray, labels: np.ndarray) -> str:
    return ", ".join(names[labels == 1]) or "none"


def _inline(figure: Any) -> str:
    """The figure as a data URL."""
    content = io.BytesIO()
    figure.savefig(content, format="png")
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
