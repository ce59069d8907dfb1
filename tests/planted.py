"""Planted problems: data drawn from a known law, so that learning can be judged."""

from __future__ import annotations

import torch

import crbm
from crbm.inference import exact


def copied_patterns(n_cases, seed=0, n_labels=6):
    """Two-bit inputs choose one of four output patterns; outputs move together.

    With a wrong bit now and then, so that no model gets everything right.
    """
    generator = torch.Generator().manual_seed(seed)
    patterns = torch.tensor(
        [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]]
    )[:, :n_labels]
    choice = torch.randint(4, (n_cases,), generator=generator)
    u = torch.nn.functional.one_hot(choice, 4).float()
    u += 0.3 * torch.randn(u.shape, generator=generator)
    flips = torch.rand(n_cases, n_labels, generator=generator) < 0.05
    return crbm.types.Batch(u, (patterns[choice].bool() ^ flips).float())


def exact_loss(model, data):
    """The mean of -log p(v | u), enumerated."""
    energy = model.condition(data.u).expand(data.n_cases)
    return -exact.log_probability(energy, data.v).mean().item()
