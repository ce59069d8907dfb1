"""Runs to be broken off and resumed, each of which must end as if nothing happened."""

from __future__ import annotations

import gc
import json
import os
import tracemalloc
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.utils.data import DataLoader, TensorDataset

import crbm
from crbm import objectives, sampling, training
from planted import copied_patterns


def seeded(seed=0):
    """A generator of its own for each use."""
    return torch.Generator().manual_seed(seed)


def noisy(batch, generator):
    """The batch with inputs dropped at random: randomness within an epoch."""
    kept = sampling.bernoulli(torch.full_like(batch.u, 0.8), generator)
    return batch._replace(u=batch.u * kept)


def plain():
    """Plain SGD, without validation."""
    return {
        "model": crbm.CRBM(4, 6, 8, seeded(1)),
        "objective": objectives.Perceptron(),
    }


def adam():
    """Adam, with validation, patience and noise."""
    return plain() | {
        "objective": objectives.Perceptron(n_steps=2),
        "optimizer": torch.optim.Adam,
        "learning_rate": 0.01,
        "validation": copied_patterns(32, seed=1),
        "patience": 20,
        "augment": noisy,
        "l2": 1e-4,
    }


def momentum():
    """An optimiser already built, and weights of the cases."""
    options = plain()
    options["optimizer"] = torch.optim.SGD(
        options["model"].parameters(), lr=0.01, momentum=0.9
    )
    weight = torch.rand(64, generator=seeded(2))
    return options | {"data": copied_patterns(64)._replace(weight=weight)}


def persistent():
    """Chains that live on from update to update, so coupled that they do not forget."""
    model = crbm.RBM(6, 8, seeded(1))
    torch.nn.init.normal_(model.weight_vh, std=3.0, generator=seeded(2))
    return {
        "model": model,
        "objective": objectives.PersistentContrastiveDivergence(),
        "data": copied_patterns(64)._replace(u=None),
    }


def data_set():
    """Cases read one by one from a data set of torch."""
    cases = copied_patterns(64)
    return plain() | {"data": TensorDataset(cases.u, cases.v)}


def loader():
    """Batches of a shuffling loader."""
    cases = copied_patterns(64)
    shuffling = DataLoader(TensorDataset(cases.u, cases.v), 16, shuffle=True)
    return plain() | {"data": shuffling}


def dropout():
    """A network that draws from torch's global generator, as does the loader."""
    network = torch.nn.Sequential(torch.nn.Dropout(0.3), torch.nn.Linear(4, 6 + 8))
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.1, generator=seeded(3))
    return loader() | {
        "model": crbm.NetworkCRBM(network, 6, 8, seeded(1)),
        "objective": objectives.ExactLikelihood(),
    }


RUNS = {
    "plain": plain,
    "adam": adam,
    "momentum": momentum,
    "persistent": persistent,
    "data set": data_set,
    "loader": loader,
    "dropout": dropout,
}


def run(name, **options):
    """Train as one of the runs says; the model and its history."""
    options = {
        "data": copied_patterns(64),
        "n_epochs": 4,
        "batch_size": 16,
        "learning_rate": 0.1,
        "generator": seeded(),
        **RUNS[name](),
        **options,
    }
    model, objective = options.pop("model"), options.pop("objective")
    return model, training.fit(model, objective, options.pop("data"), **options)


def run_kept(name, folder, n_epochs):
    """The same with a checkpoint after every update, the result written to a file."""
    torch.set_num_threads(1)
    kept = training.Checkpoint(Path(folder, "kept.safetensors"), every_seconds=0)
    model, history = run(name, n_epochs=n_epochs, checkpoint=kept, resume=True)
    save_file(outcome(model, history), Path(folder, "end.safetensors"))


def memory_of_a_thousand_epochs(folder):
    """Write down what Python and the process hold after 200 and after 1000 epochs."""
    measured = []

    def measure(place, epoch):
        if place in (199, 999):
            gc.collect()
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            traced = tracemalloc.get_traced_memory()[0]
            measured.append(
                {"python": traced, "resident": pages * os.sysconf("SC_PAGE_SIZE")}
            )

    tracemalloc.start()
    training.fit(
        crbm.CRBM(4, 6, 800, seeded()),
        objectives.ContrastiveDivergence(),
        copied_patterns(16),
        n_epochs=1000,
        batch_size=16,
        learning_rate=1e-3,
        generator=seeded(),
        validation=lambda model: float(model.bias_v.detach().sum()),
        callback=measure,
        checkpoint=training.Checkpoint(folder / "kept.safetensors", every_epochs=50),
    )
    Path(folder, "measured.json").write_text(json.dumps(measured))


def outcome(model, history):
    """All numbers that a run ends with, but for the time it took."""
    numbers = [history.loss, [v for v in history.validation if v is not None]]
    told = {"loss": numbers[0], "validation": numbers[1], "best": [history.best_epoch]}
    tensors = {
        name: torch.tensor([float(-1 if x is None else x) for x in values]).double()
        for name, values in told.items()
    }
    return {**{n: w.detach() for n, w in model.state_dict().items()}, **tensors}


def assert_same(found, expected):
    """Refuse any difference, in any bit."""
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


class PowerCutError(Exception):
    """What ends a run in these tests."""


class Cut:
    """Changes batches as the run itself does, and ends it after some of them."""

    def __init__(self, name, n_updates):
        self.change = RUNS[name]().get("augment")
        self.left = n_updates

    def __call__(self, batch, generator):
        if self.left == 0:
            raise PowerCutError
        self.left -= 1
        return batch if self.change is None else self.change(batch, generator)


def cut_short(name, checkpoint, n_updates, **options):
    """Start a run that ends after some updates."""
    options = {"checkpoint": checkpoint, "augment": Cut(name, n_updates)} | options
    with pytest.raises(PowerCutError):
        run(name, **options)


def resume(name, checkpoint, **options):
    """Go on with a run that was cut short."""
    options = {"checkpoint": checkpoint, "augment": Cut(name, -1)} | options
    return run(name, resume=True, **options)
