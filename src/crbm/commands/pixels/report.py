"""The page that `crbm train` writes beside a model of pixels."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
from PIL import Image

from crbm.commands import html
from crbm.commands.pixels.assessment import Assessment, Case
from crbm.commands.pixels.inspect import describe
from crbm.commands.pixels.measures import COLUMNS, label_measures
from crbm.commands.pixels.model import labels_of
from crbm.commands.report import (
    fill_page,
    held_out_section,
    path_of,
    percent,
    scores_table,
    write_page,
)
from crbm.datasets import MaskLabels
from crbm.estimators import PixelClassifier

__all__ = ["path_of", "render", "titled", "write"]
LARGEST = 160  # pixels of a side of a picture


def write(
    path: Path,
    classifier: PixelClassifier,
    assessment: Assessment | None,
    notices: Sequence[str],
) -> None:
    """Write the page."""
    write_page(path, render(classifier, assessment, notices))


def render(
    classifier: PixelClassifier,
    assessment: Assessment | None,
    notices: Sequence[str],
) -> str:
    """The page as a string."""
    described = describe(classifier)
    data = described["trained_on"] or {}
    name = escape(str(data.get("name") or "unnamed images"))
    facts = described["settings"] | described["versions"]
    labels = labels_of(classifier)
    return fill_page(
        title=f"{described['kind']} on {name}",
        subtitle=f"{data.get('n_cases', '?')} images, {len(labels)} labels: "
        f"{escape(', '.join(labels.names[:20]))}.",
        notices=notices,
        scores=_scores(assessment),
        labels=_labels(assessment, labels),
        tried=_pictures(assessment, labels)
        + f"<h2>Training</h2>{html.table(described['training'])}",
        parameters=facts,
    )


def titled(scores: dict[str, float]) -> dict[str, str]:
    """The measures under the titles of their columns.

    Examples
    --------
    >>> titled(dict.fromkeys(COLUMNS, 0.125))["right pixels"]
    '12.50 %'
    """
    return {title: percent(scores[key]) for key, title in COLUMNS.items()}


def _scores(assessment: Assessment | None) -> str:
    if assessment is None:
        return held_out_section("images", None)
    found = assessment.scores()
    best = {key: max(scores[key] for scores in found.values()) for key in COLUMNS}
    table = scores_table(
        {name: titled(scores) for name, scores in found.items()},
        own=assessment.model,
        best=titled(best),
    )
    counts = len(assessment.counts[assessment.model]), assessment.n_train
    remark = "IoU is the intersection of true and predicted pixels over their union."
    return held_out_section("images", counts, table, remark)


def _labels(assessment: Assessment | None, labels: MaskLabels) -> str:
    if assessment is None:
        return ""
    rows = label_measures(assessment.counts[assessment.model], labels.names)
    shown = [
        {
            key: percent(value) if isinstance(value, float) else value
            for key, value in row.items()
        }
        for row in rows
    ]
    table = html.table(
        shown,
        row_class=lambda r: "missed" if r["predicted"] == percent(0.0) else "",
    )
    return f"<h2>Labels of the held-out images</h2>{table}"


def _pictures(assessment: Assessment | None, labels: MaskLabels) -> str:
    if assessment is None:
        return ""
    rows = "".join(_picture_row(case, labels) for case in assessment.shown)
    return (
        "<h2>Some held-out images</h2>"
        '<div class="wide"><table><tr><th>image</th><th>true labels</th>'
        f"<th>predicted</th></tr>{rows}</table></div>"
    )


def _picture_row(case: Case, labels: MaskLabels) -> str:
    colours = np.array(labels.colours, dtype=np.uint8)
    truth = np.where(case.truth[..., None] >= 0, colours[case.truth], 127)
    pictures = _bytes(case.image), truth.astype(np.uint8), colours[case.predicted]
    return f"<tr>{''.join(f'<td>{_picture(p)}</td>' for p in pictures)}</tr>"


def _bytes(image: np.ndarray) -> np.ndarray:
    """An image as bytes to look at; floats are stretched to the whole range."""
    if image.dtype == np.uint8:
        return image.squeeze()
    low, high = float(image.min()), float(image.max())
    return (255 * (image.squeeze() - low) / max(high - low, 1e-9)).astype(np.uint8)


def _picture(pixels: np.ndarray) -> str:
    image = Image.fromarray(pixels)
    scale = LARGEST / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    stream = io.BytesIO()
    image.resize((width, height), Image.Resampling.NEAREST).save(stream, format="PNG")
    content = base64.b64encode(stream.getvalue()).decode()
    return f'<img alt="" src="data:image/png;base64,{content}">'
