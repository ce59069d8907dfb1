"""Section 5 of the paper as code: a small CD loss does not mean good predictions.

One input bit selects which of two 64-pixel pictures is the output; a model must pass
the bit through its hidden units. Contrastive divergence starts its chain at the answer,
so the hidden units learn to preserve the answer and ignore the input: its loss goes to
zero while predictions stay at chance. CD-PercLoss starts from the input.
"""

import torch

import crbm
from crbm import objectives, training
from crbm.types import Batch

OBJECTIVES = {
    "CD-1": objectives.ContrastiveDivergence(n_steps=1),
    "CD-10": objectives.ContrastiveDivergence(n_steps=10),
    "CD-PercLoss": objectives.Perceptron(n_steps=10),
}


def problem(n_cases, generator):
    """Inputs of -1 or 1, and the picture that each selects."""
    pictures = torch.rand(2, 64, generator=torch.Generator().manual_seed(99)) < 0.5
    choice = torch.randint(2, (n_cases,), generator=generator)
    return Batch(2.0 * choice[:, None] - 1, pictures[choice].float())


def main(n_epochs=100, seed=0):
    """Loss and held-out error of each objective after training on the same data."""
    generator = torch.Generator().manual_seed(seed)
    train, test = problem(512, generator), problem(512, generator)
    results = {}
    for name, objective in OBJECTIVES.items():
        model = crbm.CRBM(1, 64, 16, generator, connect_uv=False)
        history = training.fit(
            model,
            objective,
            train,
            n_epochs=n_epochs,
            batch_size=32,
            generator=generator,
        )
        results[name] = history.loss, training.PredictionError(test)(model)
    return results


if __name__ == "__main__":
    print(f"{'':<12} {'loss, largest':>14} {'loss, last':>11} {'error, test':>12}")
    for name, (loss, error) in main().items():
        largest = max(loss, key=abs)
        print(f"{name:<12} {largest:>14.3f} {loss[-1]:>11.3f} {error:>12.1%}")
