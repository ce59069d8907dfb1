"""A plain script under the real torchrun gives the estimators of one process."""

from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from estimators import rank_script
from training.test_distributed import torchrun

pytestmark = pytest.mark.slow

NAMES = ("crbm", "held out", "hash", "regressor", "pixels", "auto", "stacked")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What one process found, what each of two ranks found, and their messages."""
    folder = tmp_path_factory.mktemp("ranks")
    alone = tmp_path_factory.mktemp("alone")
    said = torchrun(Path(rank_script.__file__), folder)
    rank_script.main(alone)
    files = (alone / "1-0.pt", folder / "2-0.pt", folder / "2-1.pt")
    found = [torch.load(file, weights_only=False) for file in files]
    return found, folder, said


@pytest.mark.parametrize("name", NAMES)
def test_two_ranks_fit_the_estimator_of_one_process(runs, name):
    # float32, and the order of sums differs: 1e-5 is what was promised
    one, first, second = (found[name] for found in runs[0])
    assert_close(first, one, rtol=0, atol=1e-5)
    assert_close(second, first, rtol=0, atol=0)


def test_only_the_first_rank_writes_files_and_shows_progress(runs):
    _, folder, said = runs
    written = sorted(file.name for file in folder.glob("*.safetensors"))
    estimators = [name for name in NAMES if name != "stacked"]
    assert written == sorted(f"{name}-2-0.safetensors" for name in estimators)
    assert said.count("epoch 3/3") == 1


def test_ranks_share_a_seed_that_was_not_given(runs):
    _, first, second = (found.get("unseeded") for found in runs[0])
    assert_close(second, first, rtol=0, atol=0)


def test_ranks_with_different_cases_are_refused(runs):
    for found in runs[0][1:]:
        for refusal in found["refusals"]:
            assert "ranks have different training cases" in refusal


def test_an_error_on_the_first_rank_is_raised_on_all(runs):
    for found in runs[0][1:]:
        assert "`X` has 61, `Y` has 5" in found["failure"]


def test_estimators_can_be_fitted_on_each_rank_by_itself(runs):
    _, first, second = (found.get("separate") for found in runs[0])
    assert abs(first - second).max() > 0.01
