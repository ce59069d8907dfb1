"""Your own model: define its free energy, and train it by two objectives."""

import torch

import crbm
from crbm import objectives, training
from crbm.inference import exact, search
from crbm.types import Batch


class ThirdOrder(crbm.EnergyModel):
    """Outputs that interact in threes."""

    def __init__(self, n_inputs, n_visible):
        super().__init__()
        self.n_visible = n_visible
        self.weight_uv = torch.nn.Parameter(torch.zeros(n_inputs, n_visible))
        self.weight_vvv = torch.nn.Parameter(torch.zeros([n_visible] * 3))

    def free_energy(self, v, u):
        triples = torch.einsum("bi,bj,bk,ijk->b", v, v, v, self.weight_vvv)
        return -(v * (u @ self.weight_uv)).sum(-1) - triples


def main(n_epochs=200):
    """The error of each objective: output 3 is the product of the two inputs."""
    u = torch.cartesian_prod(torch.tensor([-1.0, 1.0]), torch.tensor([-1.0, 1.0]))
    v = torch.cat([u, u.prod(-1, keepdim=True)], 1).clamp(min=0)
    data, errors = Batch(u, v, exact.all_states(3)), {}
    for objective in (objectives.Perceptron(), objectives.CandidateLikelihood()):
        model, seed = ThirdOrder(2, 3), torch.Generator().manual_seed(0)
        training.fit(model, objective, data, n_epochs=n_epochs, generator=seed)
        found = search.gibbs(model.condition(u), n_steps=50, generator=seed)
        errors[type(objective).__name__] = (found.v != v).float().mean().item()
    return errors


if __name__ == "__main__":
    print(main())
