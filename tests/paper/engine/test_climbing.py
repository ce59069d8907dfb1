"""Climbing finds what a full grid finds, and says where a grid was too small."""

from itertools import product

import pytest

from paper.engine.climbing import Axis, climb


def valley(params):
    return (params["a"] - 7) ** 2 + (params["b"] - 2) ** 2 + (params["c"] == "x")


AXES = {
    "a": Axis(range(12), 3),
    "b": Axis(range(6), 5),
    "c": Axis(["x", "y"], ordered=False),
}


def test_a_valley_is_found_with_fewer_fits_than_the_grid_has():
    found = climb(valley, AXES)
    grid = [
        dict(zip(AXES, each, strict=True))
        for each in product(*(axis.values for axis in AXES.values()))
    ]
    assert found.params == min(grid, key=valley)
    assert found.loss == 0
    assert found.n_tried < len(grid) / 4
    assert found.edges == []


@pytest.mark.parametrize(
    ("lowest", "closed", "edges"),
    [
        (0, (False, False), ["a"]),
        (0, (True, False), []),
        (4, (True, False), ["a"]),
        (4, (False, True), []),
        (2, (False, False), []),
    ],
)
def test_a_winner_at_an_open_end_is_named(lowest, closed, edges):
    axis = Axis(range(5), 2, closed=closed)
    assert climb(lambda p: abs(p["a"] - lowest), {"a": axis}).edges == edges


def test_equal_losses_do_not_move_it():
    found = climb(lambda params: 1.0, AXES)
    assert found.params == {"a": 3, "b": 5, "c": "x"}
