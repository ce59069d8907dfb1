"""Classes by a CRBM that is also a model of the inputs, a hybrid RBM.

Larochelle and Bengio (ICML 2008): the gradient of log p(class | input), which is exact,
plus a small multiple of that of log p(input, class), by one step of contrastive
divergence. The second acts as a regulariser of the weights that both share.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy, softplus

from crbm import sampling
from crbm.models import CRBM
from crbm.types import Batch


class HybridModel(torch.nn.Module):
    """The energies of a CRBM over classes and of its inputs' biases.

    E(u, y, h) = - b u - d_y - h (c + W u + U_y), with the weights of the CRBM.

    Parameters
    ----------
    crbm
        A CRBM over one column of classes, without weights from inputs to classes.
    """

    def __init__(self, crbm: CRBM) -> None:
        super().__init__()
        if crbm.weight_uh is None or crbm.weight_uv is not None:
            raise ValueError(
                "A hybrid model has weights from u to h, none from u to v."
            )
        self.crbm, self.weight_uh = crbm, crbm.weight_uh
        self.bias_u = torch.nn.Parameter(torch.zeros_like(crbm.weight_uh[:, 0]))

    def scores(
        self, u: Float[Tensor, "cases inputs"]
    ) -> Float[Tensor, "cases classes"]:
        """Log p(y | u) up to a constant per case."""
        field = u @ self.weight_uh + self.crbm.bias_h
        return self.crbm.bias_v + softplus(field[:, None] + self.crbm.weight_vh).sum(2)

    def log_joint(
        self, u: Float[Tensor, "cases inputs"], y: Int[Tensor, " cases"]
    ) -> Float[Tensor, " cases"]:
        """Log p(u, y) up to one constant: minus the free energy."""
        field = u @ self.weight_uh + self.crbm.bias_h + self.crbm.weight_vh[y]
        return u @ self.bias_u + self.crbm.bias_v[y] + softplus(field).sum(1)

    @torch.no_grad()
    def step(
        self,
        u: Float[Tensor, "cases inputs"],
        y: Int[Tensor, " cases"],
        generator: Generator,
    ) -> tuple[Tensor, Tensor]:
        """Inputs and classes after one Gibbs step."""
        field = u @ self.weight_uh + self.crbm.bias_h + self.crbm.weight_vh[y]
        h = sampling.bernoulli(field.sigmoid(), generator)
        drawn = sampling.bernoulli(
            (h @ self.weight_uh.T + self.bias_u).sigmoid(), generator
        )
        p = (h @ self.crbm.weight_vh.T + self.crbm.bias_v).softmax(1)
        return drawn, torch.multinomial(p, 1, generator=generator).squeeze(1)

    def loss(
        self,
        u: Float[Tensor, "cases inputs"],
        y: Int[Tensor, " cases"],
        weight: float,
        generator: Generator,
    ) -> Tensor:
        """What training lowers; `weight` is that of the joint distribution."""
        negative = self.step(u, y, generator)
        gap = (self.log_joint(u, y) - self.log_joint(*negative)).mean()
        return cross_entropy(self.scores(u), y) - weight * gap


def train(
    model: CRBM,
    cases: Batch,
    *,
    weight: float,
    n_epochs: int,
    batch_size: int,
    learning_rate: float,
    generator: Generator,
) -> list[float]:
    """Train a CRBM in place by Adam, its rate falling to 0; the loss of each epoch."""
    assert cases.u is not None
    hybrid, u, y = HybridModel(model), cases.u, cases.v.argmax(1)
    optimizer = torch.optim.Adam(hybrid.parameters(), lr=learning_rate)
    n_updates = n_epochs * -(-len(y) // batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_updates)
    losses = []
    for _ in range(n_epochs):
        total = 0.0
        for rows in torch.randperm(len(y), generator=generator).split(batch_size):
            optimizer.zero_grad()
            loss = hybrid.loss(u[rows], y[rows], weight, generator)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(rows)
        losses.append(total / len(y))
    return losses
