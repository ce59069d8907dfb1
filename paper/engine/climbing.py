"""Choose parameters by climbing, so that the winner never lies at the edge of a grid.

The search starts in the middle of each axis and moves one step at a time. It needs far
fewer fits than a full grid, and continues for as long as a step helps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Params = dict[str, Any]


@dataclass(frozen=True)
class Axis:
    """The values of one parameter.

    Parameters
    ----------
    values
        In order if `ordered`.
    start
        Position of the first value to try.
    ordered
        Whether neighbours are similar, so that it is enough to try these. Otherwise all
        values are tried.
    closed
        Whether no value beyond the first or last one exists, as a leaf has at least one
        case. A winner there is not at the edge of the grid.
    """

    values: Sequence[Any]
    start: int = 0
    ordered: bool = True
    closed: tuple[bool, bool] = (False, False)

    def moves(self, place: int) -> list[int]:
        """The positions to try from this one."""
        if self.ordered:
            return [i for i in (place - 1, place + 1) if 0 <= i < len(self.values)]
        return [i for i in range(len(self.values)) if i != place]

    def at_edge(self, place: int) -> bool:
        """Whether a better value may lie beyond this one."""
        first, last = self.closed
        is_first, is_last = place == 0, place == len(self.values) - 1
        return self.ordered and ((is_first and not first) or (is_last and not last))


class Found(NamedTuple):
    """The best parameters, their loss, how many were tried, and axes at their edge."""

    params: Params
    loss: float
    n_tried: int
    edges: list[str]


def climb(loss: Callable[[Params], Any], axes: Mapping[str, Axis]) -> Found:
    """The parameters from which no step along one axis lowers the loss.

    Examples
    --------
    >>> axes = {"a": Axis(range(9), 4), "b": Axis("xyz", ordered=False)}
    >>> climb(lambda p: (p["a"] - 6) ** 2 + (p["b"] != "z"), axes).params
    {'a': 6, 'b': 'z'}
    """
    losses: dict[tuple[int, ...], float] = {}

    def params(places: Sequence[int]) -> Params:
        pairs = zip(axes.items(), places, strict=True)
        return {name: axis.values[i] for (name, axis), i in pairs}

    def loss_at(places: Sequence[int]) -> float:
        key = tuple(places)
        if key not in losses:
            losses[key] = float(loss(params(places)))
        return losses[key]

    places = [axis.start for axis in axes.values()]
    moved = True
    while moved:
        moved = False
        for number, axis in enumerate(axes.values()):
            while True:
                tries = [
                    [*places[:number], i, *places[number + 1 :]]
                    for i in axis.moves(places[number])
                ]
                best = min(tries, key=loss_at, default=places)
                if loss_at(best) >= loss_at(places):
                    break
                places, moved = best, True
    pairs = zip(axes.items(), places, strict=True)
    edges = [name for (name, axis), i in pairs if axis.at_edge(i)]
    return Found(params(places), loss_at(places), len(losses), edges)
