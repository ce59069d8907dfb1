"""Annotations are checked in the first calls of each function in each test."""

from pathlib import Path

import pytest
from jaxtyping import TypeCheckError

import crbm
import type_checks
from crbm import paths
from crbm.energies import Dense


def test_first_calls_are_checked_in_every_test():
    with pytest.raises(TypeCheckError):
        paths.follow("a text")
    for _ in range(2 * type_checks.N_CALLS):
        paths.follow(Path("a"))
    with pytest.raises(AttributeError):  # of a call that is not checked
        paths.follow("a text")
    type_checks.start_again()
    with pytest.raises(TypeCheckError):
        paths.follow("a text")


@pytest.mark.parametrize(
    "call",
    [
        lambda: Dense("a text"),
        lambda: crbm.units.Categorical(n_values="3"),
        lambda: crbm.CRBM("4", 6, 8),
    ],
    ids=["dataclass", "class of units", "method"],
)
def test_classes_and_methods_are_checked(call):
    with pytest.raises(TypeCheckError):
        call()
