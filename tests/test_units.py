"""Every kind of unit against its definition: p(s) ~ exp(s . field + log_base(s))."""

import itertools
import math

import pytest
import torch
from torch.testing import assert_close

from conftest import seeded
from crbm import units
from crbm.sampling import Stream
from crbm.units.kinds import LARGE

KINDS = {
    "bernoulli": units.Bernoulli(),
    "categorical-2": units.Categorical(2),
    "categorical-3": units.Categorical(3),
    "gaussian": units.Gaussian(),
    "mixed": units.Mixed(
        ((units.Bernoulli(), 1), (units.Categorical(3), 3), (units.Categorical(2), 2))
    ),
    "mixed, real": units.Mixed(((units.Categorical(4), 4), (units.Gaussian(), 2))),
}
FINITE = {name: kind for name, kind in KINDS.items() if kind.is_finite}
N_NUMBERS = 6


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture(params=FINITE)
def finite(request):
    return FINITE[request.param]


@pytest.fixture
def field():
    return torch.randn(4, N_NUMBERS, dtype=torch.float64, generator=seeded(3))


def layer(kind):
    """All states of a layer as rows, built by itertools from the values of a unit."""
    like = torch.empty(0, dtype=torch.float64)
    values = [
        part.states(like).tolist()
        for part, size in kind.layer(N_NUMBERS)
        for _ in range(size // part.width)
    ]
    rows = itertools.product(*values)
    return torch.tensor(
        [list(itertools.chain(*row)) for row in rows], dtype=torch.float64
    )


def widths(kind):
    """Numbers of each unit of the layer."""
    return [
        part.width
        for part, size in kind.layer(N_NUMBERS)
        for _ in range(size // part.width)
    ]


def some_known(kind, n_cases=4):
    """The first unit known in the first case, the second unit in the last."""
    value = kind.sample(torch.zeros(n_cases, N_NUMBERS).double(), seeded(1))
    known = torch.full_like(value, torch.nan)
    first, second = widths(kind)[:2]
    known[0, :first] = value[0, :first]
    known[-1, first : first + second] = value[-1, first : first + second]
    return known


def test_every_kind_is_tested():
    subclasses = {
        cls for cls in units.Units.__subclasses__() if "crbm" in cls.__module__
    }
    assert {type(kind) for kind in KINDS.values()} == subclasses


@pytest.mark.parametrize("clamped", [False, True])
def test_the_mean_is_the_gradient_of_the_log_partition(kind, field, clamped):
    known = some_known(kind) if clamped else None
    field.requires_grad_()
    (gradient,) = torch.autograd.grad(kind.log_partition(field, known).sum(), field)
    assert_close(kind.mean(field.detach(), known), gradient)
    assert_close(kind.mean_(field.detach().clone(), known), gradient)


def test_log_partition_and_mean_agree_with_each_alone(kind, field):
    log_z, mean = kind.log_partition_and_mean(field.clone())
    assert_close(log_z, kind.log_partition(field))
    assert_close(mean, kind.mean(field))


@pytest.mark.parametrize("offset", [0, 1000, -1000])
def test_large_categorical_layers_are_the_softmax(offset):
    kind, size = units.Categorical(12), (60, 1200)
    assert size[0] * size[1] > LARGE
    field = 5 * torch.randn(size, generator=seeded(6)).double() + offset
    field.requires_grad_()
    log_z, mean = kind.log_partition_and_mean(field)
    groups = field.detach().unflatten(-1, (-1, 12))
    assert_close(log_z, groups.logsumexp(-1).sum(-1))
    assert_close(mean, groups.softmax(-1).flatten(-2))
    assert_close(kind.mean(field.detach()), mean)
    (slope,) = torch.autograd.grad(log_z.sum(), field)
    assert_close(slope, mean)


@pytest.mark.parametrize("clamped", [False, True])
def test_finite_units_sum_over_their_states(finite, field, clamped):
    known, rows = some_known(finite) if clamped else None, layer(finite)
    scores = field @ rows.T
    if clamped:
        agrees = (known[:, None].isnan() | (known[:, None] == rows)).all(-1)
        scores = scores.masked_fill(~agrees, -torch.inf)
    assert_close(finite.log_partition(field, known), scores.logsumexp(-1))
    assert_close(finite.mean(field, known), scores.softmax(-1) @ rows)
    assert len(rows) == finite.n_states(N_NUMBERS)


def test_gaussian_units_integrate_over_the_real_line():
    grid = torch.linspace(-15, 15, 20001, dtype=torch.float64)
    field = torch.tensor([0.7, -1.3], dtype=torch.float64)
    density = torch.exp(field[:, None] * grid - grid**2 / 2)
    expected = torch.trapezoid(density, grid).log()
    for place in range(2):
        found = KINDS["gaussian"].log_partition(field[place : place + 1])
        assert_close(found, expected[place], rtol=1e-9, atol=1e-9)  # a fine grid
    with pytest.raises(TypeError, match="no finite list of states"):
        KINDS["gaussian"].states(grid)


def test_entropy_is_the_conjugate_of_the_log_partition(kind, field):
    mean = kind.mean(field)
    expected = kind.log_partition(field) - (mean * field).sum(-1) - kind.log_base(mean)
    assert_close(kind.entropy(mean), expected)


@pytest.mark.parametrize("source", ["generator", "stream"])
@pytest.mark.parametrize("how", ["sample", "sample_mean", "sample_"])
def test_samples_have_the_mean_and_variance(kind, source, how):
    n_samples = 40_000
    field = torch.linspace(-1.5, 1.5, N_NUMBERS).double()
    mean, generator = kind.mean(field), seeded(5)
    given = (mean if how == "sample_mean" else field).expand(n_samples, -1).clone()
    source = generator if source == "generator" else Stream(generator)
    found = getattr(kind, how)(given, source)
    variance = torch.cat(
        [
            part * (1 - part) if unit.is_finite else torch.ones_like(part)
            for (unit, size), part in zip(
                kind.layer(N_NUMBERS),
                mean.split([size for _, size in kind.layer(N_NUMBERS)]),
                strict=True,
            )
        ]
    )
    error = (found.mean(0) - mean).abs() / (variance / n_samples).sqrt()
    assert error.max() < 4.5  # standard errors; 1e-5 for one of a hundred numbers
    # the variance of a sample's variance is at most 2 / n for these units
    assert ((found.var(0) - variance).abs() < 5 * math.sqrt(2 / n_samples)).all()
    if kind.is_finite:
        kind.check("samples", found)


def test_known_units_keep_their_value(kind, field):
    known = some_known(kind)
    for s in (kind.sample(field, seeded(1), known), kind.mean(field, known)):
        assert_close(s[~known.isnan()], known[~known.isnan()])


def test_log_losses_are_minus_log_probabilities(finite, field):
    truth = layer(finite)[[3, 5, 1, 2]]
    mean = finite.mean(field)
    expected = finite.log_partition(field) - (truth * field).sum(-1)
    assert_close(finite.log_losses(mean, truth).sum(-1), expected)
    truth[0, : widths(finite)[0]] = torch.nan
    losses = finite.log_losses(mean, truth)
    assert losses.isnan().sum() == 1
    assert losses[0, 0].isnan()
    floor = finite.log_losses(1 - truth, truth, least=0.25)
    assert (floor[1:] <= math.log(4) + 1e-12).all()


def test_gaussian_log_losses_are_those_of_a_unit_variance():
    mean, truth = torch.tensor([[0.5, 2.0]]), torch.tensor([[1.5, torch.nan]])
    normal = torch.distributions.Normal(mean, 1.0)
    found = KINDS["gaussian"].log_losses(mean, truth)
    assert_close(found[0, 0], -normal.log_prob(truth.nan_to_num())[0, 0])
    assert found[0, 1].isnan()


def test_errors_count_wrong_units(finite):
    truth = layer(finite)[:4]
    other = truth.roll(1, dims=0)
    errors = finite.errors(other * 0.8 + 0.01, truth)
    parts = (truth != other).split(widths(finite), -1)
    different = torch.stack([part.any(-1) for part in parts], -1)
    assert_close(errors, different.double())
    assert_close(finite.hamming(other, truth), different.double().sum(-1))


def test_hamming_loss_is_linear(finite):
    rows = layer(finite)
    truth, slope = rows[5], finite.hamming_slope(rows[5])
    expected = finite.hamming(rows, truth) - finite.hamming(rows[0], truth)
    assert_close((rows - rows[0]) @ slope, expected)


def test_mixed_layers_enumerate_their_states():
    from crbm.inference.enumeration import layer_states

    found = layer_states(KINDS["mixed"], N_NUMBERS, like=torch.empty(0).double())
    assert_close(found, layer(KINDS["mixed"]))
    part = layer_states(KINDS["mixed"], N_NUMBERS, like=found, start=3, stop=7)
    assert_close(part, found[3:7])
    with pytest.raises(ValueError, match="must be 6, the numbers of all parts"):
        KINDS["mixed"].check_size("n_visible", 5)
    with pytest.raises(TypeError, match="no list for one unit"):
        KINDS["mixed"].states(found)


def test_gaussian_units_have_no_hamming_loss():
    with pytest.raises(TypeError, match="no Hamming loss"):
        KINDS["gaussian"].hamming_slope(torch.zeros(2))


def test_the_starting_field_gives_the_base_rate(kind):
    rows = kind.sample(torch.linspace(-1, 1, N_NUMBERS).expand(5000, -1), seeded(2))
    count = torch.full((N_NUMBERS,), 5000.0)
    found = kind.mean(kind.starting_field(rows.sum(0), count))
    assert_close(found, rows.mean(0), rtol=0, atol=1e-3)  # add-one smoothing


def test_wrong_values_are_refused():
    with pytest.raises(ValueError, match="must hold 0 or 1"):
        KINDS["bernoulli"].check("v", torch.tensor([[0.5]]))
    with pytest.raises(ValueError, match="one-hot group of 3 numbers per unit; row 1"):
        KINDS["categorical-3"].check("v", torch.tensor([[1.0, 0, 0], [1.0, 1, 0]]))
    half = torch.tensor([[1.0, torch.nan, 0.0]])
    with pytest.raises(ValueError, match="one-hot"):
        KINDS["categorical-3"].check("v", half, missing=True)
    with pytest.raises(ValueError, match="must be finite"):
        KINDS["gaussian"].check("v", torch.tensor([[torch.inf]]))
    with pytest.raises(ValueError, match="must be finite"):
        KINDS["gaussian"].check("v", torch.tensor([[torch.nan]]))
    with pytest.raises(ValueError, match="multiple of 3"):
        KINDS["categorical-3"].check_size("n_visible", 4)
    unknown = torch.full((2, 6), torch.nan)
    for kind in KINDS.values():
        kind.check("v", unknown, missing=True)


def test_rows_of_a_table_sum_as_single_states(kind):
    from crbm.kernels import RowLogits

    generator = seeded(4)
    by_row = torch.randn(5, N_NUMBERS, generator=generator).double()
    by_case = torch.randn(3, N_NUMBERS, generator=generator).double()
    ids = torch.tensor([[0, 1], [4, 4], [2, 0]])
    weight = torch.rand(3, 2, generator=generator).double()
    fields = by_row[ids] + by_case[:, None]
    parts = RowLogits(by_row, by_case)
    assert_close(kind.log_partition_of_rows(parts, ids), kind.log_partition(fields))
    sum_by_row, sum_by_case = kind.means_of_rows(parts, ids, weight)
    weighted = kind.mean(fields) * weight[..., None]
    assert_close(sum_by_case, weighted.sum(1))
    expected = torch.zeros_like(by_row)
    for case, place in itertools.product(range(3), range(2)):
        expected[ids[case, place]] += weighted[case, place]
    assert_close(sum_by_row, expected)
