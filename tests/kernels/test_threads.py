"""Kernels on several threads give what they give on one, bit for bit."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from conftest import needs_numba
from crbm import kernels
from crbm.kernels import dispatch, products

pytestmark = needs_numba
SHAPE = 128, 300  # large enough to be shared


@pytest.fixture(params=[2, 3, 20])
def several(request):
    """The result of a call on one thread and on several."""

    def run(call):
        before = torch.get_num_threads()
        results = []
        for n_threads in (1, request.param):
            torch.set_num_threads(n_threads)
            try:
                assert kernels.dispatch.n_threads(SHAPE[0] * SHAPE[1]) == n_threads
                results.append(call())
            finally:
                torch.set_num_threads(before)
        return results

    return run


@pytest.fixture(autouse=True)
def has_openmp():
    if not dispatch.compiled_kernels().HAS_THREADS:
        pytest.skip("torch has no OpenMP runtime that kernels can use")


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("n_units", [2**15 + 1, 100_351, 128 * 784])
@pytest.mark.parametrize("of_logits", [True, False])
def test_samples_and_the_words_after_them(several, n_units, of_logits):
    x = normal(n_units) if of_logits else normal(n_units).sigmoid()
    seeds = np.random.default_rng(0).integers(2**63, size=kernels.Lanes.N_SEEDS)

    def call():
        lanes = kernels.Lanes(seeds)
        both = [lanes.bernoulli_(x.clone(), logits=of_logits) for _ in range(2)]
        return *both, torch.from_numpy(lanes.words(100).view(np.int64))

    for one, other in zip(*several(call), strict=True):
        assert torch.equal(one, other)


def test_softplus_and_means(several):
    one, other = several(lambda: kernels.softplus_and_means(5 * normal(*SHAPE)))
    assert torch.equal(one[0], other[0])
    assert torch.equal(one[1], other[1])


def test_dots(several):
    one, other = several(lambda: kernels.dots(normal(*SHAPE), normal(*SHAPE, seed=1)))
    assert torch.equal(one, other)


def test_products_of_mostly_zeros(several):
    x = normal(*SHAPE) * (normal(*SHAPE, seed=1) > 1)

    def call():
        total = normal(300, 64, seed=2)
        assert products._mostly_zeros(x, total)
        product = products.affine(x, total, total[0])
        products.add_product_(total, x, product, 0.1)
        return product, total

    for one, other in zip(*several(call), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_a_kernel_is_called_once_for_each_part(n_threads):
    from numba import njit

    from crbm.kernels.compiled.threads import in_parts

    @njit
    def record(part, n_parts, calls):
        calls[part] += n_parts

    run_in_parts = in_parts(record)
    run = njit(lambda calls, n_threads: run_in_parts((calls,), n_threads))
    calls = np.zeros(4, dtype=np.int64)
    run(calls, n_threads)
    assert calls.tolist() == n_threads * [n_threads] + (4 - n_threads) * [0]


def test_small_tensors_stay_on_one_thread(several):
    assert several(lambda: dispatch.n_threads(2**15)) == [1, 1]


FORK = """
import os, signal, torch
from crbm import kernels
torch.set_num_threads(2)
x = torch.zeros(256, 256)  # made here, as torch itself would wait in the child
kernels.softplus_and_means(x)
child = os.fork()
if not child:
    signal.alarm(30)
    kernels.softplus_and_means(x)
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_wait_for_threads_it_does_not_have():
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == "0", result.stderr
