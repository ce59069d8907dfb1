"""Measures of predicted masks, from how often each label was taken for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

Confusion = Int[np.ndarray, "*images labels labels"]
COLUMNS = {
    "accuracy": "right pixels",
    "image_iou": "image IoU",
    "class_iou": "label IoU",
    "pixel_iou": "pooled IoU",
    "whole": "whole right",
}
MEANINGS = {
    "accuracy": "Share of pixels with the right label.",
    "image_iou": "Mean over images of the intersection over union (IoU) of an image.",
    "class_iou": "IoU of each label over all images, mean over labels.",
    "pixel_iou": "Intersections over unions, both summed over images and labels.",
    "whole": "Share of images of which every pixel is right.",
}


def confusion(truth: np.ndarray, predicted: np.ndarray, n_labels: int) -> Confusion:
    """How often each true label (row) was predicted as each (column).

    Pixels without a label (-1) do not count.

    Examples
    --------
    >>> confusion(np.array([[0, 1, 1]]), np.array([[0, 0, 1]]), 2)
    array([[1, 0],
           [1, 1]])
    """
    known = truth >= 0
    pairs = truth[known].astype(np.int64) * n_labels + predicted[known]
    counts = np.bincount(pairs.ravel(), minlength=n_labels**2)
    return counts.reshape(n_labels, n_labels)


def measures(counts: Confusion) -> dict[str, float]:
    """The measures of all images, from one confusion per image.

    Of two labels only the second counts in the IoU, the foreground, as in
    `crbm.metrics.iou`.
    """
    right = np.trace(counts, axis1=1, axis2=2)
    n_pixels = counts.sum((1, 2))
    overlap, union = _overlaps(counts)
    return {
        "accuracy": float(right.sum() / max(n_pixels.sum(), 1)),
        "image_iou": float(_mean_ratio(overlap, union).mean()),
        "class_iou": float(_mean_ratio(overlap.sum(0), union.sum(0))),
        "pixel_iou": float(overlap.sum() / max(union.sum(), 1)),
        "whole": float((right == n_pixels).mean()),
    }


def label_measures(counts: Confusion, names: Sequence[str]) -> list[dict[str, Any]]:
    """The measures of each label over all images."""
    total = counts.sum(0)
    rows = []
    for label, name in enumerate(names):
        hits, true, said = (
            total[label, label],
            total[label].sum(),
            total[:, label].sum(),
        )
        rows.append(
            {
                "label": name,
                "share": float(true / max(total.sum(), 1)),
                "predicted": float(said / max(total.sum(), 1)),
                "iou": _ratio(hits, true + said - hits),
                "precision": _ratio(hits, said),
                "recall": _ratio(hits, true),
            }
        )
    return rows


def _overlaps(counts: Confusion) -> tuple[np.ndarray, np.ndarray]:
    """Intersections and unions (images, labels) of the labels that count."""
    overlap = np.diagonal(counts, axis1=1, axis2=2)
    union = counts.sum(1) + counts.sum(2) - overlap
    n_labels = overlap.shape[1]
    counted = slice(1, 2) if n_labels == 2 else slice(None)
    return overlap[:, counted], union[:, counted]


def _mean_ratio(overlap: np.ndarray, union: np.ndarray) -> np.ndarray:
    """The mean ratio over the labels that occur; 1 if none does."""
    occurs = union > 0
    ratio = np.where(occurs, overlap / np.maximum(union, 1), 0).sum(-1)
    n_labels = occurs.sum(-1)
    return np.where(n_labels > 0, ratio / np.maximum(n_labels, 1), 1.0)


def _ratio(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None
