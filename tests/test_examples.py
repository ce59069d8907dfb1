"""The examples run, and show what they say."""

import importlib.util
from pathlib import Path

import pandas as pd

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_model_of_ones_own_is_learned_by_two_rules():
    assert len((EXAMPLES / "own_energy.py").read_text().splitlines()) < 40
    errors = load("own_energy").main()
    assert errors == {"Perceptron": 0.0, "CandidateLikelihood": 0.0}


def test_a_small_cd_loss_promises_nothing_about_predictions():
    results = load("why_not_cd").main(n_epochs=40)
    for name, (loss, error) in results.items():
        assert abs(loss[-1]) < 0.2 * max(map(abs, loss)), name
        if name == "CD-PercLoss":
            assert error < 0.01
        else:  # always guessing one picture is wrong in half of the pixels that differ
            assert error > 0.2


def test_tickets_are_a_table_whose_labels_depend_on_each_other(tmp_path):
    write = load("tickets").write
    write(tmp_path / "tickets.csv", 1000, seed=0)
    write(tmp_path / "new.csv", 20, seed=1, labels=False)
    frame = pd.read_csv(tmp_path / "tickets.csv")
    assert list(pd.read_csv(tmp_path / "new.csv")) == list(frame.columns[:5])
    assert frame.isna().any().any()
    both = frame.billing * frame.bug
    assert frame.cancel[both == 1].mean() > frame.cancel[both == 0].mean() + 0.3
