"""Products that skip zeros against those of torch."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import crbm
from conftest import needs_numba, needs_onednn
from crbm import kernels, objectives, training
from crbm.kernels import onednn, products
from crbm.types import Batch


@pytest.fixture(params=["oneDNN", "torch"])
def library(request, monkeypatch):
    """What computes dense products: oneDNN, whatever the processor, or torch."""
    if request.param == "torch":
        monkeypatch.setenv(onednn.SWITCH, "0")
    else:
        monkeypatch.setattr(onednn, "_is_faster_here", lambda: True)
    return request.param


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
def test_products_equal_those_of_double_precision(share, shape, library):
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
@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.1, {"oneDNN", "torch"}), (0.25, {"torch"}), (0.5, set())],
)
def test_few_nonzero_elements_select_the_compiled_kernel(
    share, expected, compiled, library
):
    x, weight = sparse(128, 300, share=share), dense(300, 64)
    products.affine(x, weight, weight[0])
    products.add_product_(weight, x, dense(128, 64), 1.0)
    assert compiled == [library in expected] * 2


@needs_numba
@pytest.mark.parametrize(("has_threads", "expected"), [(True, True), (False, False)])
def test_kernels_on_fewer_threads_than_torch_require_more_zeros(
    has_threads, expected, compiled, monkeypatch
):
    monkeypatch.setattr(products, "n_threads", lambda size: 2 if has_threads else 1)
    monkeypatch.setenv(onednn.SWITCH, "0")
    torch.set_num_threads(2)
    products.affine(sparse(128, 300, share=0.25), dense(300, 64), torch.zeros(64))
    assert compiled == [expected]


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_nan_affects_only_its_row(share, library):
    x, weight = sparse(128, 300, share=share), dense(300, 64)
    x[5, 7] = torch.nan
    found = products.affine(x, weight, weight[0])
    assert found.isnan().any(1).nonzero().tolist() == [[5]]
    assert found[5].isnan().all()
    total = torch.zeros(300, 64)
    products.add_product_(total, x, dense(128, 64), 1.0)
    assert total.isnan().any(1).nonzero().tolist() == [[7]]


@needs_numba
@pytest.mark.parametrize("kind", ["double", "strided", "small", "disabled"])
def test_other_tensors_go_to_torch(kind, compiled, monkeypatch):
    monkeypatch.setattr(onednn, "_is_faster_here", lambda: kind != "strided")
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
    assert not any(compiled)


MISMATCHES = """
import sys
import torch
from crbm.kernels import onednn
from crbm.kernels.products import add_product_, affine

torch.set_num_threads(1)
onednn._is_faster_here = lambda: True
x, y = torch.eye(300)[:128].clone(), torch.ones(128, 64)
if sys.argv[1] == "dense":
    x += 1
calls = [
    lambda: affine(x, torch.ones(299, 64), torch.zeros(64)),
    lambda: affine(x, torch.ones(300, 64), torch.zeros(65)),
    lambda: affine(x, torch.ones(300, 64), torch.zeros(127, 64)),
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


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_mismatched_shapes_and_dtypes_raise(kind):
    # in a process of its own, because jaxtyping would raise first in this one
    command = [sys.executable, "-c", MISMATCHES, kind]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.stdout.split() == 7 * ["raised"], result.stderr


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("of", ["weight", "bias"])
def test_products_are_differentiable(of, share, library):
    x, weight, bias = sparse(128, 300, share=share), dense(300, 64), dense(64)
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


@needs_onednn
def test_onednn_takes_matrices_of_any_strides(monkeypatch):
    monkeypatch.setattr(onednn, "_is_faster_here", lambda: True)
    x, weight, table = dense(256, 600), dense(600, 128, seed=2), dense(256, 128, seed=3)
    views = [
        (x[::2], weight, table[::2]),
        (x[:, ::2], weight[::2], table),
        (x.T.contiguous().T, weight.T.contiguous().T, table.T.contiguous().T),
        (x[:1].expand(256, -1), weight, table[:, :1].expand(-1, 128)),
        (x[:, 1:], weight[1:], table[0].expand(256, -1)),
    ]
    for u, w, b in views:
        assert onednn.supports(u, w, b)
        expected = u.double() @ w.double() + b.double()
        found = products.affine(u, w, b).double()
        assert_close(found, expected, rtol=0, atol=1e-4)
        total, h = torch.zeros(128, u.shape[1]).T, b.contiguous()
        products.add_product_(total, u, h, 0.5)
        expected = 0.5 * u.double().T @ h.double()
        assert_close(total.double(), expected, rtol=0, atol=1e-4)


@needs_onednn
def test_onednn_gives_the_same_bits_on_any_number_of_threads():
    x, weight = dense(300, 700), dense(700, 90, seed=2)
    found = []
    for n_threads in (1, 2, 2, 1):
        torch.set_num_threads(n_threads)
        bias, table = weight[0], x[:, :90].contiguous()
        found.append(onednn.affine(x, weight, bias))
        found.append(onednn.affine(x, weight, table))
        found.append(onednn.transposed_product(x, table).T)
    for place, product in enumerate(found):
        assert torch.equal(product, found[place % 3])


@needs_onednn
def test_onednn_is_used_only_if_a_trial_is_right(monkeypatch):
    assert onednn._is_right()
    monkeypatch.setattr(onednn, "affine", lambda x, weight, bias: bias + x @ weight * 0)
    assert not onednn._is_right()


@pytest.mark.parametrize(
    ("capability", "vendor", "expected"),
    [
        ("AVX512", "AuthenticAMD", True),
        ("AVX512", "GenuineIntel", False),
        ("AVX2", "AuthenticAMD", False),
    ],
)
def test_onednn_is_for_processors_on_which_mkl_is_slow(
    capability, vendor, expected, monkeypatch, tmp_path
):
    (tmp_path / "cpuinfo").write_text(f"vendor_id : {vendor}\n")
    monkeypatch.setattr(onednn, "PROCESSOR", tmp_path / "cpuinfo")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(onednn, "_is_right", lambda: True)
    assert onednn._is_faster_here.__wrapped__() == expected


def test_a_torch_without_the_operators_multiplies_by_itself(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(onednn, "_is_intel", lambda: False)
    monkeypatch.setattr(torch, "ops", object())
    assert not onednn._is_faster_here.__wrapped__()


def test_onednn_can_be_switched_off(monkeypatch):
    monkeypatch.setattr(onednn, "_is_faster_here", lambda: True)
    monkeypatch.delenv(onednn.SWITCH, raising=False)
    assert onednn.is_faster()
    with onednn.disabled():
        assert not onednn.is_faster()
    with kernels.disabled():
        assert not onednn.is_faster()
    monkeypatch.setenv(onednn.SWITCH, "1")
    with onednn.disabled():
        assert not onednn.is_faster()
    assert onednn.is_faster()
