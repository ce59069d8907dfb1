"""What else was tried: models of the tables with something changed.

Trials are run like the models that they change, and their rows are in the same stores;
the report shows them beside what stayed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from paper.engine import runs
from paper.engine.store import Cell, Outcome, Row, Store
from paper.tables import table1, table2


@dataclass(frozen=True)
class Trial:
    """A model of a table with something changed.

    Parameters
    ----------
    base
        The model, as its table calls it.
    change
        What is different, in words.
    cells
        The runs.
    run
        What runs one of them.
    """

    base: str
    change: str
    cells: Sequence[Cell]
    run: Callable[[Cell], Outcome]

    def rows(self, rows: Mapping[str, Row]) -> list[Row]:
        """Those of the rows, named by their keys, that belong to this trial."""
        return [rows[cell.key] for cell in self.cells if cell.key in rows]


def _labels(
    base: str,
    change: str,
    names: Sequence[str] = ("yeast", "scene"),
    title: str | None = None,
    **different: Any,
) -> Trial:
    """A model of Table 1 with other fields; its rows may have a title of the past."""
    model = replace(table1.MODELS[base], **different)
    cells = [
        table1.cell(name, fold, title or base, model)
        for name in names
        for fold in range(table1.N_FOLDS)
    ]
    return Trial(base, change, cells, partial(table1.classify, model=model))


def _digits(base: str, change: str, rates: Sequence[float], **different: Any) -> Trial:
    """A model of Table 2 with other fields, at the rate of each kind of noise."""
    config = replace(table2.MODELS[base], **different).plain()
    cells = [
        Cell(
            table2.EXPERIMENT,
            *(kind, base, None, seed),
            {**config, "quick": False, "learning_rate": rate},
        )
        for kind, rate in zip(table2.KINDS, rates, strict=True)
        for seed in table2.SEEDS
    ]
    return Trial(base, change, cells, table2.restore)


_HASH = "HashCRBM"
_COMMITTEE, _RESTORED = next(iter(table1.OURS)), next(iter(table2.OURS))
_ALL = ("yeast", "scene", "majorminer", "cal500")
_WITHOUT_CAL500 = ("yeast", "scene", "majorminer")  # the CRF is too slow there
_WITHOUT_MAJORMINER = ("yeast", "scene", "cal500")
_KERNEL: dict[str, Any] = {"preprocessing": "kernel", "init_scale": 0.3}
_WIDTHS = {"kernel_gamma": [1.0, 2.0]}

LABELS = (
    *(
        _labels(base, "chosen by wrong labels", names, schedule=table1.BY_ERROR)
        for base, names in (
            *(("LogReg", _ALL), ("CRF", _WITHOUT_CAL500)),
            *((base, _ALL) for base in ("CRBM + MF", "CRBM + LBP", _HASH)),
        )
    ),
    _labels(
        _HASH,
        "all settings trained to the end",
        schedule=replace(table1.BY_LOG_LOSS, rungs=(125,)),
    ),
    _labels(
        _HASH,
        "couplings start at 0.05, not 0.01",
        fixed={"batch_size": 128, "init_scale": 0.05},
    ),
    _labels(_HASH, "batches of 16", fixed={"batch_size": 16}),
    _labels(_COMMITTEE, "128 hidden units, not 256", fixed=table1.MEMBER),
    _labels(
        _COMMITTEE,
        "128 hidden units, and no narrower kernel to choose",
        _WITHOUT_MAJORMINER,
        grid=table1.WIDE,
        fixed=table1.MEMBER,
    ),
    _labels(
        _COMMITTEE,
        "five members on the same validation rows, 5 bits, 2^-6",
        _WITHOUT_MAJORMINER,
        title="HashCRBM, kernel x 5 (ours)",
        grid={"learning_rate": [2**-6], **_WIDTHS},
        fixed={**_KERNEL, "n_bits": 5, "n_estimators": 5},
        n_members=0,
    ),
    _labels(
        _COMMITTEE,
        "five members on the same validation rows, all sets, 2^-4",
        _WITHOUT_MAJORMINER,
        title="HashCRBM, kernel x 5, 2^-4 (ours)",
        grid={"learning_rate": [2**-4], **_WIDTHS},
        fixed={**_KERNEL, "radius": None, "n_estimators": 5},
        n_members=0,
    ),
)
DIGITS = tuple(
    _digits(base, "biases start at zero", rates, hidden_bias=None)
    for base, rates in (
        ("CD-1", (2**-2, 1.0)),
        ("CD-10", (2**-3, 1.0)),
        ("CD-PercLoss", (2**-3, 2**-2)),
        (_RESTORED, (2**-4, 2**-4)),
    )
)


def complete(
    labels: Store, digits: Store, *, say: runs.Say = print, **run_options: Any
) -> None:
    """Run what is missing of all trials on data that is here."""
    here = table1.present(
        {cell.dataset for trial in LABELS for cell in trial.cells}, say
    )
    for trial in LABELS:
        cells = [cell for cell in trial.cells if cell.dataset in here]
        runs.complete(cells, trial.run, labels, say=say, **run_options)
    for trial in DIGITS:
        runs.complete(trial.cells, trial.run, digits, say=say, **run_options)
