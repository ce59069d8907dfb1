"""Samples are unbiased, independent, repeatable, and exact at probabilities 0 and 1."""

import math
from contextlib import nullcontext

import pytest
import torch
from scipy.stats import chisquare

import crbm
from crbm import kernels, objectives, sampling, training
from crbm.types import Batch

CHANCES = [0.001, 0.1, 1 / 3, 0.5, 0.9, 0.999]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(params=["generator", "stream", "stream of NumPy"])
def source(request):
    """Each kind of source, as a function of a generator."""
    if request.param == "generator":
        return lambda generator: generator

    def stream(generator):
        with kernels.disabled() if "NumPy" in request.param else nullcontext():
            return sampling.Stream(generator)

    return stream


@pytest.fixture(params=["16 bits", "32 bits", "double"])
def draw(request, source):
    """Each path from probabilities to samples."""

    def run(p, generator):
        if request.param == "32 bits":
            with sampling.exactly():
                return sampling.bernoulli(p, source(generator))
        return sampling.bernoulli(
            p.double() if request.param == "double" else p, source(generator)
        )

    return run


@pytest.mark.parametrize("chance", CHANCES)
def test_samples_have_the_given_mean(draw, chance):
    """A million samples; |z| < 4 fails once in 16,000 and detects a bias of 0.002."""
    n = 1_000_000
    mean = draw(torch.full((n,), chance), seeded()).mean().item()
    assert abs(mean - chance) / math.sqrt(chance * (1 - chance) / n) < 4


def test_every_position_in_a_word_is_unbiased(draw):
    """Four samples share an int64, whose highest bit torch sets to 0 by default."""
    counts = draw(torch.full((250_000, 4), 0.5), seeded()).sum(0)
    z = (counts - 125_000).abs() / math.sqrt(62_500)
    assert (z < 4).all()


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 128, 256])
def test_neighbours_are_independent(draw, lag):
    """Chi-square on 250,000 pairs: a correlation of 0.01 gives 25, the limit is 16."""
    x = draw(torch.full((500_000,), 0.3), seeded())[:-lag]
    pairs = (2 * x[lag:] + x[:-lag])[::2].long()
    counts = torch.bincount(pairs, minlength=4)
    p = torch.tensor([0.49, 0.21, 0.21, 0.09]).double()
    expected = (p * counts.sum()).numpy()
    assert chisquare(counts.numpy(), expected).pvalue > 1e-3


def test_probabilities_0_and_1_are_exact(draw):
    ends = torch.tensor([0.0, 1.0]).repeat(100_000)
    assert torch.equal(draw(ends, seeded()).float(), ends)


def test_infinite_log_odds_are_exact():
    logits = torch.tensor([-torch.inf, torch.inf]).repeat(100_000)
    samples = sampling.from_logits(logits, seeded())
    assert torch.equal(samples, (logits > 0).float())


def test_log_odds_and_probabilities_give_the_same_samples():
    logits = torch.randn(1001, generator=seeded(3))
    by_logits = sampling.from_logits(logits, seeded())
    assert torch.equal(by_logits, sampling.bernoulli(logits.sigmoid(), seeded()))


def test_arguments_are_not_modified(draw):
    p = torch.rand(5, 3, generator=seeded(2))
    before = p.clone()
    samples = draw(p, seeded())
    assert torch.equal(p, before)
    assert samples.shape == (5, 3)
    assert set(samples.unique().tolist()) <= {0.0, 1.0}


def test_samples_require_no_gradient():
    logits = torch.zeros(4, requires_grad=True)
    for samples in (
        sampling.from_logits(logits),
        sampling.bernoulli(logits.sigmoid()),
        sampling.fair_coins(logits),
    ):
        assert not samples.requires_grad


def test_samples_do_not_depend_on_the_number_of_threads(draw):
    p = torch.rand(300, 257, generator=seeded(1))
    n_threads = torch.get_num_threads()
    results = []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            results.append(draw(p, seeded()))
    finally:
        torch.set_num_threads(n_threads)
    assert torch.equal(*results)
    assert not torch.equal(results[0], draw(p, seeded(1)))


def fixed_bits(monkeypatch, bits):
    """Use these bits for every sample."""
    monkeypatch.setattr(sampling, "_bits", lambda like, dtype, source: bits)


@pytest.mark.parametrize("chance", [0.0, 2**-17, *CHANCES, 1 - 2**-17, 1.0])
def test_sixteen_bits_round_to_the_nearest_step(monkeypatch, chance):
    """Over all 65,536 values of the bits, the share of ones is the probability."""
    fixed_bits(monkeypatch, torch.arange(-(2**15), 2**15, dtype=torch.int16))
    p = torch.full((2**16,), chance)
    bias = sampling.bernoulli(p).double().mean().item() - p[0].item()
    # the sum of p * 2^16 and an integer is rounded at its 24th bit: 2^-8 of a step
    assert abs(bias) <= 2**-17 + 2**-24


@pytest.mark.parametrize("chance", CHANCES)
def test_thirty_two_bits_have_the_exact_threshold(monkeypatch, chance):
    p = torch.full((2,), chance, dtype=torch.float64)
    threshold = math.ceil(chance * 2**32) - 2**31  # this many integers lie below
    fixed_bits(monkeypatch, torch.tensor([threshold - 1, threshold]).int())
    assert sampling.bernoulli(p).tolist() == [1, 0]


def test_from_logits_in_place_gives_the_same_samples():
    logits = torch.randn(1001, generator=seeded(3))
    expected = sampling.from_logits(logits, seeded())
    found = sampling.from_logits_(logits, seeded())
    assert torch.equal(found, expected)
    assert found.data_ptr() == logits.data_ptr()


def test_streams_are_for_long_chains():
    generator = seeded()
    assert sampling.stream(generator, torch.empty(100)) is generator
    assert isinstance(
        sampling.stream(generator, torch.empty(128, 784)), sampling.Stream
    )


def test_streams_are_determined_by_the_state_of_the_generator():
    """A checkpoint stores the generator's state; later streams then repeat."""
    generator, fair = seeded(), torch.full((1000,), 0.5)
    state = generator.get_state()
    first, second = (
        sampling.bernoulli(fair, sampling.Stream(generator)) for _ in range(2)
    )
    assert not torch.equal(first, second)
    generator.set_state(state)
    assert torch.equal(sampling.bernoulli(fair, sampling.Stream(generator)), first)
    assert torch.equal(sampling.bernoulli(fair, sampling.Stream(generator)), second)


def test_streams_of_one_generator_are_independent(draw):
    """Chi-square on 250,000 pairs, as above."""
    generator, p = seeded(), torch.full((250_000,), 0.3)
    pairs = 2 * draw(p, generator) + draw(p, generator)
    counts = torch.bincount(pairs.long(), minlength=4)
    expected = 250_000 * torch.tensor([0.49, 0.21, 0.21, 0.09]).double()
    assert chisquare(counts.numpy(), expected.numpy()).pvalue > 1e-3


@pytest.mark.parametrize("shape", [(0,), (128, 0), (3, 0, 2)])
def test_empty_tensors_have_no_samples(draw, shape):
    assert draw(torch.empty(shape), seeded()).shape == shape


def test_a_long_chain_without_hidden_units():
    """128 x 784 outputs make the chain a stream, and 0 hidden units an empty draw."""
    v = torch.rand(128, 784, generator=seeded()).round()
    model = crbm.CRBM(784, 784, 0, seeded(1))
    cd = objectives.ContrastiveDivergence(1)
    training.fit(model, cd, Batch(v, v), n_epochs=1, generator=seeded(2))
    assert model.bias_v.abs().sum() > 0
