"""Products that skip zeros against those of torch."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import crbm
from conftest import needs_numba
from crbm import kernels, objectives, training
from crbm.kernels import products
from crbm.types import Batch


@pytest.fixture
def compiled(monkeypatch):
    """For each product, in order, whether a compiled kernel computes it."""
    answers, mostly_zeros = [], products._mostly_zeros

    def record(*tensors):
        answers.append(mostly_zeros(*tensors))
        return answers[-1]

    monkeypatch.setattr(products, "_mostly_zeros", record)
    return answers


def sparse(*shape, share, seed=0):
    """Numbers of both signs, most of them zero."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator)
    return x * (torch.rand(*shape, generator=generator) < share)


def dense(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


SHAPES = [(128, 300, 64), (1, 1100, 1000), (33, 257, 131), (1030, 1, 1024)]
# rounding of sums of a few hundred terms
NEAR = {"rtol": 1e-5, "atol": 2e-5}


@pytest.mark.parametrize("share", [0.0, 0.02, 0.2, 0.7])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_equal_those_of_double_precision(share, shape):
    n_rows, n_inner, n_outer = shape
    x = sparse(n_rows, n_inner, share=share)
    weight, table = dense(n_inner, n_outer), dense(n_rows, n_outer, seed=2)
    for bias in (table, table[0], table[:1]):
        expected = bias.double() + x.double() @ weight.double()
        assert_close(products.affine(x, weight, bias).double(), expected, **NEAR)
    total = weight.clone()
    products.add_product_(total, x, table, -0.3)
    expected = weight.double() - 0.3 * x.double().T @ table.double()
    assert_close(total.double(), expected, **NEAR)


@needs_numba
@pytest.mark.parametrize(("share", "expected"), [(0.2, True), (0.5, False)])
def test_few_nonzero_elements_select_the_compiled_kernel(share, expected, compiled):
    x, weight = sparse(128, 300, share=share), dense(300, 64)
    products.affine(x, weight, weight[0])
    products.add_product_(weight, x, dense(128, 64), 1.0)
    assert compiled == [expected, expected]


@needs_numba
@pytest.mark.parametrize(("has_threads", "expected"), [(True, True), (False, False)])
def test_kernels_on_fewer_threads_than_torch_require_more_zeros(
    has_threads, expected, compiled, monkeypatch
):
    monkeypatch.setattr(products, "n_threads", lambda size: 2 if has_threads else 1)
    torch.set_num_threads(2)
    products.affine(sparse(128, 300, share=0.25), dense(300, 64), torch.zeros(64))
    assert compiled == [expected]


@needs_numba
def test_nan_affects_only_its_row():
    x, weight = sparse(128, 300, share=0.1), dense(300, 64)
    x[5, 7] = torch.nan
    found = products.affine(x, weight, weight[0])
    assert found.isnan().any(1).nonzero().tolist() == [[5]]
    assert found[5].isnan().all()
    total = torch.zeros(300, 64)
    products.add_product_(total, x, dense(128, 64), 1.0)
    assert total.isnan().any(1).nonzero().tolist() == [[7]]


@needs_numba
@pytest.mark.parametrize("kind", ["double", "strided", "small", "disabled"])
def test_other_tensors_go_to_torch(kind, compiled):
    x, weight = sparse(128, 300, share=0.1), dense(300, 64)
    if kind == "double":
        x, weight = x.double(), weight.double()
    elif kind == "strided":
        weight = dense(64, 300).T
    elif kind == "small":
        x = x[:20].clone()
    bias = weight.new_zeros(64)
    context = kernels.disabled() if kind == "disabled" else torch.no_grad()
    with context:
        assert torch.equal(products.affine(x, weight, bias), x @ weight)
    assert compiled == [False]


MISMATCHES = """
import torch
from crbm.kernels.products import add_product_, affine

torch.set_num_threads(1)
x, y = torch.eye(300)[:128].clone(), torch.ones(128, 64)
calls = [
    lambda: affine(x, torch.ones(299, 64), torch.zeros(64)),
    lambda: affine(x, torch.ones(300, 64), torch.zeros(65)),
    lambda: affine(x, torch.ones(300, 64).double(), torch.zeros(64)),
    lambda: add_product_(torch.zeros(299, 64), x, y, 1.0),
    lambda: add_product_(torch.zeros(300, 63), x, y, 1.0),
    lambda: add_product_(torch.zeros(300, 64), x, torch.ones(127, 64), 1.0),
]
for call in calls:
    try:
        call()
    except (RuntimeError, ValueError):
        print("raised")
"""


def test_mismatched_shapes_and_dtypes_raise():
    # in a process of its own, because jaxtyping would raise first in this one
    result = subprocess.run(
        [sys.executable, "-c", MISMATCHES], capture_output=True, text=True, timeout=120
    )
    assert result.stdout.split() == 6 * ["raised"], result.stderr


@pytest.mark.parametrize("of", ["weight", "bias"])
def test_products_are_differentiable(of):
    x, weight, bias = sparse(128, 300, share=0.1), dense(300, 64), dense(64)
    leaf = {"weight": weight, "bias": bias}[of].requires_grad_()
    slope = torch.autograd.grad(products.affine(x, weight, bias).sum(), leaf)[0]
    ones = torch.ones(128, 64)
    assert_close(slope, {"weight": x.T @ ones, "bias": ones.sum(0)}[of])


@needs_numba
@pytest.mark.parametrize(
    "objective", [objectives.ContrastiveDivergence(1), objectives.ExactLikelihood()]
)
def test_training_on_mostly_zeros_gives_the_same_weights(
    objective, compiled, assert_same_weights
):
    n_hidden = 0 if isinstance(objective, objectives.ExactLikelihood) else 90
    generator = torch.Generator().manual_seed(0)
    u, v = ((torch.rand(256, 100, generator=generator) < 0.1).float() for _ in range(2))

    def train():
        generator = torch.Generator().manual_seed(1)
        model = crbm.CRBM(100, 100, n_hidden, generator)
        training.fit(model, objective, Batch(u, v), n_epochs=2, generator=generator)
        return model.state_dict()

    assert_same_weights(train)
    assert True in compiled


@needs_numba
def test_the_share_of_zeros_is_estimated_from_a_few_rows(compiled):
    x = torch.zeros(128, 300)
    x[1] = 1.0  # a row that is not counted
    found = products.affine(x, dense(300, 64), torch.zeros(64))
    assert compiled == [True]
    assert np.flatnonzero(found.any(1)).tolist() == [1]
