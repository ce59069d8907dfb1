"""The examples run, and show what they say."""

import importlib.util
from pathlib import Path

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
