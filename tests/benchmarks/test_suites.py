"""Benchmarks run end to end in miniature; no timing is asserted."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch

import crbm
from benchmarks import (
    against,
    floor,
    growth,
    images,
    large_data,
    large_table,
    loops,
    memory,
    multilabel,
    network,
    peers,
    precision,
    serving,
    suites,
    timing,
)
from crbm import kernels
from crbm.cli.bench import markdown
from crbm.kernels import onednn
from crbm.types import Batch
from paper.tables import denoising

needs_data = pytest.mark.skipif(
    "CRBM_DATA" not in os.environ, reason="CRBM_DATA is unset: the real data is absent"
)


def test_steps_are_measured_beside_their_products(monkeypatch):
    monkeypatch.setattr(floor, "ROUNDS", 1)
    monkeypatch.setattr(floor, "N_BATCHES", 1)
    monkeypatch.setattr(floor, "N_PIXELS", 64)
    monkeypatch.setattr(floor, "N_HIDDEN", 16)
    monkeypatch.setattr(floor, "N_EPOCHS", 1)
    rows = floor.rows(echo=lambda text: None)
    assert [row["step"] for row in rows[:4]] == [
        "CD-1",
        "CD-10",
        "CD-PercLoss-10",
        "mean field 10",
    ]
    for row in rows:
        assert row["ratio"] == pytest.approx(row["ms"] / row["bare products ms"])
        assert (row["ratio to oneDNN"] is not None) == onednn.is_faster()


def test_labelling_a_folder_of_images_takes_bounded_memory(monkeypatch):
    monkeypatch.setattr(images, "N_IMAGES", 3)
    monkeypatch.setattr(images, "LARGEST", 128)
    monkeypatch.setattr(images, "SETTINGS", {"channels": (4, 8)})
    (row,) = images.rows(echo=lambda text: None)
    assert row["images"] == 3
    assert row["model file MB"] < 5
    if row["peak MB"] is not None:  # not Linux
        assert 50 < row["peak MB"] < 1500


def test_steps_with_a_network_are_measured_beside_their_parts(monkeypatch):
    monkeypatch.setattr(floor, "ROUNDS", 1)
    monkeypatch.setattr(floor, "N_BATCHES", 1)
    monkeypatch.setattr(floor, "N_EPOCHS", 1)
    rows = network.rows(echo=lambda text: None)
    assert [row["step"] for row in rows] == list(floor.OBJECTIVES)
    for row in rows:
        assert row["ratio"] == pytest.approx(row["ms"] / row["network and CRBM ms"])


def test_two_trees_are_timed_in_turns(capsys):
    calls = []

    class Worker(against._Worker):
        def __init__(self, *seconds):
            self.times = iter((9.0, *seconds))  # the first call is a warm-up

        def seconds(self, name):
            calls.append((self, name))
            return next(self.times)

    old, new = Worker(*[1.0] * 25), Worker(*[1.5] * 13, *[3.0] * 12)
    row = against._row("work", old, new)
    assert (row["ratio"], row["before ms"], row["after ms"]) == (1.5, 1000, 1500)
    assert row["quartiles"] == [1.5, 3.0]
    assert calls == [(old, "work"), (new, "work")] * 26
    assert "work: 1.500" in capsys.readouterr().err


@pytest.mark.parametrize("name", [list(against.WORK)[2], *list(against.WORK)[-2:]])
def test_the_work_of_two_trees_runs(name):
    against.WORK[name]()()


def test_two_works_are_timed_in_turns():
    ticks = iter([0.0, 2.0, 2.0, 3.0, 3.0, 9.0, 9.0, 12.0, 12.0, 20.0, 20.0, 22.0])
    found = timing.time_in_turns(
        lambda: None, lambda: None, n_rounds=3, clock=lambda: next(ticks)
    )  # 2, 6 and 8 seconds against 1, 3 and 2
    assert found == (6.0, 2.0, 2.0)


def test_loops_are_measured_beside_torch(monkeypatch):
    served = []

    def work():
        served.append(kernels.supports(torch.zeros(64, 64)))
        return sum(range(10_000))

    monkeypatch.setattr(loops, "ROUNDS", 2)
    monkeypatch.setattr(loops, "WORKS", {"waiting": lambda: work})
    (row,) = loops.rows(echo=lambda text: None)
    assert row["work"] == "waiting"
    with_loops = find_spec("numba") is not None
    assert served == [False, with_loops] * 3
    assert row["times faster"] > 0


@pytest.mark.parametrize("name", loops.WORKS)
def test_the_work_of_each_loop_runs(name):
    loops.WORKS[name]()()


def test_a_model_of_each_precision_is_measured(monkeypatch):
    images = (
        torch.rand(40, 9, generator=torch.Generator().manual_seed(0)) < 0.5
    ).float()
    part = Batch(images, images)
    digits = denoising.Digits(part, part, part, noise=lambda batch, generator: batch)
    monkeypatch.setattr(denoising, "load_digits", lambda kind, quick: digits)
    monkeypatch.setattr(precision, "SEEDS", (0,))
    rows = precision.rows(echo=lambda text: None)
    assert [row["objective"] for row in rows] == ["CD-10", "CD-PercLoss-10"]
    for row in rows:
        assert row["difference"] == row["bf16"] - row["full"]
        assert abs(row["difference"]) < 10
    assert len({row["full"] for row in rows}) == 2


def test_label_powerset_predicts_sets_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (X[:, :2] > 0).astype(int)
    model = multilabel.LabelPowerset(multilabel.SVC()).fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.9


def test_whole_sets_are_predicted_by_the_mode():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).astype(np.float32)
    Y = (X[:, :2] > 0).astype(int)
    pipeline = multilabel.make_pipeline(
        multilabel.StandardScaler(), crbm.HashCRBMClassifier(n_epochs=2, random_state=0)
    )
    row = multilabel.measure(pipeline, multilabel.Split(X, Y, X, Y))
    labels = pipeline.set_params(hashcrbmclassifier__prediction="mode").predict(X)
    assert row["subset"] == 100 * crbm.metrics.subset_accuracy(Y, labels)


@needs_data
def test_splits_are_fixed_and_disjoint():
    scene, yeast = multilabel.split("scene"), multilabel.split("yeast")
    assert (len(scene.Y_train), len(scene.Y_test)) == (1211, 1196)
    assert (len(yeast.Y_train), len(yeast.Y_test)) == (1500, 917)
    again = multilabel.split("yeast")
    assert np.array_equal(again.X_test, yeast.X_test)
    assert yeast.X_train.dtype == np.float32


def test_peers_are_measured_beside_us_and_missing_ones_are_named(monkeypatch):
    monkeypatch.setattr(peers, "ROUNDS", 1)
    monkeypatch.setattr(peers, "N_CASES", 5)
    monkeypatch.setattr(peers, "N_IMAGES", 128)
    by_peer = {match.peer: match for match in peers.MATCHES}
    names = ("bare products", "scikit-learn", "edge by edge", "PGMax")
    monkeypatch.setattr(peers, "MATCHES", [by_peer[name] for name in names])
    said = []
    rows = {row["peer"]: row for row in peers.rows(said.append)}
    assert rows["scikit-learn"]["largest difference"] is None
    assert rows["edge by edge"]["largest difference"] < 1e-5  # float32, 20 rounds
    for row in rows.values():
        assert row["times faster"] == pytest.approx(row["peer ms"] / row["ms"])
    if "PGMax" not in rows:
        assert "--peer-python" in said[-1]


def test_a_peer_that_breaks_is_told_in_a_line():
    with (
        pytest.raises(ValueError, match="strange ended without a result: KeyError"),
        peers.Worker.start(sys.executable, "strange", {}),
    ):
        pass


def test_growth_is_fitted_and_drawn(monkeypatch, tmp_path):
    axis = growth.Axis("waiting", "nothing", (1, 2, 4), lambda n: lambda: None)
    ticks = iter([0.0, 1.0, 1.0, 4.0, 4.0, 13.0])  # 1, 3 and 9 seconds
    monkeypatch.setattr(growth, "ROUNDS", 1)
    monkeypatch.setattr(growth.time, "process_time", lambda: next(ticks))
    row = growth._row(axis, echo=lambda text: None)
    assert row["exponent"] == pytest.approx(np.log2(3))
    growth.plot([row], tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("axis", growth.AXES, ids=lambda axis: axis.cost)
def test_the_work_of_each_axis_runs(axis):
    axis.work(axis.sizes[0])()


def test_an_unknown_suite_is_refused_with_the_names():
    with pytest.raises(ValueError, match=r"'floor', .*'growth', .*'serve'"):
        suites.run("magic", echo=lambda text: None)


def test_rows_become_a_markdown_table_without_their_lists():
    rows = [{"work": "CD-1", "ratio": 1.2345, "all": [1, 2], "peer": None}]
    assert markdown(rows).splitlines() == [
        "| work | ratio | peer |",
        "| --- | --- | --- |",
        "| CD-1 | 1.23 | - |",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_of_memory_is_not_that_of_the_process_that_asks():
    kept = np.ones(2**26)  # half a gigabyte, touched
    here = memory.peak_megabytes()
    assert kept.nbytes / 2**20 < here
    script = "from benchmarks import memory; print(memory.peak_megabytes())"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert 10 < float(done.stdout) < here - 100


def test_stored_cases_are_measured_in_processes_of_their_own(monkeypatch):
    monkeypatch.setattr(large_data, "N_SETS", 50)
    monkeypatch.setattr(large_data, "ROWS_IN_GROUP", 300)
    rows = large_data.rows(lambda text: None, sizes=(600, 6000))
    assert [row["cases"] for row in rows] == [600, 6000]
    assert [row["label sets"] for row in rows] == [50, 50]
    assert [row["bits"] for row in rows] == [12, 13]
    ratio = rows[1]["fit CPU s"] / rows[0]["fit CPU s"]
    assert rows[1]["fit exponent"] == pytest.approx(np.log10(ratio))
    assert all(200 < row["peak MB"] < 5000 for row in rows)


def test_a_run_over_stored_cases_continues(monkeypatch, tmp_path):
    out, times = tmp_path / "rows.json", {"fit CPU s": 1.0, "predict CPU s": 1.0}
    monkeypatch.setattr(large_data, "SIZES", (10, 20))
    monkeypatch.setattr(large_data, "write", lambda folder, n_cases: None)
    measured = []

    def measure(folder, n_cases):
        measured.append(n_cases)
        if measured == [10, 20]:
            raise KeyboardInterrupt
        return {"cases": n_cases, **times}

    monkeypatch.setattr(large_data, "_in_own_process", measure)
    with pytest.raises(KeyboardInterrupt):
        suites.run("stored", lambda text: None, out=out)
    assert [row["cases"] for row in json.loads(out.read_text())] == [10]
    rows = suites.run("stored", lambda text: None, out=out)
    assert measured == [10, 20, 20]
    assert [row["cases"] for row in rows] == [10, 20]
    assert rows[-1]["fit exponent"] == 0
    assert json.loads(out.read_text()) == rows


def test_a_suite_for_gpus_says_that_there_is_none(monkeypatch):
    monkeypatch.setattr(floor.torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="needs a GPU that torch can use"):
        suites.run("gpu", echo=lambda text: None)


def test_steps_on_a_device_are_timed(monkeypatch):
    for name in ("N_BATCHES", "N_EPOCHS", "ROUNDS"):
        monkeypatch.setattr(floor, name, 1)
    monkeypatch.setattr(floor, "SHARES_ON", (0.5,))
    rows = floor.gpu_rows(lambda text: None, "cpu")
    assert {row["step"] for row in rows} == {*floor.OBJECTIVES, "mean field 10"}
    assert all(row["device"] == "cpu" and row["ratio"] > 0 for row in rows)


def test_a_server_is_measured_beside_one_without_a_model(monkeypatch):
    monkeypatch.setattr(serving, "SECONDS", 0.5)
    monkeypatch.setattr(serving, "ROUNDS", 1)
    monkeypatch.setattr(serving, "WORKERS", 1)
    rows = serving.rows(lambda text: None)
    assert [row["requests"] for row in rows] == ["JSON", "binary"]
    assert all(row["failed"] == 0 for row in rows)
    assert markdown(rows)


def test_updates_are_timed_against_the_number_of_label_sets(monkeypatch):
    monkeypatch.setattr(large_table, "N_LABELS", 400)
    monkeypatch.setattr(large_table, "N_CASES", 64)
    monkeypatch.setattr(large_table, "ROUNDS", 1)
    rows = large_table.rows(lambda text: None, sizes=(500, 5000))
    assert [row["label sets"] for row in rows] == [500, 5000]
    assert [row["as float32 MB"] for row in rows] == [0.8, 8.0]
    assert 9 < rows[1]["table MB"] / rows[0]["table MB"] < 11
