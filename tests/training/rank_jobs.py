"""What test_distributed runs: `torchrun rank_jobs.py JOB FOLDER`, or in one process."""

import atexit
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from torch.utils.data import DataLoader, TensorDataset

import crbm
from crbm import training
from crbm.objectives import CandidateLikelihood, ExactLikelihood, Perceptron
from crbm.training import Checkpoint, distributed, one_machine
from crbm.training.gradient_sum import GradientSum
from crbm.types import Batch

N_EPOCHS = 4


def problem():
    """Outputs that follow from inputs; 11 cases leave a last batch of one."""
    generator = torch.Generator().manual_seed(5)
    u = torch.randn(11, 3, generator=generator)
    weight = torch.rand(11, generator=generator) + 0.5
    return Batch(u, (u > 0).float(), weight=weight)


def trained(ranks, objective, data, *, seed=0, **options):
    """The weights and the losses of a run that all ranks begin differently."""
    model = crbm.CRBM(3, 3, 4, torch.Generator().manual_seed(10 + ranks.rank))
    history = training.fit(
        model,
        objective,
        data,
        n_epochs=N_EPOCHS,
        batch_size=5,
        generator=torch.Generator().manual_seed(seed + ranks.rank),
        ranks=ranks,
        **options,
    )
    weights = {name: w.detach() for name, w in model.named_parameters()}
    return weights, history.loss


def first_says(ranks, *errors):
    """A validation that only the first rank is asked for, with these answers."""
    left = list(errors)

    def validation(model):
        assert ranks.first
        return float(left.pop(0))

    return validation


class Noted:
    """A rule that remembers the random bits it was given."""

    def __init__(self):
        self.bits = []

    def __call__(self, energy, batch, generator=None):
        self.bits.append(int(torch.randint(2**40, (), generator=generator)))
        return ExactLikelihood()(energy, batch, generator)


def agree(ranks, folder):
    """Every kind of run, for comparison with a single process."""
    data, rule = problem(), ExactLikelihood()
    u, v, plain = data.u, data.v, problem()._replace(weight=None)
    table = plain._replace(candidates=v.unique(dim=0))
    noted = Noted()
    trained(ranks, noted, plain)
    found = {
        "plain": trained(ranks, rule, plain),
        "messages": trained(replace(ranks, machine=None), rule, plain),
        "weighted": trained(ranks, rule, data),
        "candidates": trained(ranks, CandidateLikelihood(), table),
        "l2 and Adam": trained(
            ranks, rule, plain, l2=0.1, learning_rate=0.01, optimizer=torch.optim.Adam
        ),
        "early": trained(
            ranks, rule, plain, validation=lambda model: float(ranks.rank), patience=1
        ),
        "best": trained(ranks, rule, plain, validation=first_says(ranks, 3, 1, 2, 2)),
        "data set": trained(ranks, rule, TensorDataset(u, v)),
        "loader": trained(
            ranks, rule, DataLoader(TensorDataset(u, v), 5, shuffle=True)
        ),
        "sampled": trained(ranks, Perceptron(), plain, validation=lambda model: 0.0),
        "bits": noted.bits,
    }
    torch.save(found, folder / f"{ranks.n_ranks}-{ranks.rank}.pt")


class Fatal:
    """A rule that ends the second rank's process in the third epoch, once."""

    def __init__(self, ranks, mark):
        self.ranks, self.mark, self.n_calls = ranks, mark, 0

    def __call__(self, energy, batch, generator=None):
        self.n_calls += 1
        if self.ranks.rank == 1 and self.n_calls == 8 and not self.mark.exists():
            self.mark.touch()
            os._exit(1)
        return Perceptron()(energy, batch, generator)


def die_once(ranks, folder):
    """A run that is killed in its third epoch and resumes when started again."""
    finished = folder / "finished"

    def validation(model):
        with finished.open("a") as file:
            file.write("x")
        return 0.0

    found = trained(
        ranks,
        Fatal(ranks, folder / "died"),
        problem()._replace(weight=None),
        validation=validation,
        checkpoint=Checkpoint(folder / "run.safetensors", every_seconds=0),
        resume=True,
    )
    torch.save(found, folder / f"{ranks.n_ranks}-{ranks.rank}.pt")


def sum_often(ranks, folder):
    """Sums of known gradients through shared memory, without room for it, and beside.

    The second rank is slow to read, so that the first fills its next slot before.
    """
    one_machine.MEMORY = folder / "memory"
    one_machine.MEMORY.mkdir(exist_ok=True)
    sum_numbers, posix_fallocate = ranks.machine.sum, os.posix_fallocate

    def slow(numbers):
        sum_numbers(numbers)
        time.sleep(0.02 * ranks.rank)

    def no_room(*arguments):
        raise OSError("No space left on device")

    found = {}
    for name in ("shared", "two kinds", "full", "messages"):
        os.posix_fallocate = no_room if name == "full" else posix_fallocate
        ranks.machine.sum = slow
        weights = [torch.zeros(2, 3), torch.zeros(4)]
        weights += [torch.zeros(2).double()] if name == "two kinds" else []
        machine = None if name == "messages" else ranks.machine
        sum_gradients = GradientSum(map(torch.nn.Parameter, weights), machine)
        blocks = sum_gradients.blocks
        sums = []
        for turn in range(5):
            for place, block in enumerate(blocks):
                block.gradients.fill_(100 * turn + 10 * place + ranks.rank)
            sum_gradients()
            sums.append([block.gradients.clone() for block in blocks])
        found[name] = [block.slots is not None for block in blocks], sums
    torch.save(found, folder / f"{ranks.n_ranks}-{ranks.rank}.pt")


def join_in_vain(ranks, folder):
    """Ranks of which one is out of reach, or the first cannot listen, use messages."""
    found = []
    connect, listen = one_machine._connect, one_machine._listen
    for name in ("_connect", "_listen"):
        one_machine._connect, one_machine._listen = connect, listen
        if ranks.rank == (name == "_connect"):
            setattr(one_machine, name, lambda argument: [])
        alone = replace(ranks, machine=one_machine.join())
        numbers = torch.tensor([1.0, ranks.rank])
        alone.sum(numbers)
        found.append((alone.machine is None, numbers))
    torch.save(found, folder / f"{ranks.n_ranks}-{ranks.rank}.pt")


JOBS = {job.__name__: job for job in (agree, die_once, sum_often, join_in_vain)}


def note_threads(folder):
    """Write the names of this process's threads to a file."""
    names = [
        file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")
    ]
    Path(folder, f"threads-{os.environ['RANK']}").write_text("\n".join(names))


if __name__ == "__main__":
    torch.set_num_threads(1)
    atexit.register(note_threads, sys.argv[2])  # after the ranks have been left
    with distributed.process_group() as joined_ranks:
        JOBS[sys.argv[1]](joined_ranks, Path(sys.argv[2]))
