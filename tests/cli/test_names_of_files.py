"""Names in a model file are shown as text: no escape sequences, no markup."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import crbm
from crbm.cli import app

X = np.random.default_rng(0).normal(size=(40, 2))
NAMES = ["dog\x1b[2J", "[/red]cat:smile:", "[link=http://a.example]fish"]
SHOWN = [r"dog\x1b[2J", "[/red]cat:smile:", "[link=http://a.example]fish"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of a stranger, and data of its columns."""
    place = tmp_path_factory.mktemp("stranger")
    inputs = pd.DataFrame({"a\x1b[31m": X[:, 0], "kind": ["x", "y\x1b]0;t\x07"] * 20})
    labels = pd.DataFrame((X[:, [0, 1, 0]] > 0).astype(int), columns=NAMES)
    classifier = crbm.CRFClassifier(n_epochs=2, random_state=0).fit(inputs, labels)
    classifier.save(place / "m.safetensors")
    pd.concat([inputs, labels], axis=1).to_parquet(place / "data.parquet")
    return place


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "m.safetensors"],
        ["inspect", "m.safetensors", "--pairs", "2"],
        ["evaluate", "m.safetensors", "data.parquet", "--per-label"],
    ],
    ids=" ".join,
)
def test_names_are_shown_as_text(words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "300")
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "".join(done.output.split("\n")).isprintable()
    assert [name for name in SHOWN if name not in done.output] == []
