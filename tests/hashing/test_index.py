"""The index against a search through all codes, one pair at a time."""

import pickle
from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal

from crbm.hashing import CodeIndex, Groups, Ragged, codes, index as module


def as_sets(ragged):
    ends = ragged.indptr.tolist()
    return [ragged.ids[a:b].tolist() for a, b in pairwise(ends)]


def oracle_search(stored, ids, query, radius):
    """All outputs near a query, widening the radius until there are some."""
    found = set()
    while not found:
        for code, output in zip(stored, ids, strict=True):
            if (code ^ query).bit_count() <= radius:
                found.add(output)
        radius += 1
    return sorted(found)


def build_index(stored, ids, n_bits):
    return CodeIndex.build(np.array(stored, dtype=np.uint64), np.array(ids), n_bits)


def queried(index, queries, radius):
    return as_sets(index.search(np.array(queries, dtype=np.uint64), radius=radius))


@st.composite
def problems(draw):
    n_bits = draw(st.integers(1, 62))
    code = st.integers(0, 2**n_bits - 1)
    # Codes near one another, or none would ever be found without widening.
    centre, flips = draw(code), st.lists(st.integers(0, n_bits - 1), max_size=4)
    near = flips.map(lambda bits: centre ^ sum(1 << bit for bit in set(bits)))
    stored = draw(st.lists(near | code, min_size=1, max_size=60))
    ids = draw(st.lists(st.integers(0, 9), min_size=len(stored), max_size=len(stored)))
    queries = draw(st.lists(near | code, min_size=1, max_size=8))
    return n_bits, stored, ids, queries, draw(st.integers(0, n_bits + 1))


@pytest.mark.parametrize("cost", [0, 2, 10**30], ids=["look up", "mixed", "compare"])
@settings(max_examples=150, deadline=None)
@given(problem=problems())
def test_it_finds_what_a_search_through_all_codes_finds(cost, problem):
    n_bits, stored, ids, queries, radius = problem
    if cost == 0:  # a ball with all its codes must stay small enough to list
        radius = min(radius, 2)
        queries = [q for q in queries if min((q ^ s).bit_count() for s in stored) <= 3]
    expected = [oracle_search(stored, ids, query, radius) for query in queries]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LOOK_UP_COST", cost)
        if queries:
            assert (
                queried(build_index(stored, ids, n_bits), queries, radius) == expected
            )


@pytest.mark.parametrize("radius", [0, 1, 2, 6])
def test_many_codes_in_many_blocks(monkeypatch, radius):
    rng = np.random.default_rng(radius)
    stored, queries = rng.integers(0, 2**12, 700), rng.integers(0, 2**12, 90)
    ids = rng.integers(0, 40, 700)
    expected = [
        oracle_search(stored.tolist(), ids.tolist(), query, radius)
        for query in queries.tolist()
    ]
    for block in (1, 50, 2_000, 2**16):
        monkeypatch.setattr(module, "BLOCK", block)
        assert queried(build_index(stored, ids, 12), queries, radius) == expected


def test_a_query_with_no_neighbour_is_given_the_nearest():
    index = build_index([0b0000000, 0b1110000, 0b0000111], [3, 8, 5], 7)
    assert queried(index, [0b0000000, 0b1111111], 1) == [[3], [5, 8]]


def test_an_output_under_several_codes_comes_once():
    index = build_index([0, 1, 2, 2, 4], [6, 6, 6, 1, 6], 3)
    assert queried(index, [0], 1) == [[1, 6]]
    assert index.outputs.ids.tolist() == [6, 6, 1, 6, 6]


def test_equal_queries_get_equal_answers_in_their_own_order():
    index = build_index([0, 7], [0, 1], 3)
    assert queried(index, [7, 0, 7, 7, 0], 0) == [[1], [0], [1], [1], [0]]
    assert queried(index, [], 0) == []


@pytest.mark.parametrize("n_bits", [1, 5, 7, 9, 62])
def test_radius_one_takes_n_plus_one_look_ups(n_bits):
    masks = codes.ball(n_bits, 1).tolist()
    assert len(masks) == codes.ball_size(n_bits, 1) == n_bits + 1
    assert sorted(masks) == [0] + [2**bit for bit in range(n_bits)]


@pytest.mark.parametrize("n_bits", [1, 4, 7])
def test_rings_hold_each_mask_once(n_bits):
    for distance in range(n_bits + 1):
        sets = combinations(range(n_bits), distance)
        expected = sorted(sum(1 << bit for bit in chosen) for chosen in sets)
        assert codes.ring(n_bits, distance).tolist() == expected
        assert codes.ring_size(n_bits, distance) == comb(n_bits, distance)
    assert sorted(codes.ball(n_bits, n_bits).tolist()) == list(range(2**n_bits))


def test_packing_reads_bits_as_a_number():
    bits = np.random.default_rng(0).integers(0, 2, (50, 62)).astype(np.uint8)
    expected = [int("".join(map(str, row)), 2) for row in bits.tolist()]
    assert codes.pack(bits).tolist() == expected


def test_a_pickled_index_answers_alike():
    index = build_index([0, 3, 5, 6], [0, 1, 2, 1], 3)
    before = queried(index, range(8), 1)
    assert queried(pickle.loads(pickle.dumps(index)), range(8), 1) == before


def test_ragged_rows_can_be_chosen_padded_and_asked():
    sets = Ragged(np.array([0, 2, 2, 5]), np.array([4, 7, 0, 1, 2]))
    assert as_sets(sets.select(np.array([2, 1, 0, 0]))) == [
        [0, 1, 2],
        [],
        [4, 7],
        [4, 7],
    ]
    assert_array_equal(sets.sizes, [2, 0, 3])
    ids, mask = sets.padded()
    assert [row[real].tolist() for row, real in zip(ids, mask, strict=True)] == [
        [4, 7],
        [],
        [0, 1, 2],
    ]


def test_groups_are_their_ragged_rows_without_the_copies():
    sets = Ragged(np.array([0, 2, 2, 5]), np.array([4, 7, 0, 1, 2]))
    groups = Groups(np.array([2, 0, 0, 1, 2]), sets)
    expected = [[0, 1, 2], [4, 7], [4, 7], [], [0, 1, 2]]
    assert as_sets(groups.ragged()) == expected
    assert_array_equal(groups.sizes, [3, 2, 2, 0, 3])
    chosen = groups.select(np.array([4, 1]))
    assert as_sets(chosen.ragged()) == [[0, 1, 2], [4, 7]]
    assert chosen.sets is sets
    assert chosen.padded().ids.tolist() == [[0, 1, 2], [4, 7, 0]]
    asked = np.array([2, 7, 5, 0, -1])
    pairs = zip(expected, asked.tolist(), strict=True)
    assert groups.contains(asked).tolist() == [one in row for row, one in pairs]


def test_errors_say_what_was_needed():
    with pytest.raises(ValueError, match="at least one case"):
        CodeIndex.build(np.zeros(0, np.uint64), np.zeros(0, int), 3)
    with pytest.raises(ValueError, match="`radius` must be at least 0; got -1"):
        build_index([0], [0], 3).search(np.zeros(1, np.uint64), radius=-1)
