"""The hybrid model of digits against enumeration."""

import itertools

import pytest
import torch
from torch.testing import assert_close

from conftest import seeded
from crbm.inference import exact
from crbm.models import CRBM
from crbm.types import Batch
from crbm.units import Categorical
from paper.tables import hybrid

N_INPUTS, N_CLASSES, N_HIDDEN = 3, 2, 2
ALL_U = torch.tensor(list(itertools.product((0.0, 1.0), repeat=N_INPUTS))).double()


@pytest.fixture
def model():
    crbm = CRBM(
        N_INPUTS,
        N_CLASSES,
        N_HIDDEN,
        seeded(0),
        visible=Categorical(N_CLASSES),
        connect_uv=False,
        init_scale=1.0,
        dtype=torch.float64,
    )
    with torch.no_grad():
        crbm.weight_uh.mul_(100)
        crbm.bias_h.copy_(torch.tensor([0.4, -0.3]))
        crbm.bias_v.copy_(torch.tensor([0.2, -0.5]))
    found = hybrid.HybridModel(crbm)
    with torch.no_grad():
        found.bias_u.copy_(torch.tensor([0.3, -0.1, 0.6]))
    return found


def log_weight(model, u, y, h):
    """-E(u, y, h) by a loop."""
    crbm = model.crbm
    total = model.bias_u @ u + crbm.bias_v[y] + crbm.bias_h @ h
    return total + u @ crbm.weight_uh @ h + crbm.weight_vh[y] @ h


def test_scores_and_joint_sum_over_the_hidden_units(model):
    hidden = torch.tensor(list(itertools.product((0.0, 1.0), repeat=2))).double()
    for u in ALL_U:
        sums = [
            torch.stack([log_weight(model, u, y, h) for h in hidden]).logsumexp(0)
            for y in range(N_CLASSES)
        ]
        found = model.log_joint(u.expand(2, -1), torch.arange(2))
        assert_close(found, torch.stack(sums))
        p = torch.stack(sums).softmax(0)
        assert_close(model.scores(u[None]).softmax(1)[0], p)
        assert_close(exact.marginals(model.crbm.condition(u[None])).v[0], p)


def test_a_step_leaves_the_joint_as_it_is(model):
    n_draws = 40_000
    pairs = [(u, y) for u in ALL_U for y in range(N_CLASSES)]
    logs = torch.stack(
        [model.log_joint(u[None], torch.tensor([y]))[0] for u, y in pairs]
    )
    p = logs.softmax(0).detach()
    start = torch.multinomial(p, n_draws, replacement=True, generator=seeded(1))
    u, y = model.step(ALL_U[start // 2], start % 2, seeded(2))
    after = (u @ torch.tensor([8.0, 4.0, 2.0]).double()).long() + y
    counts = after.bincount(minlength=len(pairs)).double()
    # 15 degrees of freedom: beyond 37.7 with p = 0.001
    assert ((counts - n_draws * p).square() / (n_draws * p)).sum() < 37.7


def test_the_loss_is_the_mean_of_both_and_is_lowered(model):
    u, y = ALL_U[[1, 6]], torch.tensor([0, 1])
    negative = model.step(u, y, seeded(3))
    gap = (model.log_joint(u, y) - model.log_joint(*negative)).mean()
    log_p = model.scores(u).log_softmax(1)[[0, 1], y].mean()
    assert_close(model.loss(u, y, 0.3, seeded(3)), -log_p - 0.3 * gap)
    cases = Batch(u, torch.eye(2).double()[y])
    losses = hybrid.train(
        model.crbm,
        cases,
        weight=0.01,
        n_epochs=30,
        batch_size=2,
        learning_rate=0.05,
        generator=seeded(4),
    )
    assert losses[-1] < losses[0] / 2
