"""Each table of the paper in miniature, from its cells to the report."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.svm import SVC
from torch.testing import assert_close

from crbm import datasets
from crbm.types import Batch
from paper.engine.store import Cell, Outcome, Store, key
from paper.engine.tuning import Schedule
from paper.report import reproduce
from paper.tables import denoising, figure2, table1, table2
from paper.tables.denoising import Digits

MINIATURE = Schedule(rungs=(1, 1, 3), keep=0.5, patience=2)


@pytest.fixture
def small_labels(monkeypatch):
    """60 rows whose labels follow the inputs, few models, two folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    Y = (X[:, :3] > 0).astype(np.uint8)
    data = datasets.Dataset(X=X, Y=Y, name="yeast")
    monkeypatch.setattr(table1.datasets, "load", lambda name: data)
    monkeypatch.setattr(table1, "QUICK", MINIATURE)
    monkeypatch.setattr(table1, "QUICK_FOLDS", 2)
    monkeypatch.setattr(table1, "QUICK_DATASETS", ("yeast",))
    chosen = ("LogReg", "CRBM + MF", "HashCRBM", "KNeighbors", *table1.OURS)
    for name in table1.MODELS.keys() - chosen:
        monkeypatch.delitem(table1.MODELS, name)


@pytest.fixture
def small_digits(monkeypatch):
    """120 random images of which a part is wiped out, and tiny models."""
    pixels = torch.rand(120, 784, generator=torch.Generator().manual_seed(0))
    v = (pixels < 0.2).float()
    cases = Batch(datasets.occlude(v, generator=torch.Generator().manual_seed(1)), v)
    parts = [cases.select(slice(40 * i, 40 * i + 40)) for i in range(3)]
    data = Digits(*parts, denoising.occlude)
    monkeypatch.setattr(denoising, "load_digits", lambda kind, quick: data)
    monkeypatch.setattr(table2, "QUICK_EPOCHS", 2)
    monkeypatch.setattr(table2, "RATES", (1.0, 0.25))
    monkeypatch.setattr(table2, "ADAM_RATES", (0.01, 0.001))
    for name, config in table2.MODELS.items():
        small = replace(config, n_hidden=min(config.n_hidden, 4), batch_size=20)
        monkeypatch.setitem(table2.MODELS, name, small)
    for name in table2.START_RATES:
        monkeypatch.setitem(table2.START_RATES, name, table2.rate_grid(name)[0])


def run(target, folder, echo=lambda text: None):
    return reproduce.run(target, folder, quick=True, n_jobs=1, dask=None, echo=echo)


def figures(folder):
    """All rows of a folder, without what differs between two runs."""
    rows = {}
    for path in sorted(folder.glob("*.jsonl")):
        for row in Store(path):
            del row["seconds"], row["finished"]
            rows[key(row)] = row
    return rows


class StoppedAfter:
    """Listens to the messages and interrupts the command after so many rows."""

    def __init__(self, n_rows):
        self.left = n_rows

    def __call__(self, text):
        self.left -= "seed" in text
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("target", "fixture", "n_least"),
    [("table1", "small_labels", 10), ("table2", "small_digits", 16 + 10)],
)
def test_a_table_is_completed_after_an_interruption(
    tmp_path, request, target, fixture, n_least
):
    request.getfixturevalue(fixture)
    run(target, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(target, tmp_path / "parts", echo=StoppedAfter(3))
    whole = figures(tmp_path / "whole")
    assert len(whole) >= n_least
    assert 0 < len(figures(tmp_path / "parts")) < len(whole)
    run(target, tmp_path / "parts")
    assert figures(tmp_path / "parts") == whole


def test_the_report_shows_measured_beside_published(
    tmp_path, small_labels, monkeypatch
):
    run("table1", tmp_path)
    monkeypatch.setattr(table1, "run_cell", lambda cell: pytest.fail("ran again"))
    html, markdown = run("table1", tmp_path)
    [row] = [
        row
        for row in Store(tmp_path / "table1-quick.jsonl")
        if row["model"] == "HashCRBM" and row["fold"] == 0
    ]
    assert row["details"]["chosen"].keys() == {"learning_rate", "n_hidden", "n_bits"}
    text = markdown.read_text()
    assert "quick version" in text
    [line] = [line for line in text.splitlines() if line.startswith("| HashCRBM | ")][
        :1
    ]
    assert "/ 20.02 |" in line
    rows = [
        r["metrics"]["hamming"]
        for r in Store(tmp_path / "table1-quick.jsonl")
        if r["model"] == "HashCRBM"
    ]
    assert f"{np.mean(rows):.2f}" in line
    whole_sets = text.split("## Whole label sets")[1]
    [line] = [x for x in whole_sets.splitlines() if x.startswith("| HashCRBM | ")]
    right = [
        r["metrics"]["subset"]
        for r in Store(tmp_path / "table1-quick.jsonl")
        if r["model"] == "HashCRBM"
    ]
    assert f"{100 - np.mean(right):.2f}" in line
    page = html.read_text()
    assert "paper 20.02" in page
    assert "http" not in page.replace("http-equiv", "")


def test_pictures_of_figure_2(tmp_path, small_digits):
    paths = run("figure2", tmp_path)
    names = {path.name for path in paths}
    pictures = ("figure2", "filters", "error_by_epoch", "error_by_threshold")
    assert {
        f"{each}-quick.{end}" for each in pictures for end in ("png", "svg")
    } <= names
    assert all(path.stat().st_size > 2000 for path in paths)
    rows = table2.best_rate_rows(list(Store(tmp_path / "table2-quick.jsonl")))
    cell = figure2.cells(rows)["CD-PercLoss"]
    lost = table2.weights_path(cell, tmp_path / "models")
    before = lost.read_bytes()
    lost.unlink()
    figure2.load_or_train(cell, tmp_path / "models")
    assert lost.read_bytes() == before


def test_weights_of_other_settings_are_not_taken_for_those_of_a_run(tmp_path):
    before = Cell(
        "table2", "occluded", "CD-1", None, 0, {"quick": False, "learning_rate": 1.0}
    )
    after = before._replace(config={**before.config, "hidden_bias": -2.0})
    paths = {table2.weights_path(cell, tmp_path) for cell in (before, after, before)}
    assert len(paths) == 2


def test_errors_among_changed_pixels_can_be_traded_for_others():
    """By hand: each pixel is changed where that is held for likelier than so much."""
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.rand(2, 20, 30, generator=generator) < 0.5).float()
    predicted = torch.rand(20, 30, generator=generator)
    part = Batch(u, v)
    errors = denoising.errors_by_threshold(part, predicted)
    chance = torch.where(u == 1, 1 - predicted, predicted)
    for place, threshold in enumerate(denoising.THRESHOLDS):
        wrong = torch.where(chance > threshold, 1 - u, u) != v
        assert errors["all"][place] == pytest.approx(100 * wrong.float().mean())
        assert errors["changed"][place] == pytest.approx(
            100 * wrong[u != v].float().mean()
        )
    assert errors["changed"] == sorted(errors["changed"])
    half = denoising.THRESHOLDS.index(0.5)
    assert {name: each[half] for name, each in errors.items()} == (
        denoising.pixel_errors(part, predicted)
    )


def test_settings_are_chosen_on_validation_rows_alone(small_labels, monkeypatch):
    """Other test labels may change the error, never the choice."""
    cell = table1.cells(["yeast"], ["HashCRBM"], True)[0]
    before = table1.run_cell(cell)
    parts = table1.load_fold("yeast", 0)
    test = parts.test._replace(Y=1 - parts.test.Y)
    monkeypatch.setattr(
        table1, "load_fold", lambda name, place: parts._replace(test=test)
    )
    after = table1.run_cell(cell)
    assert after.details == before.details
    assert after.metrics["hamming"] == pytest.approx(100 - before.metrics["hamming"])


def test_refitting_keeps_the_settings_and_learns_from_all_rows(small_labels):
    parts = table1.load_fold("yeast", 0)
    model = table1.Model(
        table1.KNeighborsClassifier, {"n_neighbors": [1, 3]}, in_epochs=False
    )
    single = table1.tune(model, parts, MINIATURE, 0)
    found = table1.tune(replace(model, refit=True), parts, MINIATURE, 0)
    assert (found.params, found.error) == (single.params, single.error)
    assert single.classifier.n_samples_fit_ == len(parts.train.Y)
    assert found.classifier.n_samples_fit_ == len(parts.train.Y) + len(parts.valid.Y)


def test_outliers_are_cut_off_where_declared(small_labels, monkeypatch):
    whole = table1.load_fold("yeast", 0)
    (cell,) = table1.cells(["yeast"], ["LogReg"], True)[:1]
    monkeypatch.setattr(table1, "CLIP", {"yeast": 1.5})
    (other,) = table1.cells(["yeast"], ["LogReg"], True)[:1]
    assert other.config == {**cell.config, "cut": 1.5}  # another run than without
    for part, before in zip(table1.load_fold("yeast", 0)[:3], whole[:3], strict=True):
        assert abs(before.X).max() > 1.5
        assert np.array_equal(part.X, before.X.clip(-1.5, 1.5))


@pytest.mark.parametrize("table", ["table1", "table2"])
@pytest.mark.parametrize("models", [None, [], ["a model of the past"]])
def test_a_report_without_rows_says_what_to_do(tmp_path, models, table):
    if models is not None:
        path = tmp_path / f"{table}.jsonl"
        path.touch()
        for model in models:
            cell = Cell(table, "yeast", model, 0, 0, {"quick": False})
            Store(path).add(cell, Outcome({"hamming": 20.0}, {}), seconds=1.0)
    with pytest.raises(ValueError, match="Run `crbm reproduce table1` first"):
        run("report", tmp_path)


def test_support_vectors_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)).astype(np.float32)
    Y = (X[:, :3] + rng.normal(size=(80, 3)) > 0).astype(np.uint8)
    Y[:, 1] = 1  # a label that never varies
    found = table1.SupportVectors(C=2.0, gamma=1.5).fit(X[:60], Y[:60]).predict(X[60:])
    for label in (0, 2):
        expected = SVC(C=2.0, gamma=1.5 / 5).fit(X[:60], Y[:60, label])
        assert (found[:, label] == expected.predict(X[60:])).all()
    assert (found[:, 1] == 1).all()


@pytest.fixture
def errors_by_rate(monkeypatch):
    """A search of a few epochs that says 2^-2; the validation error is lowest at 2^-5.

    No model is trained: errors follow from the learning rates alone.
    """

    def search(cell):
        return Outcome({}, {"learning_rate": 2**-2})

    def restore(cell, *, models):
        error = abs(math.log2(cell.config.get("learning_rate", 1.0)) + 5)
        return Outcome({"all": error}, {"validation": [error]})

    monkeypatch.setattr(table2, "search_rates", search)
    monkeypatch.setattr(table2, "run_cell", restore)


@pytest.mark.parametrize("model", ["CD-10", next(iter(table2.OURS))])
def test_smaller_rates_are_tried_until_the_error_rises(tmp_path, errors_by_rate, model):
    stores = [Store(tmp_path / f"{name}.jsonl") for name in table2.STORES]
    rows = table2.complete(*stores, kinds=["occluded"], models=[model])

    def powers(rows):
        return [
            (-math.log2(row["config"]["learning_rate"]), row["seed"])
            for row in rows
            if row["model"] == model
        ]

    assert powers(rows) == [(5, seed) for seed in table2.SEEDS]
    first = 4 if model in table2.START_RATES else 2
    tried = [power for power, seed in powers(stores[0]) if seed == 0]
    assert tried == list(range(first, 7))


def test_there_is_nothing_below_the_smallest_rate():
    rates = {("occluded", "CD-1"): list(table2.RATES[-2:])}
    best = {("occluded", "CD-1"): [table2.RATES[-1]]}
    assert table2.add_smaller_rates(rates, best) == rates


def test_a_search_over_other_rates_is_another_run(monkeypatch):
    (before,) = table2.search_cells(["occluded"], ["CD-1"], quick=False)
    monkeypatch.setattr(table2, "RATES", (1.0, 0.25))
    (after,) = table2.search_cells(["occluded"], ["CD-1"], quick=False)
    assert before.key != after.key


def trained(rate, seed, *validation, model="CD-1"):
    row = {"dataset": "occluded", "model": model, "seed": seed}
    rates = {"learning_rate": rate}
    return {
        **row,
        "config": {**table2.MODELS[model].to_dict(), "quick": False, **rates},
        "details": {"validation": list(validation)},
    }


def test_the_first_seed_decides_on_the_rate():
    slow, fast = trained(0.25, 0, 3.0, 2.0), trained(1.0, 0, 2.5, 2.1)
    diverged, later = trained(4.0, 0), trained(0.25, 1, 9.0)
    other = trained(1.0, 0, 1.0, model="CD-10")
    baseline = {**fast, "model": "Baseline", "config": {}, "details": {}}
    past = trained(0.5, 0, 0.1)
    del past["config"]["hidden_bias"]
    gone = {**fast, "model": "a model of the past"}
    rows = [baseline, past, gone, fast, diverged, other, slow, later]
    assert table2.best_rate_rows(rows) == [baseline, other, slow, later]


def test_models_start_where_they_are_told_to(small_digits):
    data = denoising.load_digits("occluded", quick=True)

    def biases(hidden_bias):
        config = denoising.Config(n_hidden=4, hidden_bias=hidden_bias)
        model = denoising.make_model(config, torch.Generator(), data.train.v)
        return model.bias_v, model.bias_h

    v, h = biases(-3.0)
    assert torch.equal(h, torch.full((4,), -3.0))
    rates = (data.train.v.sum(0) + 1) / (len(data.train.v) + 2)
    assert_close(v.sigmoid(), rates)
    for bias in biases(None):
        assert not bias.any()


def test_a_start_is_trained_by_cd_percloss_and_counts_as_epochs(small_digits):
    config = denoising.Config(objective="mean_field", start_epochs=2, n_hidden=4)
    data = denoising.load_digits("occluded", quick=True)

    def trained_for(config, rate, n_epochs):
        generator = torch.Generator().manual_seed(0)
        model = denoising.make_model(config, generator)
        return denoising.train(model, config, rate, data, generator, n_epochs)

    history = trained_for(config, 0.1, 3)
    alone = trained_for(
        replace(config, objective="perceptron", start_epochs=0), 0.25, 2
    )
    assert len(history.epochs) == 5
    assert history.loss[:2] == alone.loss
    assert history.best_epoch >= 2
