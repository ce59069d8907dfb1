"""Trials: models of the tables with one thing changed.

Trials are run like the models that they change and stored with them. The report shows
both.
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
    """A model of a table with one thing changed.

    Parameters
    ----------
    base
        Name of the model in its table.
    change
        The change in words.
    cells
        The runs of the trial.
    run
        Function that runs one cell.
    """

    base: str
    change: str
    cells: Sequence[Cell]
    run: Callable[[Cell], Outcome]

    def rows(self, rows: Mapping[str, Row]) -> list[Row]:
        """The rows of this trial; `rows` are given by their keys."""
        return [rows[cell.key] for cell in self.cells if cell.key in rows]


def _table1_trial(
    base: str,
    change: str,
    names: Sequence[str] = ("yeast", "scene"),
    title: str | None = None,
    **fields: Any,
) -> Trial:
    """A model of Table 1 with other fields; `title` is that of older rows."""
    model = replace(table1.MODELS[base], **fields)
    cells = [
        table1.cell(name, fold, title or base, model)
        for name in names
        for fold in range(table1.N_FOLDS)
    ]
    return Trial(base, change, cells, partial(table1.run_cell, model=model))


def _table2_trial(
    base: str, change: str, rates: Sequence[float], **fields: Any
) -> Trial:
    """A model of Table 2 with other fields; `rates` are those of each kind of noise."""
    config = replace(table2.MODELS[base], **fields).to_dict()
    cells = [
        Cell(
            table2.EXPERIMENT,
            *(kind, base, None, seed),
            {**config, "quick": False, "learning_rate": rate},
        )
        for kind, rate in zip(table2.KINDS, rates, strict=True)
        for seed in table2.SEEDS
    ]
    return Trial(base, change, cells, table2.run_cell)


BY_LOG_LOSS = "tuned and stopped by the log loss of the validation cases"
_HASH = "HashCRBM"
_COMMITTEE, _MEAN_FIELD = next(iter(table1.OURS)), next(iter(table2.OURS))
_ALL = ("yeast", "scene", "majorminer", "cal500")
_WITHOUT_CAL500 = ("yeast", "scene", "majorminer")  # the CRF is too slow there
_WITHOUT_MAJORMINER = ("yeast", "scene", "cal500")
_KERNEL: dict[str, Any] = {"preprocessing": "kernel", "init_scale": 0.3}
_WIDTHS = {"kernel_gamma": [1.0, 2.0]}

TABLE1 = (
    *(
        _table1_trial(base, BY_LOG_LOSS, names, schedule=table1.BY_LOG_LOSS)
        for base, names in (
            *(("LogReg", _ALL), ("CRF", _WITHOUT_CAL500)),
            *((base, _ALL) for base in ("CRBM + MF", "CRBM + LBP", _HASH)),
        )
    ),
    _table1_trial(
        _HASH,
        f"{BY_LOG_LOSS}, all parameters trained to the end",
        schedule=replace(table1.BY_LOG_LOSS, rungs=(125,)),
    ),
    _table1_trial(
        _HASH,
        f"{BY_LOG_LOSS}, initial couplings of 0.05, not 0.01",
        fixed={"batch_size": 128, "init_scale": 0.05},
        schedule=table1.BY_LOG_LOSS,
    ),
    _table1_trial(
        _HASH,
        f"{BY_LOG_LOSS}, batches of 16",
        fixed={"batch_size": 16},
        schedule=table1.BY_LOG_LOSS,
    ),
    _table1_trial(
        _COMMITTEE, "128 hidden units, not 256", fixed=table1.MEMBER_DEFAULTS
    ),
    _table1_trial(
        _COMMITTEE,
        "128 hidden units, without the narrow kernel",
        _WITHOUT_MAJORMINER,
        grid=table1.WIDE_KERNEL,
        fixed=table1.MEMBER_DEFAULTS,
    ),
    _table1_trial(
        _COMMITTEE,
        "five members with the same validation cases, 5 bits, rate 2^-6",
        _WITHOUT_MAJORMINER,
        title="HashCRBM, kernel x 5 (ours)",
        grid={"learning_rate": [2**-6], **_WIDTHS},
        fixed={**_KERNEL, "n_bits": 5, "n_estimators": 5},
        n_members=0,
    ),
    _table1_trial(
        _COMMITTEE,
        "five members with the same validation cases, all label sets, rate 2^-4",
        _WITHOUT_MAJORMINER,
        title="HashCRBM, kernel x 5, 2^-4 (ours)",
        grid={"learning_rate": [2**-4], **_WIDTHS},
        fixed={**_KERNEL, "radius": None, "n_estimators": 5},
        n_members=0,
    ),
)
TABLE2 = tuple(
    _table2_trial(base, "initial biases of zero", rates, hidden_bias=None)
    for base, rates in (
        ("CD-1", (2**-2, 1.0)),
        ("CD-10", (2**-3, 1.0)),
        ("CD-PercLoss", (2**-3, 2**-2)),
        (_MEAN_FIELD, (2**-4, 2**-4)),
    )
)


def complete(
    labels: Store, digits: Store, *, echo: runs.Echo = print, **run_options: Any
) -> None:
    """Run the cells of all trials that are missing and whose data are available."""
    available = table1.available_datasets(
        {cell.dataset for trial in TABLE1 for cell in trial.cells}, echo
    )
    for trial in TABLE1:
        cells = [cell for cell in trial.cells if cell.dataset in available]
        runs.complete(cells, trial.run, labels, echo=echo, **run_options)
    for trial in TABLE2:
        runs.complete(trial.cells, trial.run, digits, echo=echo, **run_options)
