"""What a wrong call is told: what was needed, what came, what to do."""

import pytest
import torch

import crbm
from crbm import checks


@pytest.fixture
def model():
    return crbm.CRBM(3, 4, 2)


def test_sizes_must_be_whole_numbers():
    # beartype answers first in the tests, so the check is asked directly
    with pytest.raises(TypeError, match="`n_hidden` must be a whole number; got float"):
        checks.whole_number("n_hidden", 2.0, at_least=0)
    with pytest.raises(ValueError, match="`n_visible` must be at least 1; got 0"):
        crbm.CRBM(3, 0, 2)
    with pytest.raises(ValueError, match="`n_hidden` must be at least 0; got -1"):
        crbm.RBM(3, -1)


def test_wrong_number_of_columns(model):
    with pytest.raises(ValueError, match=r"`u` must have 3 columns.*\(5, 2\)"):
        model.condition(torch.zeros(5, 2))
    with pytest.raises(ValueError, match=r"`v` must have 4 columns.*\(5, 3\)"):
        model.free_energy(torch.zeros(5, 3), torch.zeros(5, 3))


def test_not_a_number(model):
    u = torch.zeros(5, 3)
    u[2, 1] = torch.nan
    with pytest.raises(
        ValueError, match="`u` must be finite; row 2, column 1 holds nan"
    ):
        model.condition(u)


def test_numbers_whose_sum_overflows_are_finite_themselves(model):
    model.condition(torch.full((5, 3), 3e38))
    with pytest.raises(ValueError, match="`u` must be finite; row 0, column 1"):
        model.condition(torch.tensor([[0.0, torch.inf, -torch.inf]]))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("wrong", [0.5, -1.0, 2.0, torch.inf, torch.nan])
def test_binary_means_zero_or_one(wrong, missing):
    v = torch.tensor([[0.0, 1.0], [1.0, wrong]])
    checks.binary("v", v[:1], missing=missing)
    if missing and v.isnan().any():
        checks.binary("v", v, missing=True)
        return
    with pytest.raises(ValueError, match=f"row 1, column 1 holds {wrong}"):
        checks.binary("v", v, missing=missing)


def test_outputs_beyond_zero_and_one(model):
    v = torch.zeros(5, 4)
    v[3, 2] = 2
    with pytest.raises(ValueError, match=r"`v` must hold binary.*row 3, column 2.*2.0"):
        model.free_energy(v, torch.zeros(5, 3))


def test_another_device(model):
    with pytest.raises(
        ValueError, match="`u` is on meta but the model is on cpu; move"
    ):
        model.condition(torch.zeros(5, 3, device="meta"))


def test_another_dtype(model):
    with pytest.raises(ValueError, match=r"`u` is torch.float64 .*u.to\(torch.float32"):
        model.condition(torch.zeros(5, 3, dtype=torch.float64))


def test_clamps_must_be_binary_or_nan(model):
    with pytest.raises(ValueError, match=r"`known` must hold 0, 1 or NaN \(unknown\)"):
        model.condition(torch.zeros(1, 3)).clamp(torch.full((1, 4), 0.5))


def test_free_energy_must_be_defined():
    class Empty(crbm.EnergyModel):
        n_visible = 2

    with pytest.raises(NotImplementedError, match="Empty must define `free_energy"):
        Empty().free_energy(torch.zeros(1, 2), torch.zeros(1, 1))


@pytest.mark.parametrize("name", ["CRBM", "CRF"])
def test_inputs_are_needed(name):
    sizes = (3, 4, 2) if name == "CRBM" else (3, 4)
    with pytest.raises(ValueError, match="needs inputs `u`"):
        getattr(crbm, name)(*sizes).condition(None)


def test_outputs_to_start_from_must_fit(model):
    with pytest.raises(ValueError, match=r"`v` must have 4 columns.*\(5, 3\)"):
        model.start_biases(torch.zeros(5, 3))
    with pytest.raises(ValueError, match="`v`"):
        model.start_biases(torch.full((5, 4), 2.0))
