"""Run the work of a peer package in an interpreter that has it; crbm is not needed.

Run as `python peer_work.py NAME PROBLEM.npz`. After a first run, which may compile, it
writes one line of JSON: the result if there is one, or the name of a missing package.
For each line read from standard input it then repeats the work and writes the seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Problem = dict[str, Any]
Work = Callable[[], Any]


def bare_products(problem: Problem) -> Work:
    """Only the float32 matrix products of the epochs, as a lower bound."""
    import torch

    torch.set_num_threads(1)
    v = torch.from_numpy(problem["images"][: int(problem["batch_size"])])
    h = torch.rand(len(v), int(problem["n_hidden"]))
    weight = torch.rand(v.shape[1], h.shape[1])
    visible, hidden, slope = map(torch.empty_like, (v, h, weight))
    n_updates = int(problem["n_epochs"]) * len(problem["images"]) // len(v)

    def products() -> None:
        for _ in range(n_updates):
            for _ in range(2):  # for the data and for the chains
                torch.mm(v, weight, out=hidden)
                torch.mm(v.T, h, out=slope)
            torch.mm(h, weight.T, out=visible)

    return products


def scikit_learn(problem: Problem) -> Work:
    """Train scikit-learn's BernoulliRBM: PCD-1."""
    from sklearn.neural_network import BernoulliRBM

    images = problem["images"]
    machine = BernoulliRBM(
        n_components=int(problem["n_hidden"]),
        batch_size=int(problem["batch_size"]),
        learning_rate=1e-3,
        n_iter=int(problem["n_epochs"]),
        random_state=0,
    )
    return lambda: machine.fit(images) and None


def rbms(problem: Problem) -> Work:
    """Train the RBM of the package rbms: PCD-1."""
    import torch
    from rbms.bernoulli_bernoulli.classes import BBRBM
    from rbms.training.pcd import fit_batch_pcd

    images, n_hidden = torch.from_numpy(problem["images"]), int(problem["n_hidden"])
    batch_size, n_visible = int(problem["batch_size"]), problem["images"].shape[1]
    machine = BBRBM(
        1e-2 * torch.randn(n_visible, n_hidden),
        torch.zeros(n_visible),
        torch.zeros(n_hidden),
    )
    optimizer = torch.optim.SGD(machine.parameters(), lr=1e-3, maximize=True)
    weights, chains = torch.ones(batch_size), machine.init_chains(batch_size)
    for parameter in machine.parameters():
        parameter.grad = torch.zeros_like(parameter)

    @torch.no_grad()
    def epochs() -> None:
        nonlocal chains
        for _ in range(int(problem["n_epochs"])):
            for rows in torch.randperm(len(images)).split(batch_size):
                batch = (images[rows], weights[: len(rows)])
                chains, _ = fit_batch_pcd(
                    batch, chains, machine, 1, 1.0, centered=False
                )
                optimizer.step()

    return epochs


def learnergy(problem: Problem) -> Work:
    """Train the RBM of the package learnergy: CD-1, as it has no PCD."""
    import logging

    import torch
    from learnergy.models.bernoulli import RBM
    from torch.utils.data import TensorDataset

    logging.disable()
    images = torch.from_numpy(problem["images"])
    data = TensorDataset(images, torch.zeros(len(images)))
    machine = RBM(images.shape[1], int(problem["n_hidden"]), learning_rate=1e-3)
    batch_size = int(problem["batch_size"])
    return lambda: machine.fit(data, batch_size, int(problem["n_epochs"])) and None


def pgmax(problem: Problem) -> Work:
    """Run PGMax's sum-product belief propagation on all cases at once."""
    import jax
    from jax import numpy as jnp
    from pgmax import fgraph, fgroup, infer, vgroup

    fields, couplings = problem["fields"], problem["couplings"]
    n_units, n_steps = fields.shape[1], int(problem["n_steps"])
    units = vgroup.NDVarArray(num_states=2, shape=(n_units,))
    graph = fgraph.FactorGraph(units)
    edges = [(i, j) for i in range(n_units) for j in range(i)]
    potentials = np.zeros((len(edges), 2, 2), dtype=np.float32)
    potentials[:, 1, 1] = [couplings[edge] for edge in edges]
    graph.add_factors(
        fgroup.PairwiseFactorGroup(
            variables_for_factors=[[units[i], units[j]] for i, j in edges],
            log_potential_matrix=potentials,
        )
    )
    inferer = infer.build_inferer(graph.bp_state, backend="bp")

    def beliefs(field: Any) -> Any:
        evidence = jnp.stack([jnp.zeros_like(field), field], -1)
        start = inferer.init(evidence_updates={units: evidence})
        end = inferer.run(start, num_iters=n_steps, damping=0.0, temperature=1.0)
        odds = inferer.get_beliefs(end)[units]
        return jax.nn.sigmoid(odds[..., 1] - odds[..., 0])

    batched = jax.jit(jax.vmap(beliefs))
    return lambda: np.asarray(batched(fields))


def edge_by_edge(problem: Problem) -> Work:
    """Belief propagation as a loop over directed edges, in NumPy."""
    fields, couplings = problem["fields"], problem["couplings"]
    n_units, n_steps = fields.shape[1], int(problem["n_steps"])
    pairs = [(i, j) for i in range(n_units) for j in range(n_units) if i != j]

    def log_odds(messages: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
        total = fields.T.copy()
        for (_, j), message in messages.items():
            total[j] += message
        return total

    def beliefs() -> np.ndarray:
        messages = {pair: np.zeros_like(fields[:, 0]) for pair in pairs}
        for _ in range(n_steps):
            total = log_odds(messages)
            messages = {
                (i, j): _message(total[i] - messages[j, i], couplings[i, j])
                for i, j in pairs
            }
        return 1 / (1 + np.exp(-log_odds(messages).T))

    return beliefs


def _message(cavity: np.ndarray, coupling: np.float32) -> np.ndarray:
    """The message along a coupling w: log (1 + e^(c+w)) - log (1 + e^c)."""
    return np.logaddexp(0, cavity + coupling) - np.logaddexp(0, cavity)


JOBS: dict[str, Callable[[Problem], Work]] = {
    "bare products": bare_products,
    "scikit-learn": scikit_learn,
    "rbms": rbms,
    "learnergy": learnergy,
    "PGMax": pgmax,
    "edge by edge": edge_by_edge,
}


def main(name: str, problem: Path) -> None:
    """Run a job once for each line of standard input."""
    replies = sys.stdout
    sys.stdout = sys.stderr  # keep the output of peers out of the replies
    with np.load(problem) as arrays:
        data = dict(arrays)
    try:
        work = JOBS[name](data)
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), file=replies, flush=True)
        return
    result = work()
    first = {"result": None if result is None else result.tolist()}
    print(json.dumps(first), file=replies, flush=True)
    for _ in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        seconds = [time.process_time() - cpu, time.perf_counter() - wall]
        print(json.dumps(seconds), file=replies, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
