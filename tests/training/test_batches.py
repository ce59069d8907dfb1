"""Data sets and loaders in place of cases in memory."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

import crbm
from conftest import seeded
from crbm import training
from crbm.objectives import ContrastiveDivergence, ExactLikelihood
from crbm.training.batches import InMemory, Shard, source, stack
from crbm.types import Batch

N_CASES = 11


def cases():
    """Outputs that follow from inputs."""
    u = torch.randn(N_CASES, 3, generator=seeded(1))
    return Batch(u, (u[:, :2] > 0).float())


def fitted(data, objective=None, **options):
    """The weights and losses of a seeded run."""
    model = crbm.CRBM(3, 2, 4, seeded(2))
    history = training.fit(
        model,
        objective or ContrastiveDivergence(),
        data,
        n_epochs=3,
        batch_size=4,
        generator=seeded(3),
        **options,
    )
    return dict(model.named_parameters()), history.loss


class Items(Dataset):
    """A map-style data set that gives what it is told to."""

    def __init__(self, make):
        self.make = make

    def __len__(self):
        return N_CASES

    def __getitem__(self, place):
        return self.make(place)


class Mapped(Dataset):
    """Files on disk, read many rows at a time."""

    def __init__(self, folder):
        self.u = np.load(folder / "u.npy", mmap_mode="r")
        self.v = np.load(folder / "v.npy", mmap_mode="r")

    def __len__(self):
        return len(self.v)

    def __getitem__(self, place):
        raise AssertionError("rows are to be read together")

    def __getitems__(self, places):
        return list(zip(self.u[places], self.v[places], strict=True))


class InOrder(IterableDataset):
    """A stream that can be read again."""

    def __iter__(self):
        return zip(*cases()[:2], strict=True)


def test_a_data_set_gives_the_run_of_its_cases_in_memory():
    data = cases()
    expected = fitted(data)
    assert_close(fitted(TensorDataset(data.u, data.v)), expected, rtol=0, atol=0)
    pairs = Items(lambda place: (data.u[place].numpy(), data.v[place].numpy()))
    assert_close(fitted(pairs), expected, rtol=0, atol=0)


def test_files_are_read_many_rows_at_a_time_and_converted(tmp_path):
    data = cases()
    np.save(tmp_path / "u.npy", data.u.double().numpy())
    np.save(tmp_path / "v.npy", data.v.numpy().astype(np.uint8))
    assert_close(fitted(Mapped(tmp_path)), fitted(data), rtol=0, atol=0)


def test_items_may_carry_weights():
    weight = torch.rand(N_CASES, generator=seeded(4))
    data = cases()._replace(weight=weight)
    items = Items(
        lambda place: Batch(data.u[place], data.v[place], weight=weight[place])
    )
    assert_close(fitted(items), fitted(data), rtol=0, atol=0)


def test_a_stream_is_read_in_its_own_order():
    """The same as a loader that does not shuffle, and as batches taken by hand."""
    data, rule = cases(), ExactLikelihood()
    streamed = fitted(InOrder(), rule)
    loader = DataLoader(TensorDataset(data.u, data.v), batch_size=4)
    assert_close(fitted(loader, rule), streamed, rtol=0, atol=0)
    model = crbm.CRBM(3, 2, 4, seeded(2))
    for start in [0, 4, 8] * 3:
        batch = data.select(slice(start, start + 4))
        slopes = model.gradients(batch.u, rule(model.condition(batch.u), batch))
        for name, weight in model.named_parameters():
            weight.data -= 2**-2 / batch.n_cases * slopes[name]
    assert_close(streamed[0], dict(model.named_parameters()))


def test_a_shuffling_loader_repeats_by_the_seed_and_leaves_the_global_state():
    data = cases()
    loader = DataLoader(TensorDataset(data.u, data.v), batch_size=4, shuffle=True)
    before = torch.get_rng_state()
    first = fitted(loader)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(5)
    assert_close(fitted(loader), first, rtol=0, atol=0)
    assert first[1] != fitted(data)[1]


def test_a_loader_may_give_whole_batches_with_candidates():
    data = cases()._replace(candidates=cases().v.unique(dim=0))

    def collate(items):
        return stack(items)._replace(candidates=data.candidates)

    pairs = TensorDataset(data.u, data.v)
    loader = DataLoader(pairs, batch_size=N_CASES, collate_fn=collate)
    rule = crbm.objectives.CandidateLikelihood()
    ours, expected = (fitted_whole(each, rule) for each in (loader, data))
    assert_close(ours, expected, rtol=1e-5, atol=1e-6)  # summed in another order


def fitted_whole(data, rule):
    """The weights after one step on all cases."""
    model = crbm.CRBM(3, 2, 4, seeded(2))
    training.fit(model, rule, data, n_epochs=1, batch_size=N_CASES, generator=seeded(3))
    return dict(model.named_parameters())


def test_a_model_without_inputs_learns_from_a_data_set():
    data = Batch(None, cases().v)
    items = Items(lambda place: (None, data.v[place]))
    weights = []
    for each in (items, data):
        model = crbm.RBM(2, 3, seeded(2))
        training.fit(model, ExactLikelihood(), each, n_epochs=2, generator=seeded(3))
        weights.append(dict(model.named_parameters()))
    assert_close(weights[0], weights[1], rtol=0, atol=0)


def test_cases_are_checked_as_they_are_read():
    bad = Items(lambda place: (torch.zeros(3), torch.full((2,), float(place))))
    with pytest.raises(ValueError, match="`v` must hold 0, 1 or NaN"):
        fitted(bad)
    wide = Items(lambda place: (torch.zeros(5), torch.zeros(2)))
    with pytest.raises(ValueError, match="`u` must have 3 columns"):
        fitted(wide)


def test_a_stream_that_has_run_dry_is_refused():
    once = iter(InOrder())

    class Once(IterableDataset):
        def __iter__(self):
            return once

    with pytest.raises(ValueError, match="can be read again"):
        fitted(Once())


def test_other_kinds_of_data_are_refused():
    with pytest.raises(TypeError, match=r"must be a Batch, or a Dataset.*got dict"):
        source.__wrapped__(crbm.CRBM(3, 2, 4), {"u": 1})


@pytest.mark.parametrize("n_cases", [1, 2, 5])
def test_parts_share_a_batch_out_without_loss(n_cases):
    data = cases().select(slice(0, n_cases))
    parts = [
        next(InMemory(data).batches(n_cases, seeded(0), Shard(rank, 3)))
        for rank in range(3)
    ]
    counted = [part for part in parts if part.weight is None]
    lent = [part for part in parts if part.weight is not None]
    rows = torch.cat([part.u for part in counted])
    assert_close(rows.sort(0).values, data.u.sort(0).values, rtol=0, atol=0)
    assert all(part.n_cases == 1 and part.weight.item() == 0 for part in lent)
    assert len(counted) == min(n_cases, 3)
