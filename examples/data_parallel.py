"""Train one model on several processes or machines, started by torchrun:

    torchrun --nproc-per-node=2 --max-restarts=3 data_parallel.py run.safetensors

Each rank learns from its part of every batch. If one dies, torchrun restarts all of
them and they resume from the checkpoint. Without torchrun it is one process.
"""

import sys

import torch
from torch.utils.data import TensorDataset

import crbm
from crbm import objectives, training
from crbm.training import distributed


def main(checkpoint, n_epochs=20):
    """The error on new cases of a model that learns to copy its input."""
    generator = torch.Generator().manual_seed(0)
    u = (torch.rand(600, 16, generator=generator) < 0.5).float()
    data = TensorDataset(u[:500], u[:500])  # any Dataset: rows are read when needed
    model = crbm.CRBM(16, 16, 8, generator)
    with distributed.process_group() as ranks:
        training.fit(
            model,
            objectives.Perceptron(),
            data,
            n_epochs=n_epochs,
            generator=generator,
            checkpoint=training.Checkpoint(checkpoint),
            resume=True,
            ranks=ranks,
        )
        error = training.PredictionError(crbm.types.Batch(u[500:], u[500:]))(model)
        if ranks.first:
            print(f"{ranks.n_ranks} process(es), error on new cases {error:.1%}")
    return error


if __name__ == "__main__":
    main(sys.argv[1])
