"""Every kind of member by its name."""

from __future__ import annotations

from crbm.estimators.auto.committee import Committee
from crbm.estimators.auto.members import Member
from crbm.estimators.auto.ridge_member import RidgeMember
from crbm.estimators.auto.svm_member import SVMMember
from crbm.estimators.auto.trees import BoostingMember, ForestMember

# In the order in which they are tried.
MEMBERS = (
    "forest",
    "ridge, kernel",
    "svm",
    "boosting",
    "hash-crbm, kernel",
    "hash-crbm, stack",
    "hash-crbm, linear",
    "logistic, linear",
)
# Members whose log-odds are the inputs of those that work on the stack.
STACKED = ("forest", "ridge, kernel", "boosting")


def make_member(name: str) -> Member:
    """An unfitted member."""
    for kind in (ForestMember, RidgeMember, SVMMember, BoostingMember):
        if name == kind.name:
            return kind()
    if name not in MEMBERS:
        raise ValueError(f"there is no member {name!r}")
    kind_of_model, _, inputs = name.partition(", ")
    return Committee(kind_of_model, inputs)
