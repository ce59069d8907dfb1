"""Training and prediction on folders of tables."""

import csv

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import crbm
from crbm.cli import app

TRAIN = ["--labels", "a,b", "--drop", "id", "--epochs", "9"]
TRAIN += ["--set", "n_hidden=2", "--set", "learning_rate=0.2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    for place in range(3):
        X = rng.normal(size=(100, 2)) * [1, 50]
        columns = {"id": np.arange(100), "x": X[:, 0], "z": X[:, 1]}
        labels = {"a": X[:, 0] > 0, "b": (X[:, 1] > 0).astype(int)}
        parquet.write_table(pa.table(columns | labels), path / f"{place}.parquet")
    return path


@pytest.fixture(scope="module")
def model(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("model") / "m.safetensors"
    done = run("train", folder, *TRAIN, "--out", out)
    assert done.exit_code == 0, done.output
    assert "No error was measured" in done.output
    return out


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def columns(folder, names):
    return np.column_stack([parquet.read_table(folder)[n].to_numpy() for n in names])


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("options", [[], ["--proba"]])
def test_a_folder_is_predicted_like_an_array(folder, model, tmp_path, ending, options):
    out = tmp_path / f"p.{ending}"
    done = run("predict", model, folder, "--out", out, "--progress", *options)
    assert done.exit_code == 0, done.output
    assert f"300 rows written to {out}" in done.output.replace("\n", "")
    classifier = crbm.load(model)
    assert classifier.trained_on_["n_cases"] == 300
    X = columns(folder, ["x", "z"]).astype(np.float32)
    expected = classifier.predict_proba(X) if options else classifier.predict(X)
    if ending == "parquet":
        found = columns(out, ["a", "b"])
    else:
        with out.open() as stream:
            table = list(csv.reader(stream))
        assert table[0] == ["a", "b"]
        found = np.array(table[1:], dtype=float)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    if not options:
        assert (found == columns(folder, ["a", "b"])).mean() > 0.9


def test_wrong_requests_say_what_to_do(folder, model, tmp_path):
    out = ["--out", tmp_path / "m.safetensors"]
    for words, message in (
        (["train", folder, *out], "columns of the labels with --labels"),
        (
            ["train", folder, *TRAIN, *out, "--model", "auto"],
            "cannot learn from a folder",
        ),
        (["train", folder, *TRAIN, *out, "--part", "test"], "only --labels and --drop"),
        (["train", folder, *TRAIN, *out, "--time-limit", "5"], "--time-limit does not"),
        (["predict", model, folder], "Name a file"),
        (["predict", model, folder, "--top-k", "2"], "--top-k and --known do not"),
    ):
        done = run(*words)
        assert done.exit_code != 0
        assert message in " ".join(done.output.replace("│", " ").split())
