"""Fits and predictions from files that are read a piece at a time."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as arrow
import pytest
import torch
from pyarrow import feather, parquet

import crbm
from crbm.datasets import open_rows, open_table
from crbm.estimators import stored_cases
from crbm.estimators.stored_cases import StoredCases
from crbm.preprocessing import stored

LABELS = ["y0", "y1", "y2"]
QUICK = {"n_epochs": 3, "n_hidden": 4, "random_state": 0, "learning_rate": 0.1}


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5)).astype(np.float32)
    return X, (X[:, :3] + X[:, 2:] > 0).astype(np.uint8)


@pytest.fixture
def small(monkeypatch):
    """Pieces, parts and blocks so small that there are many."""
    monkeypatch.setattr(stored, "PART", 90)
    monkeypatch.setattr(stored.StoredRows.all_pieces, "__defaults__", (32,))
    monkeypatch.setattr(stored_cases, "BLOCK_CASES", 100)


def as_table(X, Y):
    """Numbers of several types, and a column that is neither input nor label."""
    columns = {f"x{j}": pa.array(X[:, j]) for j in range(3)}
    columns["rest"] = pa.FixedSizeListArray.from_arrays(X[:, 3:].ravel(), 2)
    columns["id"] = pa.array(np.arange(len(X)))
    labels = {"y0": Y[:, 0].astype(bool), "y1": Y[:, 1], "y2": Y[:, 2].astype(float)}
    return pa.table(columns | labels)


@pytest.fixture
def folder(problem, tmp_path):
    table = as_table(*problem)
    for place in range(2):
        half = table.slice(350 * place, 350)
        parquet.write_table(half, tmp_path / f"{place}.parquet", row_group_size=60)
    return tmp_path


def rows_of(part):
    """Every third row of a part of 60 rows; the first file has 50 in its last."""
    first = 60 * part - 10 * (part > 5)
    return range(first, first + 60, 3)


def test_tables_are_read_as_they_were_written(problem, folder, monkeypatch):
    X, Y = open_table(folder, LABELS, drop=["id"])
    assert X.shape == (700, 5)
    assert X.part_sizes == Y.part_sizes == (60, 60, 60, 60, 60, 50) * 2
    assert list(X.names) == ["x0", "x1", "x2", "rest_0", "rest_1"]
    for n_rows in (7, 60, 1000):
        for rows, expected in ((X, problem[0]), (Y, problem[1])):
            found = list(rows.all_pieces(n_rows))
            assert max(map(len, found)) == min(n_rows, 60)
            np.testing.assert_array_equal(np.concatenate(found), expected)
    np.testing.assert_array_equal(X.sample(100), problem[0][::7])
    monkeypatch.setattr(stored, "SAMPLE_PARTS", 4)
    parts = [0, 3, 6, 9]  # of 12, of 60 rows each
    expected = [problem[0][place] for part in parts for place in rows_of(part)]
    np.testing.assert_array_equal(X.sample(80), np.array(expected))


def test_arrow_files_data_sets_and_unknown_labels(problem, tmp_path):
    X, Y = problem
    table = as_table(X, Y).set_column(
        6, "y1", pa.array([None, *Y[1:, 1].tolist()], pa.int8())
    )
    feather.write_feather(table, tmp_path / "a.arrow", chunksize=300)
    rows = open_rows(arrow.dataset(tmp_path / "a.arrow", format="ipc"), ["y1", "x0"])
    found = np.concatenate(list(rows.all_pieces()))
    assert np.isnan(found[0, 0])
    np.testing.assert_array_equal(found[1:], np.column_stack([Y[:, 1], X[:, 0]])[1:])


@pytest.mark.parametrize("kind", ["arrays", "Parquet", "labels in memory"])
def test_each_case_comes_once_per_pass_in_a_new_order(kind, problem, folder, small):
    X, Y = problem
    if kind == "Parquet":
        inputs, labels = open_table(folder, LABELS, drop=["id"])
    else:
        inputs = open_rows(X)
        labels = open_rows(Y) if kind == "arrays" else Y
    classifier = crbm.LogisticClassifier(
        preprocessing="none", n_epochs=1, random_state=0
    ).fit(X, Y)
    cases = StoredCases(classifier, inputs, labels)
    everything = torch.cat([block.v for block in cases.all()])
    assert torch.equal(everything, torch.from_numpy(Y).float())
    torch.manual_seed(0)
    passes = [list(cases.shuffled(32)) for _ in range(2)]
    expected = sorted(map(tuple, np.column_stack([X, Y]).tolist()))
    for blocks in passes:
        assert all(block.n_cases % 32 == 0 for block in blocks[:-1])
        found = torch.cat([torch.cat([b.u, b.v], 1) for b in blocks])
        assert sorted(map(tuple, found.tolist())) == expected
    first, second = (torch.cat([b.u for b in blocks]) for blocks in passes)
    assert not torch.equal(first, second)
    # neighbours in the file are apart
    place = {row: at for at, row in enumerate(map(tuple, X.tolist()))}
    places = np.array([place[row] for row in map(tuple, first.tolist())])
    assert (np.abs(np.diff(places)) < 5).mean() < 0.1


def test_labels_in_memory_are_sampled_with_their_inputs(problem, folder, monkeypatch):
    """Were they not, labels of other cases would decide which classes there are."""
    monkeypatch.setattr(stored, "SAMPLE_PARTS", 4)
    inputs, labels = open_table(folder, LABELS, drop=["id"])
    sampled = stored_cases._sample_labels(inputs, problem[1], 80)
    assert np.array_equal(sampled, labels.sample(80))


@pytest.mark.parametrize(
    "kind", [crbm.HashCRBMClassifier, crbm.CRBMClassifier, crbm.LogisticClassifier]
)
def test_files_teach_as_much_as_memory(kind, problem, folder, small):
    X, Y = problem
    parameters = {n: v for n, v in QUICK.items() if n in kind().get_params()}
    in_memory = kind(**parameters).fit(X, Y)
    classifier = kind(**parameters).fit(*open_table(folder, LABELS, drop=["id"]))
    assert classifier.label_names_ == LABELS
    right, expected = ((c.predict(X) == Y).mean() for c in (classifier, in_memory))
    assert right > max(0.85, expected - 0.03)
    again = kind(**parameters).fit(*open_table(folder, LABELS, drop=["id"]))
    assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))


def test_the_candidates_are_those_of_all_cases(problem, small):
    """Few cases: the sample is all of them, so the hash is the same."""
    X, Y = problem
    stored_fit = crbm.HashCRBMClassifier(n_bits=5, radius=1, **QUICK)
    stored_fit.fit(open_rows(X), open_rows(Y))
    in_memory = crbm.HashCRBMClassifier(n_bits=5, radius=1, **QUICK).fit(X, Y)
    one, other = stored_fit.sets_, in_memory.sets_
    assert np.array_equal(one.hash_.components_, other.hash_.components_)
    place = other.locate(one.table_)
    assert np.array_equal(other.counts_[place], one.counts_)
    assert np.array_equal(one.sizes(X), other.sizes(X))
    assert stored_fit.candidate_recall_ == in_memory.candidate_recall_


def test_stored_inputs_get_the_predictions_of_arrays(problem, folder, tmp_path):
    X = problem[0]
    classifier = crbm.HashCRBMClassifier(preprocessing="standardise", **QUICK)
    classifier.fit(*open_table(folder, LABELS, drop=["id"]))
    inputs = open_table(folder, LABELS, drop=["id"])[0]
    np.testing.assert_allclose(
        classifier.predict_proba(inputs), classifier.predict_proba(X), atol=1e-6
    )
    np.save(tmp_path / "X.npy", X)
    mapped = open_rows(tmp_path / "X.npy")
    known = np.where(np.arange(3) == 0, 1.0, np.nan) * np.ones((700, 1))
    batches = np.concatenate(list(classifier.predict_batches(mapped, known)))
    assert np.array_equal(batches, classifier.predict(X, known))


def test_a_stored_fit_resumes(problem, small, tmp_path):
    X, Y = open_rows(problem[0]), open_rows(problem[1])
    whole = crbm.CRBMClassifier(**QUICK).fit(X, Y)
    folder = {"checkpoint_dir": tmp_path, "checkpoint_every": 0.0}
    short = crbm.CRBMClassifier(**{**QUICK, "n_epochs": 2}, **folder).fit(X, Y)
    resumed = crbm.CRBMClassifier(**QUICK, **folder, resume=True).fit(X, Y)
    weights = [c.models_[0].weight_vh for c in (whole, short, resumed)]
    assert torch.equal(weights[2], weights[0])
    assert not torch.equal(weights[1], weights[0])


def test_errors_say_what_to_do(problem, folder, tmp_path):
    X, Y = problem
    fit = crbm.HashCRBMClassifier(**QUICK).fit
    with pytest.raises(ValueError, match="`X` has 700 rows in 1 parts and `y` has 699"):
        fit(open_rows(X), open_rows(Y[1:]))
    with pytest.raises(ValueError, match="got ndarray with 699 rows"):
        fit(open_rows(X), Y[1:])
    with pytest.raises(ValueError, match="`sample_weight` is not supported"):
        fit(open_rows(X), open_rows(Y), np.ones(700))
    with pytest.raises(ValueError, match=r"pass `validation=\(X, y\)`"):
        crbm.CRBMClassifier(early_stopping=True).fit(open_rows(X), open_rows(Y))
    with pytest.raises(ValueError, match="columns of several classes"):
        fit(open_rows(X), open_rows(Y + 1))
    with pytest.raises(ValueError, match="without NaN"):
        fit(open_rows(X), open_rows(np.full(Y.shape, np.nan)))
    with pytest.raises(ValueError, match="no column `y9`; they have x0, x1"):
        open_table(folder, ["y9"])
    with pytest.raises(ValueError, match=r"end in \.parquet or \.arrow"):
        open_rows(tmp_path / "a.csv")
    parquet.write_table(pa.table({"word": ["a", "b"]}), tmp_path / "w.parquet")
    with pytest.raises(ValueError, match="column `word` holds string"):
        open_rows(tmp_path / "w.parquet")
    with pytest.raises(TypeError, match="must hold numbers; got dtype <U1"):
        open_rows(np.array([["a"]]))


SCRIPT = """
import sys
import numpy as np
from benchmarks import memory
import crbm
from crbm.datasets import open_rows
X = open_rows(sys.argv[1])
classifier = crbm.HashCRBMClassifier(n_epochs=1, batch_size=8192, n_hidden=4, n_bits=3)
classifier.fit(X, np.arange(len(X))[:, None] % 2 == np.arange(2))
print(memory.peak_megabytes())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="sparse files and /proc")
def test_training_from_a_file_does_not_hold_it_in_memory(tmp_path):
    """A file of 627 MB; its copy in float64 for the hash would be twice as large."""
    shape, path = (200_000, 784), tmp_path / "huge.npy"
    np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    # 480 are packages, 600 a sample of 20,000 rows in float64 and its copies
    assert float(done.stdout) < 1300
