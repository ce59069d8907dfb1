"""The numbers of the paper's tables, in percent, as printed there."""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A column of a table: a data set and a metric."""

    dataset: str
    metric: str


def _table(columns: list[Column], rows: dict[str, list[float]]) -> PublishedScores:
    return {
        model: dict(zip(columns, scores, strict=True)) for model, scores in rows.items()
    }


PublishedScores = dict[str, dict[Column, float]]

# Average classification error over labels.
TABLE1 = _table(
    [Column(name, "hamming") for name in ("yeast", "scene", "mturk", "majmin")],
    {
        "LogReg": [19.92, 10.55, 7.32, 4.26],
        "CRF": [21.03, 9.75, 7.21, 4.24],
        "CRBM + MF": [20.73, 9.85, 7.27, 4.28],
        "CRBM + LBP": [20.58, 9.47, 7.25, 4.22],
        "HashCRBM": [20.02, 8.80, 7.24, 4.20],
    },
)
# Wrong pixels among all pixels, and among those that the noise changed.
TABLE2 = _table(
    [
        Column(kind, metric)
        for kind in ("corrupted", "occluded")
        for metric in ("all", "changed")
    ],
    {
        "Baseline": [9.993, 100.0, 1.920, 100.0],
        "LogReg": [1.937, 12.54, 1.560, 60.10],
        "CD-1": [1.923, 10.95, 1.800, 62.90],
        "CD-10": [1.816, 11.1, 1.704, 67.93],
        "CD-PercLoss": [1.755, 10.71, 1.357, 41.89],
    },
)
