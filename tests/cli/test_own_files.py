"""`train`, `predict`, `evaluate` and `inspect` on valid and invalid files."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import crbm
from crbm import datasets
from crbm.cli import app
from crbm.commands.train import MODELS

NAMES = "dog,cat,fish,bird,frog,snake"
QUICK = ("--epochs", "2", "--no-progress")


def run(*arguments):
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, words, prog_name="crbm", catch_exceptions=False)


def error_line(*arguments):
    """The one line that a command prints for a mistake."""
    found = run(*arguments)
    assert found.exit_code == 2, found.output
    assert found.stdout == ""
    assert found.stderr.startswith("crbm: ")
    assert found.stderr.count("\n") == 1
    return found.stderr


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("pets.csv", ("--labels", NAMES)),
        ("pets.parquet", ("--labels", "-6")),
        ("mulan.arff", ()),
        ("pets.arff", ("--labels", "{folder}/mulan.xml")),
        ("pets.npz", ()),
        ("pets.libsvm", ("--n-labels", "6", "--n-features", "4")),
    ],
)
def test_every_format_trains_and_is_evaluated(folder, tmp_path, file, options):
    options = [option.format(folder=folder) for option in options]
    out = tmp_path / "m.safetensors"
    report = run("train", folder / file, *options, *QUICK, "--out", out, "--json")
    assert report.exit_code == 0, report.output
    assert json.loads(report.stdout)["n_labels"] == 6
    found = run("evaluate", out, folder / file, "--json")
    assert json.loads(found.stdout)["n_cases"] == 120


def test_train_and_predict_as_processes(folder, pets, tmp_path):
    model, out = tmp_path / "m.safetensors", tmp_path / "p.csv"
    command = [sys.executable, "-m", "crbm"]
    trained = subprocess.run(
        [*command, "train", folder / "pets.csv", "--labels", NAMES, "--epochs", "20",
         "--set", "learning_rate=0.1", "--set", "n_bits=5", "--out", model],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "standardise" in trained.stdout
    predicted = subprocess.run(
        [*command, "predict", model, folder / "pets.csv", "--proba", "--out", out],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert predicted.stdout == f"120 rows written to {out}\n"
    header, *rows = out.read_text().splitlines()
    assert header == NAMES
    found = np.array([row.split(",") for row in rows], dtype=float)
    expected = crbm.load(model).predict_proba(pets.X)
    np.testing.assert_allclose(found, expected, rtol=1e-5)  # six digits are written


def test_predictions_are_printed_as_csv_or_json(trained, folder):
    printed = run("predict", trained, folder / "pets.csv", "--top-k", "2").stdout
    assert printed.startswith(f"row,rank,probability,{NAMES}\n1,1,")
    arrays = json.loads(run("predict", trained, folder / "pets.csv", "--json").stdout)
    assert np.shape(arrays["labels"]) == (120, 6)


def test_reports_are_printed_as_tables(trained, folder, tmp_path):
    shown = run("evaluate", trained, folder / "pets.csv", "--per-label").stdout
    assert "hamming_error" in shown
    assert "snake" in shown
    shown = run("inspect", trained, "--draw", tmp_path / "c.png").stdout
    assert "HashCRBMClassifier" in shown
    assert "attract each other most" in shown
    assert (tmp_path / "c.png").stat().st_size > 1000


def test_inspect_prints_json_with_the_requested_pairs(trained):
    found = json.loads(run("inspect", trained, "--pairs", "1", "--json").stdout)
    assert len(found["attract"]) == 1


def test_an_error_about_a_file_is_one_line(trained, folder, tmp_path):
    source, out = folder / "pets.csv", tmp_path / "m.safetensors"
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(trained.read_bytes()[:1000])
    (tmp_path / "few.csv").write_text("length,weight\n1,2\n")
    bad = tmp_path / "bad.csv"
    bad.write_text("length,dog\n1,2\n")
    nowhere = tmp_path / "nowhere"
    for arguments, message in [
        (("train", nowhere / "a.csv", "--out", out), "no data file"),
        (("train", "yeats", "--out", out), "no data set `yeats`"),
        (
            ("train", source, "--out", out),
            "name the columns of the labels with --labels",
        ),
        (("train", source, "--labels", "horse", "--out", out), "label `horse`"),
        (
            ("train", tmp_path / "bad.csv", "--labels", "dog", "--out", out),
            "Column dog",
        ),
        (("train", source, "--out", nowhere / "m.safetensors"), "does not exist"),
        (("train", source, "--out", trained), "add --force"),
        (("train", source, "--out", tmp_path / "m.pkl"), "`.safetensors`"),
        (("predict", damaged, source), "not a model file of crbm, or it is damaged"),
        (("predict", tmp_path / "no.safetensors", source), "no model file"),
        (("predict", trained, tmp_path / "few.csv"), "no column `legs`"),
        (("predict", trained, source, "--proba", "--top-k", "1"), "Choose one"),
        (("evaluate", trained, tmp_path / "few.csv"), "no column `legs`"),
        (("inspect", source), "not a model file"),
    ]:
        assert message in error_line(*arguments)
    assert not out.exists()


def test_a_usage_error_is_one_line():
    assert "--epochs" in error_line("train", "yeast", "--epoch", "3")
    listed = error_line("train", "x", "--model", "y")
    assert all(f"'{name}'" in listed for name in MODELS)
    assert "Missing argument 'MODEL'" in error_line("inspect")
    assert "Did you mean 'train'" in error_line("trian")
    assert "See `crbm train --help`" in error_line("train")


def test_force_replaces(trained, folder, tmp_path):
    out = tmp_path / "m.safetensors"
    out.write_text("something else")
    arguments = ("train", folder / "pets.npz", "--out", out, *QUICK)
    assert "add --force" in error_line(*arguments)
    assert out.read_text() == "something else"
    assert run(*arguments, "--force").exit_code == 0
    assert crbm.load(out).n_labels_ == 6


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(folder, tmp_path):
    arguments = ["train", folder / "pets.npz", "--out", tmp_path / "m.safetensors"]
    found = run(*arguments, "--model", "crbm", "--set", "learning_rate=1e38", *QUICK)
    first, *others = found.stderr.splitlines()
    assert first.startswith("crbm: warning: The loss or the weights")
    assert all(line.startswith("Note: ") for line in others)


def test_shell_completion_lists_commands():
    import os

    found = subprocess.run(
        [sys.executable, "-m", "crbm"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "_CRBM_COMPLETE": "complete_bash",
             "COMP_WORDS": "crbm ev", "COMP_CWORD": "1"},
    )  # fmt: skip
    assert found.stdout.split() == ["evaluate"]


def test_named_data_sets_have_parts(tmp_path):
    """Yeast has no official parts, so the first fold is used."""
    out = tmp_path / "m.safetensors"
    report = run("train", "yeast", "--part", "train", "--epochs", "1", "--model",
                 "logreg", "--out", out, "--json")  # fmt: skip
    n_rows = len(datasets.folds(2417)[0].train)
    assert json.loads(report.stdout)["n_cases"] == n_rows
    found = json.loads(run("evaluate", out, "yeast", "--part", "test", "--json").stdout)
    assert found["n_cases"] == 242


def test_too_little_memory_is_one_line(folder, tmp_path):
    options = (
        "--labels",
        "dog",
        "--out",
        tmp_path / "m.safetensors",
        "--model",
        "crbm",
    )
    huge = ("--set", "n_hidden=1000000000000")
    assert "not enough memory" in error_line(
        "train", folder / "pets.csv", *options, *huge
    )


def test_a_model_is_exported_beside_it(trained, tmp_path):
    model = shutil.copy(trained, tmp_path / "m.safetensors")
    found = run("export", model, "--to", "onnx")
    assert found.stdout == (
        f"{tmp_path / 'm.onnx'}: X (float32, cases x 4) -> probabilities (cases x 6)\n"
    )
    assert (tmp_path / "m.onnx").exists()
    assert "exists. Choose another name" in error_line("export", model)


def test_wrong_formats_and_endings_are_refused(trained, tmp_path):
    assert "`--to` must be one of 'onnx'" in error_line("export", trained, "--to", "x")
    assert "`.onnx`" in error_line("export", trained, "--out", tmp_path / "m.pt")


def test_a_card_is_written(trained, tmp_path):
    run("inspect", trained, "--card", tmp_path / "card.md")
    assert "# pets" in (tmp_path / "card.md").read_text()
