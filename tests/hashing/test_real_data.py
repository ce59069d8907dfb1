"""Candidate sets of a data set with almost as many outputs as cases."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from crbm.hashing import CandidateSets

FOLDER = os.environ.get("CRBM_DATA")
FILE = Path(FOLDER or "") / "mulan" / "delicious" / "delicious.npz"

pytestmark = [
    pytest.mark.paper,
    pytest.mark.skipif(not FILE.is_file(), reason="no Delicious below $CRBM_DATA"),
]


@pytest.fixture(scope="module")
def delicious():
    with np.load(FILE) as file:
        return file["X"], file["Y"]


@pytest.fixture(scope="module")
def sets(delicious):
    return CandidateSets(n_bits=9, radius=1).fit(*delicious)


def test_the_distinct_outputs_are_all_found(delicious, sets):
    Y = delicious[1]
    assert len(sets.table_) == len({row.tobytes() for row in Y}) == 15_806
    assert_array_equal(sets.table_[sets.locate(Y)], Y)


def test_every_training_output_is_a_candidate_of_its_input(delicious, sets):
    assert sets.recall(*delicious) == 1


def test_cases_share_few_sets(delicious, sets):
    groups = sets.groups(delicious[0])
    assert groups.sets.n_rows == len(sets.index_.whole().codes) <= 2**9
    assert len(groups.sets.ids) < groups.sizes.sum() / 100
