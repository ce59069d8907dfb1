"""Products with mostly zeros: sums of rows against whole products, in every kind."""

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
def by_loop(monkeypatch):
    """Whether each product asked for was made by the loops, in order."""
    found, ask = [], products._mostly_zeros

    def asked(*tensors):
        found.append(ask(*tensors))
        return found[-1]

    monkeypatch.setattr(products, "_mostly_zeros", asked)
    return found


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
# the last digits of sums of some hundred numbers
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
def test_the_loops_multiply_where_few_numbers_are_not_zero(share, expected, by_loop):
    x, weight = sparse(128, 300, share=share), dense(300, 64)
    products.affine(x, weight, weight[0])
    products.add_product_(weight, x, dense(128, 64), 1.0)
    assert by_loop == [expected, expected]


@needs_numba
def test_more_threads_ask_for_more_zeros(by_loop):
    x, weight = sparse(128, 300, share=0.25), dense(300, 64)
    for n_threads in (1, 2):
        torch.set_num_threads(n_threads)
        products.affine(x, weight, weight[0])
    assert by_loop == [True, False]


@needs_numba
def test_what_is_not_a_number_spoils_its_row_alone():
    x, weight = sparse(128, 300, share=0.1), dense(300, 64)
    x[5, 7] = torch.nan
    found = products.affine(x, weight, weight[0])
    assert found.isnan().any(1).nonzero().tolist() == [[5]]
    assert found[5].isnan().all()
    total = torch.zeros(300, 64)
    products.add_product_(total, x, dense(128, 64), 1.0)
    assert total.isnan().any(1).nonzero().tolist() == [[7]]


@needs_numba
@pytest.mark.parametrize("kind", ["double", "strided", "small", "not wanted"])
def test_other_tensors_are_left_to_torch(kind, by_loop):
    x, weight = sparse(128, 300, share=0.1), dense(300, 64)
    if kind == "double":
        x, weight = x.double(), weight.double()
    elif kind == "strided":
        weight = dense(64, 300).T
    elif kind == "small":
        x = x[:20].clone()
    bias = weight.new_zeros(64)
    wanted = kernels.disabled() if kind == "not wanted" else torch.no_grad()
    with wanted:
        assert torch.equal(products.affine(x, weight, bias), x @ weight)
    assert by_loop == [False]


MISFITS = """
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
        print("refused")
"""


def test_shapes_that_do_not_fit_are_refused():
    # on its own, as the types of tests would refuse them first
    told = subprocess.run(
        [sys.executable, "-c", MISFITS], capture_output=True, text=True, timeout=120
    )
    assert told.stdout.split() == 6 * ["refused"], told.stderr


@pytest.mark.parametrize("of", ["weight", "bias"])
def test_products_are_differentiable(of):
    x, weight, bias = sparse(128, 300, share=0.1), dense(300, 64), dense(64)
    leaf = {"weight": weight, "bias": bias}[of].requires_grad_()
    slope = torch.autograd.grad(products.affine(x, weight, bias).sum(), leaf)[0]
    ones = torch.ones(128, 64)
    assert_close(slope, {"weight": x.T @ ones, "bias": ones.sum(0)}[of])


@needs_numba
@pytest.mark.parametrize(
    "rule", [objectives.ContrastiveDivergence(1), objectives.ExactLikelihood()]
)
def test_a_model_learns_the_same_from_mostly_zeros(rule, by_loop, assert_same_weights):
    n_hidden = 0 if isinstance(rule, objectives.ExactLikelihood) else 90
    generator = torch.Generator().manual_seed(0)
    u, v = ((torch.rand(256, 100, generator=generator) < 0.1).float() for _ in range(2))

    def trained():
        generator = torch.Generator().manual_seed(1)
        model = crbm.CRBM(100, 100, n_hidden, generator)
        training.fit(model, rule, Batch(u, v), n_epochs=2, generator=generator)
        return model.state_dict()

    assert_same_weights(trained)
    assert True in by_loop


@needs_numba
def test_rows_that_are_looked_at_stand_for_all(by_loop):
    x = torch.zeros(128, 300)
    x[1] = 1.0  # one of many, which is not looked at
    found = products.affine(x, dense(300, 64), torch.zeros(64))
    assert by_loop == [True]
    assert np.flatnonzero(found.any(1)).tolist() == [1]
