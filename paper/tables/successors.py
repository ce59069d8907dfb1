"""The successors' tables: what was published after 2011, and our results beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from paper.engine import runs
from paper.engine.judging import measure
from paper.engine.store import Cell, Outcome, Row, Store, key
from paper.tables import problems, suite, table1
from paper.tables.problems import Problem

EXPERIMENT = "successors"
Scores = Mapping[str, tuple[float | None, ...]]


@dataclass(frozen=True)
class Table:
    """A published table and how our rows for it are made.

    Parameters
    ----------
    title, protocol, source
        What is compared, how it is measured, and where the published numbers are from.
    dataset
        Its name in the rows.
    measures
        The columns.
    published
        The numbers of each published method, in percent.
    goal
        What we want to reach: the best published numbers, or our own earlier ones.
    load
        Returns the cases of a fold; None if the rows of the suite are shown.
    n_folds
        How many folds are run.
    models
        The models that are run.
    """

    title: str
    protocol: str
    source: str
    dataset: str
    measures: tuple[str, ...]
    published: Scores
    goal: tuple[float | None, ...]
    load: Callable[[int], Problem] | None = None
    n_folds: int = 1
    models: tuple[str, ...] = ("AutoClassifier", "logistic regression")

    def cells(self) -> list[Cell]:
        """The runs of this table; those of the suite if it has none of its own."""
        if self.load is None:
            wanted = suite.cells()
            return [
                cell
                for cell in wanted
                if cell.dataset == self.dataset and cell.model in self.models
            ]
        return [
            Cell(EXPERIMENT, self.dataset, model, fold, 0, self._config(model))
            for fold in range(self.n_folds)
            for model in self.models
        ]

    def _config(self, model: str) -> dict[str, Any]:
        summary = suite.known(model).summary()
        return {"model": summary, "protocol": self.title, "quick": False}

    def run(self, cell: Cell) -> Outcome:
        """Fit one model on one fold and measure its answers."""
        assert self.load is not None
        problem = self.load(cell.fold or 0)
        forecast = suite.answer(cell.model, problem, cell.fold or 0)
        return Outcome(measure(forecast, problem.Y_test), forecast.details)


_F1 = ("example_f1",)
_SPEN = (
    "Belanger and McCallum 2016 (Table 1); Tu and Gimpel 2018 (Table 1); Brukhim and "
    "Globerson 2018 (Table 1); Lanchantin et al. 2019"
)
_SPEN_PROTOCOL = (
    "Mulan's own split. Example F1 in percent. The published scripts of this line "
    "choose the threshold on test cases; here every choice is made on training cases."
)
_GMVAE = "Bai, Kong, Gomes 2022, Tables 1 and 2"
_GMVAE_PROTOCOL = (
    "80 % of the cases for training, 10 % for validation, 10 % for test; example, "
    "micro and macro F1 in percent. Ours: the ten folds of Table 1."
)
_DELA = "Hang and Zhang 2022, Table 2"
_DELA_PROTOCOL = (
    "A tenth of the cases is set aside for tuning (unused here), ten-fold "
    "cross-validation on the others. Average precision and wrong labels in percent."
)
_F1S = ("example_f1", "micro_f1", "macro_f1")
_PRECISION = ("average_precision", "hamming")


def _official(name: str) -> Callable[[int], Problem]:
    return lambda fold: problems.official(name)


def _apart(name: str) -> Callable[[int], Problem]:
    return lambda fold: problems.tuned_apart(name, fold)


TABLES = (
    Table(
        "bibtex, official split",
        _SPEN_PROTOCOL,
        _SPEN,
        "bibtex",
        _F1,
        {
            "logistic regression, published": (37.2,),
            "MLP": (38.9,),
            "deep mean field": (40.0,),
            "SPEN": (42.2,),
            "SPEN, inference network": (42.2,),
            "DVN": (44.7,),
            "LaMP": (44.7,),
            "Predict and Constrain": (45.5,),
        },
        (45.5,),
        _official("bibtex"),
    ),
    Table(
        "delicious, official split",
        _SPEN_PROTOCOL,
        _SPEN,
        "delicious",
        _F1,
        {
            "logistic regression, published": (26.5,),
            "MLP": (37.8,),
            "deep mean field": (34.2,),
            "SPEN": (37.5,),
            "SPEN, inference network": (37.5,),
            "LaMP": (37.2,),
            "Predict and Constrain": (38.4,),
        },
        (38.4,),
        _official("delicious"),
    ),
    Table(
        "scene, official split",
        "Mulan's own split. Label sets entirely right, Jaccard index and wrong labels "
        "in percent.",
        "Li, Wang, Pavlu, Aslam 2016, Table 2 and its supplement",
        "scene",
        ("subset", "jaccard", "hamming"),
        {
            "logistic regression, published": (51.5, 58.4, 10.8),
            "label sets, logistic": (68.1, 71.9, 9.5),
            "pairwise CRF": (68.8, 72.8, 9.2),
            "CBM, logistic": (69.7, 73.6, 8.9),
            "boosting per label": (59.3, 63.9, 8.3),
            "CBM, boosting": (70.5, 75.2, 8.5),
        },
        (72.4, 75.2, None),
        _official("scene"),
        models=("AutoClassifier", "SVM on label sets", "logistic regression"),
    ),
    Table(
        "yeast, 80/10/10",
        _GMVAE_PROTOCOL,
        _GMVAE,
        "yeast",
        _F1S,
        {
            "BR": (63.0, 65.5, 37.3),
            "C2AE": (61.4, 62.6, 42.7),
            "LaMP": (62.4, 64.1, 48.0),
            "MPVAE": (64.8, 65.5, 48.2),
            "ASL": (61.3, 63.7, 48.4),
            "C-GMVAE": (65.6, 66.5, 48.7),
        },
        (65.6, 66.5, 48.7),
        models=("AutoClassifier", "SVM on label sets", "random forest"),
    ),
    Table(
        "scene, 80/10/10",
        _GMVAE_PROTOCOL,
        _GMVAE,
        "scene",
        _F1S,
        {
            "BR": (60.6, 70.6, 70.4),
            "C2AE": (69.8, 71.3, 72.8),
            "LaMP": (72.8, 71.6, 74.5),
            "MPVAE": (75.1, 74.2, 75.0),
            "ASL": (77.0, 75.3, 76.5),
            "C-GMVAE": (77.7, 76.2, 76.9),
        },
        (77.7, 76.2, 76.9),
        models=("AutoClassifier", "SVM on label sets", "random forest"),
    ),
    Table(
        "corel5k, a tenth apart",
        _DELA_PROTOCOL,
        _DELA,
        "corel5k",
        _PRECISION,
        {
            "LIFT": (29.11, 0.94),
            "C2AE": (29.15, 1.24),
            "MPVAE": (32.85, 0.94),
            "CLIF": (31.47, 0.94),
            "PACA": (32.40, 0.94),
            "DELA": (33.82, 0.93),
        },
        (33.82, None),
        _apart("corel5k"),
    ),
    Table(
        "delicious, a tenth apart",
        _DELA_PROTOCOL,
        _DELA,
        "delicious",
        _PRECISION,
        {
            "LIFT": (38.33, 1.80),
            "C2AE": (36.48, 2.48),
            "MPVAE": (40.42, 1.77),
            "CLIF": (38.32, 1.79),
            "PACA": (40.46, 1.79),
            "DELA": (40.82, 1.78),
        },
        (40.82, None),
        _apart("delicious"),
    ),
    Table(
        "SPEN's synthetic task, 1,500 cases",
        "64 normal inputs; 16 labels in four blocks, of which each has one label on. "
        "Example F1 in percent.",
        "Belanger and McCallum 2016, Table 3",
        problems.SYNTHETIC,
        _F1,
        {"linear": (80.0,), "3-layer MLP": (81.6,), "SPEN": (91.5,)},
        (91.5,),
        models=("AutoClassifier", "SVM on label sets", "logistic regression"),
    ),
)


def complete(store: Store, *, echo: runs.Echo = print, n_jobs: int = 1) -> list[Row]:
    """Run the cells that are missing and whose data are available; returns all rows.

    Tables without runs of their own show rows of the suite.
    """
    own = [table for table in TABLES if table.load is not None]
    names = sorted({table.dataset for table in own})
    found = table1.available_datasets(names, echo)
    rows: list[Row] = []
    for table in own:
        if table.dataset in found:
            cells = table.cells()
            rows += runs.complete(cells, table.run, store, n_jobs=n_jobs, echo=echo)
    return rows


def rows_of(table: Table, rows: Iterable[Row]) -> list[Row]:
    """The rows of a table among those of both stores."""
    rows = [row for row in rows if row["dataset"] == table.dataset]
    wanted = {cell.key for cell in table.cells()} if rows else set()
    return [row for row in rows if key(row) in wanted]
