"""Compiled kernels of units against torch, and torch where they do not apply."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from numpy.random import SFC64
from torch.nn.functional import softplus
from torch.testing import assert_close

import crbm
from conftest import needs_numba
from crbm import kernels, objectives, sampling, training
from crbm.kernels import RowLogits, units
from crbm.types import Batch, Candidates

EDGES = [0.0, -0.0, 1e-30, 17.0, -17.0, 88.0, -88.0, 200.0, -200.0]


def logits(*shape, seed=0):
    """Log-odds of all magnitudes, with edge cases among them."""
    generator = torch.Generator().manual_seed(seed)
    x = 5 * torch.randn(*shape, generator=generator)
    x.view(-1)[: len(EDGES)] = torch.tensor(EDGES[: x.numel()])
    return x


@needs_numba
@pytest.mark.parametrize("value", [*EDGES, torch.inf, -torch.inf, 0.3, -2.5, 9.0])
def test_over_all_16_bit_numbers_the_share_of_ones_is_the_probability(value):
    bits = torch.arange(-(2**15), 2**15).to(torch.int16)
    x = torch.full((2**16,), value)
    exact = float(torch.tensor(value, dtype=torch.float64).sigmoid())
    p = torch.full((2**16,), exact)
    for samples in (
        kernels.bernoulli_(x, bits, logits=True),
        kernels.bernoulli_(p, bits),
    ):
        share = float(samples.double().mean())
        assert abs(share - exact) <= 2**-17 + 1e-7  # rounded, as documented
        if abs(value) > 88:
            assert share == (value > 0)


@needs_numba
def test_each_lane_is_an_sfc64_of_numpy():
    seeds = np.random.default_rng(0).integers(2**63, size=kernels.Lanes.N_SEEDS)
    lanes = kernels.Lanes(seeds)
    parts = [lanes.words(n_words) for n_words in (640, 64, 0, 100, 6400)]
    for lane, (a, b, c) in enumerate(seeds.reshape(3, -1).T.tolist()):
        numpys = SFC64()
        state = np.array([a, b, c, 1], dtype=np.uint64)
        numpys.state = {**numpys.state, "state": {"state": state}}
        numpys.random_raw(12)
        found = np.concatenate([words[lane::64] for words in parts])
        assert np.array_equal(found, numpys.random_raw(len(found)))


@needs_numba
@pytest.mark.parametrize("n_units", [1, 255, 256, 257, 10_007])
@pytest.mark.parametrize("of_logits", [True, False])
def test_lanes_sample_with_their_words_in_order(n_units, of_logits):
    seeds = np.random.default_rng(0).integers(2**63, size=kernels.Lanes.N_SEEDS)
    at_once, by_words = kernels.Lanes(seeds), kernels.Lanes(seeds)
    x = logits(n_units)
    x = x if of_logits else x.sigmoid()
    for _ in range(2):  # sampling advances the generators as drawing words does
        words = by_words.words(-(-n_units // 4)).view(np.int16)[:n_units]
        bits = torch.from_numpy(words)
        expected = kernels.bernoulli_(x.clone(), bits, logits=of_logits)
        assert torch.equal(at_once.bernoulli_(x.clone(), logits=of_logits), expected)


@needs_numba
def test_streams_are_lanes_where_kernels_are_compiled():
    generator = torch.Generator().manual_seed(0)
    lanes = sampling.Stream(generator).words(10**5)
    with kernels.disabled():
        single = sampling.Stream(generator).words(10**5)
    assert isinstance(single[0], np.uint64)
    # no word is repeated within a stream, or between the two kinds of stream
    assert len(np.unique(np.concatenate([lanes, single]))) == 2 * 10**5


@needs_numba
def test_samples_equal_those_of_torch():
    x = logits(300, 700)
    p = x.sigmoid()

    def samples():
        generator = torch.Generator().manual_seed(1)
        return (
            sampling.from_logits(x, generator),
            sampling.bernoulli(p, generator),
        )

    with kernels.disabled():
        expected = samples()
    for one, other in zip(samples(), expected, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(x, logits(300, 700))  # arguments are not modified
    assert torch.equal(p, x.sigmoid())


@pytest.mark.parametrize("shape", [(50, 300), (4, 5, 6), (7,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_only_the_given_rows_are_copied(shape, dtype):
    old, new = (logits(*shape, seed=seed).to(dtype) for seed in range(2))
    rows = torch.rand(shape[:-1], generator=torch.Generator().manual_seed(0)) < 0.5
    expected = torch.where(rows[..., None], new, old)
    kernels.copy_rows_(old, new, rows)
    assert torch.equal(old, expected)


@pytest.mark.parametrize(
    "shapes",
    [
        ((50, 300), (50, 300)),
        ((50, 300), (300,)),
        ((300,), (300,)),
        ((4, 50, 30), (4, 1, 30)),
        ((50, 30), (1, 30)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dots_are_sums_of_products(shapes, dtype):
    x, y = (logits(*shape, seed=n).to(dtype) for n, shape in enumerate(shapes))
    x.clamp_(-9, 9)
    expected = (x.double() * y.double()).sum(-1)
    atol = 3e-3 if dtype == torch.float32 else 1e-11  # sums of up to 300 x 40
    assert_close(kernels.dots(x, y).double(), expected, rtol=0, atol=atol)
    gradient = torch.autograd.grad(kernels.dots(x.requires_grad_(), y).sum(), x)[0]
    assert_close(gradient, y.expand_as(x))


@needs_numba
@pytest.mark.parametrize("n_hidden", [1, 7, 63, 64, 65, 300])
@pytest.mark.parametrize("n_states", [(1024,), (32, 40)])
def test_softplus_and_means_equal_double_precision(n_states, n_hidden):
    x = logits(*n_states, n_hidden)
    assert kernels.supports(x)
    total, means = kernels.softplus_and_means(x.clone())
    assert_close(total.double(), softplus(x.double()).sum(-1), rtol=3e-7, atol=1e-5)
    assert_close(means.double(), x.double().sigmoid(), rtol=3e-7, atol=1e-30)


def row_logits(n_hidden, dtype=torch.float32):
    """The summands of log-odds, with edge cases among them, and 30 rows per case."""
    parts = RowLogits(logits(60, n_hidden), logits(40, n_hidden, seed=1))
    ids = torch.randint(60, (40, 30), generator=torch.Generator().manual_seed(2))
    return RowLogits(*(part.to(dtype) for part in parts)), ids


def sum_of_parts(logits, ids):
    """The log-odds of every case and candidate, in double precision."""
    return logits.by_row.double()[ids] + logits.by_case.double()[:, None]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_hidden", [0, 1, 63, 65, 300])
def test_sums_over_rows_equal_those_of_the_whole_table(n_hidden, dtype, monkeypatch):
    monkeypatch.setattr(units, "BLOCK", 1000)  # some blocks hold one case, some many
    parts, ids = row_logits(n_hidden, dtype)
    x = sum_of_parts(parts, ids)
    weight = torch.rand(ids.shape, generator=torch.Generator().manual_seed(3)) - 0.2
    weight.relu_()  # a fifth has weight 0
    h = x.sigmoid() * weight.double()[..., None]
    total = kernels.softplus_of_rows(parts, ids).double()
    assert_close(total, softplus(x).sum(-1), rtol=5e-7, atol=2e-5)
    by_row, by_case = kernels.means_of_rows(parts, ids, weight.to(dtype))
    expected = torch.zeros_like(parts.by_row, dtype=torch.float64)
    expected.index_add_(0, ids.flatten(), h.flatten(0, 1))
    assert_close(by_row.double(), expected, rtol=2e-6, atol=1e-6)
    assert_close(by_case.double(), h.sum(1), rtol=2e-6, atol=1e-6)


@needs_numba
def test_sums_over_rows_are_compiled_and_equal_those_of_torch():
    parts, ids = row_logits(100)
    all_rows = torch.arange(60).expand(40, -1)  # every label set for every case
    for rows in (ids, all_rows):
        weight = torch.full(rows.shape, 0.1)
        fast = kernels.softplus_of_rows(parts, rows)
        fast_sums = kernels.means_of_rows(parts, rows, weight)
        with kernels.disabled():
            slow = kernels.softplus_of_rows(parts, rows)
            slow_sums = kernels.means_of_rows(parts, rows, weight)
        assert not torch.equal(fast, slow)  # else torch computed both
        assert_close(fast, slow, rtol=1e-6, atol=1e-4)
        for one, other in zip(fast_sums, slow_sums, strict=True):
            assert_close(one, other, rtol=2e-6, atol=2e-6)


def test_rows_are_differentiable():
    parts, ids = row_logits(50)
    leaves = [part.requires_grad_() for part in parts]
    total = kernels.softplus_of_rows(parts, ids)
    slopes = torch.autograd.grad(total.sum(), leaves)
    with torch.no_grad():
        sums = kernels.means_of_rows(parts, ids, torch.ones(ids.shape))
    for slope, expected in zip(slopes, sums, strict=True):
        assert_close(slope, expected, rtol=1e-5, atol=1e-5)


@needs_numba
def test_sums_over_rows_keep_nan():
    parts, ids = row_logits(50)
    parts.by_case[3, 4] = torch.nan
    total = kernels.softplus_of_rows(parts, ids)
    assert total.isnan().any(1).nonzero().tolist() == [[3]]
    assert total[3].isnan().all()


@needs_numba
def test_many_units_do_not_overflow():
    for value in (0.0, 60.0, -60.0):
        x = torch.full((2, 5000), value)
        expected = softplus(x.double()).sum(-1)
        assert_close(
            kernels.softplus_and_means(x)[0].double(), expected, rtol=1e-6, atol=1e-20
        )


@needs_numba
def test_softplus_and_means_keep_nan():
    x = logits(50, 30)
    x[3, 4] = torch.nan
    total, means = kernels.softplus_and_means(x)
    assert total.isnan().nonzero().tolist() == [[3]]
    assert means.isnan().nonzero().tolist() == [[3, 4]]


@needs_numba
@pytest.mark.parametrize(
    "x",
    [
        torch.zeros(64, 64, dtype=torch.float64),
        torch.zeros(64, 64, requires_grad=True),
        torch.zeros(64, 1).expand(64, 64),
        torch.zeros(64, 64).T[::2],
        torch.zeros(4, 4),
    ],
    ids=["double", "requires grad", "expanded", "strided", "small"],
)
def test_other_tensors_go_to_torch_and_are_not_modified(x):
    assert not kernels.supports(x)
    total, means = kernels.softplus_and_means(x)
    assert_close(total, softplus(x).sum(-1))
    assert_close(means, x.sigmoid())
    assert not x.any()


def test_torch_is_used_where_kernels_are_disabled():
    x = logits(40, 50)
    with kernels.disabled():
        assert not kernels.supports(x)
        total, means = kernels.softplus_and_means(x.clone())
    assert torch.equal(total, softplus(x).sum(-1))
    assert torch.equal(means, x.sigmoid())


@needs_numba
@pytest.mark.parametrize(
    "objective", [objectives.ContrastiveDivergence(2), objectives.Perceptron(3)]
)
def test_training_gives_the_same_weights_with_and_without_kernels(
    objective, assert_same_weights
):
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.rand(128, 40, generator=generator).round() for _ in range(2))

    def train():
        generator = torch.Generator().manual_seed(1)
        model = crbm.CRBM(40, 40, 20, generator)
        training.fit(model, objective, Batch(u, v), n_epochs=2, generator=generator)
        return model.state_dict()

    assert_same_weights(train)


@needs_numba
def test_training_on_candidates_gives_the_same_weights(assert_same_weights):
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.rand(300, 30, generator=generator).round() for _ in range(2))
    ids = torch.randint(300, (300, 50), generator=generator)
    mask = torch.rand(300, 50, generator=generator) < 0.8
    mask[:, 0] = True
    data = Batch(u, v, Candidates(v, mask, ids))

    def train():
        generator = torch.Generator().manual_seed(1)
        model = crbm.CRBM(30, 30, 20, generator)
        objective = objectives.CandidateLikelihood()
        training.fit(model, objective, data, n_epochs=3, generator=generator)
        return model.state_dict()

    assert_same_weights(train)


def test_kernels_work_without_numba():
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import torch; from crbm import kernels\n"
        "assert not kernels.supports(torch.zeros(64, 64))\n"
        "assert kernels.softplus_and_means(torch.zeros(64, 64))[1].mean() == 0.5"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_numba_is_imported_on_first_use():
    code = "import sys, crbm.estimators; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
