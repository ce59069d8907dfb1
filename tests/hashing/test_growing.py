"""Indices and tables that grow, against those built at once."""

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal

from crbm.hashing import CandidateSets, CodeIndex, packed_sets
from crbm.hashing.growing import GrowingIndex
from crbm.hashing.outputs import pack_rows
from crbm.hashing.packed_sets import PackedSets


@st.composite
def pieces(draw):
    n_bits = draw(st.integers(1, 9))
    code = st.integers(0, 2**n_bits - 1)
    pair = st.tuples(code, st.integers(0, 5))
    parts = draw(st.lists(st.lists(pair, max_size=12), min_size=1, max_size=6))
    queries = draw(st.lists(code, min_size=1, max_size=8))
    return n_bits, parts, queries, draw(st.integers(0, n_bits))


@settings(max_examples=200, deadline=None)
@given(problem=pieces())
def test_pieces_answer_like_the_whole(problem):
    n_bits, parts, queries, radius = problem
    everything = [pair for part in parts for pair in part]
    if not everything:
        return
    queries = np.array(queries, dtype=np.uint64)
    codes, ids = zip(*everything, strict=True)
    whole = CodeIndex.build(np.array(codes, dtype=np.uint64), np.array(ids), n_bits)
    index = GrowingIndex()
    for part in parts:
        own = np.array(part, dtype=np.uint64).reshape(-1, 2)
        index = index.add(own[:, 0].copy(), own[:, 1].astype(int), n_bits)
    expected = whole.groups(queries, radius=radius).ragged()
    found = index.groups(queries, radius=radius).ragged()
    assert_array_equal(found.indptr, expected.indptr)
    assert_array_equal(found.ids, expected.ids)
    assert_array_equal(index.whole().outputs.ids, whole.outputs.ids)


def test_there_are_few_runs_however_many_pieces():
    index, rng = GrowingIndex(), np.random.default_rng(0)
    for _ in range(200):
        index = index.add(
            rng.integers(0, 2**40, 50).astype(np.uint64), np.arange(50), 40
        )
    lengths = [run.n_pairs for run in index.runs]
    assert sum(lengths) == 200 * 50
    assert all(a >= 2 * b for a, b in pairwise(lengths))


def random_sets(n_sets, n_labels, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (n_sets, n_labels))


@pytest.mark.parametrize("collide", [False, True], ids=["hash", "one hash for all"])
@pytest.mark.parametrize("n_labels", [1, 8, 13, 70])
def test_a_table_gives_each_set_one_id(n_labels, collide, monkeypatch):
    if collide:
        monkeypatch.setattr(packed_sets, "MULTIPLIERS", (np.uint64(0),))
    sets = random_sets(120, n_labels)
    table, known = PackedSets.empty(n_labels), {}
    for part in np.split(sets, [10, 11, 60]):
        table, ids = table.extended(pack_rows(part))
        for row, one in zip(map(tuple, part.tolist()), ids.tolist(), strict=True):
            assert known.setdefault(row, one) == one
    assert sorted(known.values()) == list(range(len(table)))
    assert [known[tuple(row)] for row in table.dense().int().tolist()] == list(
        range(len(table))
    )
    assert_array_equal(table.dense()[table.locate(pack_rows(sets))], sets)
    assert_array_equal(table.set_sizes(), table.dense().sum(1).long())
    again = pickle.loads(pickle.dumps(table))
    assert_array_equal(again.locate(pack_rows(sets)), table.locate(pack_rows(sets)))


def test_sets_that_are_not_there_have_no_id():
    table, _ = PackedSets.empty(3).extended(pack_rows(np.array([[0, 1, 0]])))
    asked = np.array([[1, 1, 0], [0, 1, 0], [0, np.nan, 0]])
    assert table.locate(pack_rows(asked)).tolist() == [-1, 0, -1]


def test_a_shorter_table_stays_as_it_was():
    """Both continue from one; the second must not write over the rows of the first."""
    base, _ = PackedSets.empty(9).extended(pack_rows(random_sets(100, 9)))
    room, _ = base.extended(pack_rows(1 - base.dense().int().numpy()[:1]))
    one, _ = room.extended(pack_rows(random_sets(40, 9, seed=1)))
    before = one.dense().clone()
    other, _ = room.extended(pack_rows(random_sets(40, 9, seed=2)))
    assert_array_equal(one.dense(), before)
    assert len(base.dense()) == len(base)
    assert not np.array_equal(one.packed[: len(other)], other.packed[: len(one)])


def test_a_table_takes_little_more_than_its_bits():
    table = PackedSets.empty(1000)
    tracemalloc.start()
    for seed in range(8):
        table, _ = table.extended(pack_rows(random_sets(500, 1000, seed)))
    in_use = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(table) == 4000
    assert table.n_bytes <= 4000 * 150
    assert in_use < 4000 * 160


@pytest.mark.parametrize("radius", [0, 2, None])
def test_candidates_learned_in_pieces_are_those_learned_at_once(radius):
    rng = np.random.default_rng(3)
    U = rng.normal(size=(400, 6))
    V = (U @ rng.normal(size=(6, 5)) > 0).astype(float)
    V[::7, 2] = np.nan
    whole = CandidateSets(n_bits=6, radius=radius).fit(U, V)
    parts = CandidateSets(n_bits=6, radius=radius).start(U, 5)
    for rows in np.array_split(np.arange(400), 9):
        parts.partial_fit(U[rows], V[rows])
    place = whole.locate(parts.table_)
    assert sorted(place) == list(range(len(whole.table_)))
    assert_array_equal(whole.counts_[place], parts.counts_)
    found, expected = parts.ragged(U), whole.ragged(U)
    assert_array_equal(found.indptr, expected.indptr)
    for a, b in pairwise(found.indptr):
        assert sorted(place[found.ids[a:b]]) == expected.ids[a:b].tolist()
    restored = CandidateSets(6, radius).restored(parts.state())
    assert_array_equal(restored.ragged(U).ids, found.ids)
    assert torch.equal(restored.table_, parts.table_)
