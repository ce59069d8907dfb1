"""Tiny random models on which every quantity can be counted."""

from __future__ import annotations

from importlib.util import find_spec
from platform import machine

import pytest
import torch

import type_checks

type_checks.install()

import crbm  # noqa: E402 - only what is imported from here on is checked

torch.set_num_threads(1)  # tests run side by side, and their models are tiny

# A Numba that is there but does not work must fail these tests, not skip them.
needs_numba = pytest.mark.skipif(
    find_spec("numba") is None, reason="Numba is not installed: pip install crbm[fast]"
)
# Nor may a torch with other operators, on the processors where oneDNN is used.
needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available() or machine() not in ("x86_64", "AMD64"),
    reason="torch has no oneDNN here",
)
N_CASES, N_INPUTS, N_VISIBLE, N_HIDDEN = 3, 3, 5, 4


@pytest.fixture(autouse=True)
def check_types_again():
    """Check the annotations in the first calls of each test."""
    type_checks.start_again()


def seeded(seed=0):
    """A generator of its own for each use."""
    return torch.Generator().manual_seed(seed)


def randomised(model, scale=1.0, seed=1):
    """The model with all parameters drawn at random."""
    generator = seeded(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, scale, generator=generator)
    return model


MODELS = {
    "crbm": lambda: crbm.CRBM(N_INPUTS, N_VISIBLE, N_HIDDEN, dtype=torch.float64),
    "crbm-wide": lambda: crbm.CRBM(N_INPUTS, 4, 5, dtype=torch.float64),
    "crbm-no-uv": lambda: crbm.CRBM(
        N_INPUTS, N_VISIBLE, N_HIDDEN, connect_uv=False, dtype=torch.float64
    ),
    "crbm-no-uh": lambda: crbm.CRBM(
        N_INPUTS, N_VISIBLE, N_HIDDEN, connect_uh=False, dtype=torch.float64
    ),
    "logistic": lambda: crbm.CRBM(N_INPUTS, N_VISIBLE, 0, dtype=torch.float64),
    "rbm": lambda: crbm.RBM(N_VISIBLE, N_HIDDEN, dtype=torch.float64),
    "crf": lambda: crbm.CRF(N_INPUTS, N_VISIBLE, dtype=torch.float64),
}


@pytest.fixture(params=MODELS)
def model(request):
    """Each kind of model with random weights."""
    return randomised(MODELS[request.param]())


@pytest.fixture
def generator():
    """A fixed source of randomness."""
    return seeded(7)


@pytest.fixture
def u():
    """A few random inputs."""
    return torch.randn(N_CASES, N_INPUTS, dtype=torch.float64, generator=seeded(2))


@pytest.fixture
def v(model):
    """A few random outputs for the model."""
    shape = (N_CASES, model.n_visible)
    coins = torch.rand(shape, dtype=torch.float64, generator=seeded(3))
    return (coins < 0.5).double()


@pytest.fixture
def known(model):
    """Some outputs known, in a different pattern for each case."""
    labels = torch.full((N_CASES, model.n_visible), torch.nan, dtype=torch.float64)
    labels[0, 0], labels[1, 1], labels[1, 3] = 1, 0, 1
    return labels
