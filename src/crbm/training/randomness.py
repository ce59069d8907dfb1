"""The two sources of randomness of a run, from one seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Generator


class Randomness(NamedTuple):
    """Generators for the order of the cases and for the samples of an objective.

    The order is drawn on the CPU and samples on the model's device. On the CPU both
    are one generator.

    Parameters
    ----------
    order
        Draws the order of the cases; None is torch's own generator.
    noise
        Draws samples, on the device of the model.
    """

    order: Generator | None
    noise: Generator | None

    @classmethod
    def on(cls, device: torch.device, generator: Generator | None) -> Randomness:
        """Both sources for a model on `device`, seeded by one CPU generator."""
        if device.type == "cpu":
            return cls(generator, generator)
        source = torch.default_generator if generator is None else generator
        noise = Generator(device).manual_seed(derived_seed(source, stream=1))
        return cls(generator, noise)

    @property
    def generators(self) -> dict[str, Generator]:
        """The distinct generators by the name under which checkpoints keep them."""
        order = torch.default_generator if self.order is None else self.order
        if self.noise is None or self.noise is self.order:
            return {"now": order}
        return {"now": order, "noise": self.noise}

    def state(self) -> dict[str, Any]:
        """The states of the generators."""
        return {name: g.get_state() for name, g in self.generators.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from stored states."""
        for name, generator in self.generators.items():
            generator.set_state(state[name])


GLOBAL = Randomness(None, None)  # torch's own generators


def derived_seed(generator: Generator, stream: int = 0) -> int:
    """A seed that follows from the generator's state, without drawing from it."""
    twin = generator.clone_state()
    words = torch.randint(2**62, (stream + 1,), generator=twin, device=generator.device)
    return int(words[stream])


@contextmanager
def seeding(
    generator: Generator | None, stream: int = 0, offset: int = 0
) -> Iterator[None]:
    """Seed torch's global generators from `generator` inside this context.

    Samplers, data sets and dropout draw from the global generators, those of the CPU
    and of the device of `generator`. Their states are restored afterwards. Without a
    generator nothing is seeded.

    Parameters
    ----------
    generator
        Its state decides the seed; it draws nothing.
    stream, offset
        Different numbers give different seeds for the same state.
    """
    if generator is None:
        yield
        return
    seed = derived_seed(generator, stream) + offset
    states = [(each, each.get_state()) for each in _global_generators(generator.device)]
    try:
        for each, _ in states:
            each.manual_seed(seed)
        yield
    finally:
        for each, state in states:
            each.set_state(state)


def _global_generators(device: torch.device) -> list[Generator]:
    if device.type != "cuda":
        return [torch.default_generator]
    place = torch.cuda.current_device() if device.index is None else device.index
    return [torch.default_generator, torch.cuda.default_generators[place]]
