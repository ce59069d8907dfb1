"""The image experiments: declared cells, tasks and measures."""

from functools import partial

import numpy as np
import pytest
import torch

from conftest import seeded
from paper.engine.store import Store
from paper.report import images as report, pages
from paper.tables import image_measures, image_tasks, images
from paper.tables.image_tasks import Part, Task

RNG = np.random.default_rng(0)


class Stub:
    """A classifier whose pixels are independent, 1 with probability 3/4."""

    n_labels_, ignore, prediction = 2, -1, "marginals"

    def set_params(self, prediction):
        self.prediction = prediction
        return self

    def predict(self, images):
        return np.stack([np.ones(np.shape(image)[:2], int) for image in images])

    def score(self, images, masks):
        return float(np.mean([mask == 1 for mask in masks]))

    def score_samples(self, images, masks):
        p = np.where(np.asarray(masks) == 1, 0.75, 0.25)
        return np.where(np.asarray(masks) >= 0, np.log(p), 0).sum((1, 2))


def test_restored_digits_are_measured_as_in_table_2():
    clean = np.array([[[1, 1], [1, 0]], [[1, 1], [1, 1]]], np.uint8)
    noisy = np.array([[[0, 1], [1, 1]], [[1, 1], [1, 0]]], np.uint8)
    outcome = image_measures.measure_restored(Stub(), Part(noisy, clean))
    nll = -(7 * np.log(0.75) + np.log(0.25)) / 2
    expected = {"all": 100 / 8, "changed": 100 / 3, "whole": 50.0, "nll": nll}
    assert outcome.metrics == pytest.approx(expected)


def test_fresh_noise_leaves_the_masks_alone(monkeypatch):
    monkeypatch.setattr(image_tasks, "load_digits", lambda kind, quick: digits)
    v = (torch.rand(4, 784, generator=seeded(0)) < 0.3).float()

    class digits:
        train = test = type("Batch", (), {"u": v, "v": v})()

        @staticmethod
        def noise(batch, generator):
            return batch._replace(u=1 - batch.v)

    task = image_tasks.load_noisy("occluded", None, False)
    images_, masks = v.view(4, 1, 28, 28), v.view(4, 28, 28).long()
    changed, same = task.augment(images_, masks, None)
    assert torch.equal(changed, 1 - images_)
    assert torch.equal(same, masks)


def test_cells_are_distinct_and_the_baseline_differs_in_hidden_units_only():
    cells = images.cells(list(images.EXPERIMENTS), quick=False)
    assert [cell.seed for cell in cells] == sorted(cell.seed for cell in cells)
    assert len({cell.key for cell in cells}) == len(cells)
    for name, experiment in images.EXPERIMENTS.items():
        baseline, ours = cells_of(cells, name, *experiment.models)
        config = {k: v for k, v in ours.config.items() if k != "objective"}
        assert {**config, "n_hidden": 0} == dict(baseline.config)
        assert ours.config["n_hidden"] > 0


def cells_of(cells, dataset, *models):
    """The first cell of each model."""
    return [
        next(c for c in cells if (c.dataset, c.model) == (dataset, model))
        for model in models
    ]


def test_a_cell_runs_and_its_row_is_in_the_report(monkeypatch, tmp_path):
    pictures = RNG.integers(0, 256, (6, 8, 8), np.uint8)
    part = Part(list(pictures), list((pictures > 100).astype(int)))
    run = partial(
        images.run_classifier,
        load=lambda fold, quick: Task(part, part, augment=False),
        measure=image_measures.measure_labelled,
    )
    parameters = {"channels": [4, 4], "n_hidden": 2, "n_epochs": 1}
    small = images.Experiment(run, parameters, runs=((0, 0),))
    monkeypatch.setattr(images, "EXPERIMENTS", {"small": small})
    store = Store(tmp_path / "images.jsonl")
    rows = images.complete(store, echo=lambda text: None)
    assert [row["model"] for row in rows] == [images.PER_PIXEL, images.OURS]
    text = report.write(store, tmp_path).read_text()
    assert f"| ConvCRBM | {rows[1]['metrics']['whole']:.2f}" in text
    page = pages.render("<!-- rows: images -->\n<!-- end -->", tmp_path)
    assert "### small" in page
    assert report.tables(rows, level=3) in page
    quick = report.write(store, tmp_path, quick=True)
    assert quick.name == "images-quick.md"
    assert quick.read_text() == text
    with pytest.raises(ValueError, match="no data set `big`"):
        images.complete(store, ["big"])
