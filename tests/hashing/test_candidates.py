"""Candidate sets against plain loops over the training cases."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch.testing import assert_close

import crbm
from crbm.hashing import CandidateSets, SpectralHash, outputs
from crbm.inference import exact
from crbm.types import Candidates


def problem(n_cases=120, n_inputs=4, n_labels=5, seed=0):
    """Inputs in a box, and few distinct outputs that lean on them."""
    U = np.random.default_rng(seed).uniform(-1, 1, size=(n_cases, n_inputs))
    lean = np.random.default_rng(1000).normal(size=(n_inputs, n_labels))
    return U * np.arange(1, n_inputs + 1), (U @ lean > 0.2).astype(float)


def oracle_candidates(U, V, queries, n_bits, radius):
    """For each query the set of outputs as tuples, by comparing with every case."""
    fitted = SpectralHash(n_bits).fit(U)
    stored, asked = fitted.encode(U).tolist(), fitted.encode(queries).tolist()
    answers = []
    for code in asked:
        apart = [sum(a != b for a, b in zip(code, s, strict=True)) for s in stored]
        limit = max(radius, min(apart))
        near = zip(apart, V.tolist(), strict=True)
        answers.append(sorted({tuple(v) for d, v in near if d <= limit}))
    return answers


def as_tuples(found):
    pairs = zip(found.table, found.mask, strict=True)
    return [[tuple(row) for row in v[real].tolist()] for v, real in pairs]


@pytest.mark.parametrize("radius", [0, 1, 3, 40])
@pytest.mark.parametrize("n_bits", [1, 7, 13])
def test_candidates_are_the_outputs_of_near_cases(n_bits, radius):
    U, V = problem()
    queries = problem(30, seed=1)[0]
    sets = CandidateSets(n_bits, radius).fit(U, V)
    expected = oracle_candidates(U, V, queries, n_bits, radius)
    assert as_tuples(sets.candidates(queries)) == expected


def test_far_queries_have_candidates_too():
    U, V = problem(6)
    queries = problem(200, seed=2)[0] * 5
    sets = CandidateSets(n_bits=20, radius=0).fit(U, V)
    expected = oracle_candidates(U, V, queries, 20, 0)
    assert as_tuples(sets.candidates(queries)) == expected
    assert sets.sizes(queries).min() >= 1


def test_the_forms_say_the_same():
    U, V = problem()
    sets = CandidateSets(n_bits=5).fit(U, V)
    dense, (ids, mask), ragged = sets.candidates(U), sets.ids(U), sets.ragged(U)
    batch = sets.groups(U).select(slice(10, 20)).padded()
    assert_close(batch.mask, mask[10:20, : batch.mask.shape[1]])
    assert_close(batch.ids[batch.mask], ids[10:20][mask[10:20]])
    assert_close(sets.table_[ids], dense.table)
    assert_close(mask, dense.mask)
    assert_array_equal(ids[mask], ragged.ids)
    assert_array_equal(mask.sum(1), ragged.sizes)
    assert_array_equal(sets.sizes(U), ragged.sizes)
    assert (dense.table.dtype, ids.dtype) == (torch.float32, torch.int64)


def test_the_table_is_lexicographic_and_without_repeats():
    U, V = problem(n_labels=11)
    shuffled = np.random.default_rng(0).permutation(len(U))
    table = CandidateSets().fit(U, V).table_
    assert [tuple(row) for row in table.tolist()] == sorted(set(map(tuple, V.tolist())))
    assert_close(CandidateSets().fit(U[shuffled], V[shuffled]).table_, table)


def test_without_a_radius_every_output_is_a_candidate():
    U, V = problem()
    sets = CandidateSets(radius=None).fit(U, V)
    (ids, mask), found = sets.ids(U[:7]), sets.candidates(U[:7])
    n_outputs = len(sets.table_)
    assert_close(ids, torch.arange(n_outputs).repeat(7, 1))
    assert mask.all()
    assert_close(found.table, sets.table_.repeat(7, 1, 1))
    # Views: one row of memory, however many cases.
    assert ids.untyped_storage().nbytes() == 8 * n_outputs
    assert mask.untyped_storage().nbytes() == n_outputs
    assert found.table.data_ptr() == sets.table_.data_ptr()
    assert_array_equal(sets.ragged(U[:7]).ids, ids.flatten())
    assert_array_equal(sets.sizes(U[:7]), [n_outputs] * 7)
    assert sets.recall(U, V) == 1


def test_the_radius_may_change_after_fitting():
    U, V = problem()
    sets = CandidateSets(n_bits=9, radius=None).fit(U, V).set_params(radius=2)
    fresh = CandidateSets(n_bits=9, radius=2).fit(U, V)
    assert_array_equal(sets.ragged(U).ids, fresh.ragged(U).ids)


@pytest.mark.parametrize("radius", [0, 1, None])
def test_recall_counts_true_outputs_among_the_candidates(radius):
    U, V = problem()
    queries, truth = problem(50, seed=3)
    truth[::5, 0] = 1 - truth[::5, 0]
    sets = CandidateSets(n_bits=6, radius=radius).fit(U, V)
    found = as_tuples(sets.candidates(queries))
    hits = [tuple(v) in c for v, c in zip(truth.tolist(), found, strict=True)]
    assert 0 < np.mean(hits) < 1
    assert sets.recall(queries, truth) == np.mean(hits)
    assert_array_equal(sets.sizes(queries), [len(c) for c in found])


def test_a_training_case_is_always_among_its_own_candidates():
    U, V = problem()
    assert CandidateSets(n_bits=11, radius=0).fit(U, V).recall(U, V) == 1


FORMS = {
    "bool": lambda V: V.astype(bool),
    "int": lambda V: V.astype(np.int64),
    "csr": sparse.csr_array,
    "csc-matrix": sparse.csc_matrix,
    "tensor": torch.from_numpy,
    "sparse-tensor": lambda V: torch.from_numpy(V).to_sparse(),
    "frame": lambda V: pd.DataFrame(V, columns=[f"c{j}" for j in range(V.shape[1])]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_outputs_gives_the_same_sets(monkeypatch, form):
    U, V = problem(n_labels=9)
    monkeypatch.setattr(outputs, "BLOCK", 50)
    expected = CandidateSets().fit(U, V)
    given = CandidateSets().fit(U, FORMS[form](V))
    assert_close(given.table_, expected.table_)
    assert_array_equal(given.ragged(U).ids, expected.ragged(U).ids)
    assert given.recall(U, FORMS[form](V)) == 1


@pytest.mark.parametrize("form", ["csr", "csc-matrix", "tensor", "frame"])
def test_every_form_of_inputs_gives_the_same_sets(form):
    U, V = problem()
    expected = CandidateSets().fit(U, V).ragged(U)
    found = CandidateSets().fit(FORMS[form](U), V).ragged(FORMS[form](U))
    assert_array_equal(found.ids, expected.ids)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_outputs_that_are_not_fully_known_are_no_candidates(layout):
    U, V = problem()
    partial = V.copy()
    partial[::3, 1] = np.nan
    known = ~np.isnan(partial).any(1)
    sets = CandidateSets(n_bits=6).fit(U, layout(partial))
    expected = sorted({tuple(v) for v in V[known].tolist()})
    assert [tuple(row) for row in sets.table_.tolist()] == expected
    # The hash still learns from all inputs.
    assert_array_equal(sets.hash_.encode(U), SpectralHash(6).fit(U).encode(U))
    assert_array_equal(sets.locate(partial) >= 0, known)
    assert sets.recall(U, layout(partial)) == sets.recall(U[known], V[known]) == 1


def test_locate_finds_rows_of_the_table():
    U, V = problem(n_labels=17)
    sets = CandidateSets().fit(U, V)
    assert_array_equal(sets.table_[sets.locate(V)], V)
    unseen = 1 - sets.table_[:3]
    rows = [tuple(row) for row in sets.table_.tolist()]
    expected = [
        rows.index(tuple(v)) if tuple(v) in rows else -1 for v in unseen.tolist()
    ]
    assert -1 in expected
    assert sets.locate(unseen).tolist() == expected


def test_the_sets_feed_exact_inference():
    U, V = problem(20)
    sets, model = CandidateSets(n_bits=3).fit(U, V), crbm.CRBM(4, 5, 2)
    energy = model.condition(torch.from_numpy(U).float())
    dense, (ids, mask) = sets.candidates(U), sets.ids(U)
    by_table = exact.marginals(energy, candidates=Candidates(sets.table_, mask, ids))
    by_set = exact.marginals(energy, candidates=dense)
    assert_close(by_table.v, by_set.v)


def test_pickles_and_clones():
    U, V = problem()
    sets = CandidateSets(n_bits=8, radius=2).fit(U, V)
    expected = sets.ragged(U).ids
    assert_array_equal(pickle.loads(pickle.dumps(sets)).ragged(U).ids, expected)
    fresh = clone(sets)
    assert fresh.get_params() == {"n_bits": 8, "radius": 2}
    assert not hasattr(fresh, "table_")


def test_names_of_columns_are_checked():
    U, V = problem()
    frame = FORMS["frame"](U)
    sets = CandidateSets().fit(frame, V)
    with pytest.raises(ValueError, match="feature names"):
        sets.ids(frame[["c1", "c0", "c2", "c3"]])


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_the_first_value_that_is_not_binary_is_named(monkeypatch, layout):
    U, V = problem()
    V[31, 2] = 0.5
    monkeypatch.setattr(outputs, "BLOCK", 50)
    with pytest.raises(ValueError, match=r"`V` must hold.*row 31, column 2 holds 0\.5"):
        CandidateSets().fit(U, layout(V))


def test_errors_say_what_was_needed():
    U, V = problem()
    sets = CandidateSets().fit(U, V)
    with pytest.raises(ValueError, match="`U` has 120 and `V` has 119"):
        CandidateSets().fit(U, V[1:])
    with pytest.raises(ValueError, match="`U` has 120 and `V` has 119"):
        sets.recall(U, V[1:])
    with pytest.raises(ValueError, match="`n_bits` must be at most 62"):
        CandidateSets(n_bits=63).fit(U, V)
    with pytest.raises(ValueError, match="`radius` must be at least 0; got -1"):
        CandidateSets(radius=-1).fit(U, V)
    with pytest.raises(TypeError, match="`radius` must be a whole number"):
        CandidateSets(radius=0.5).fit(U, V)
    with pytest.raises(ValueError, match="expecting 4 features"):
        sets.candidates(U[:, :3])
    with pytest.raises(ValueError, match="`V` must have 5 columns"):
        sets.recall(U, V[:, :4])
    with pytest.raises(ValueError, match="without NaN to propose; each of its 120"):
        CandidateSets().fit(U, np.full_like(V, np.nan))
    with pytest.raises(ValueError, match="without NaN to judge"):
        sets.recall(U, np.full_like(V, np.nan))
    with pytest.raises(ValueError, match="two dimensions"):
        CandidateSets().fit(U, V[:, 0])
    with pytest.raises(ValueError, match="at least one row and one column"):
        CandidateSets().fit(U, V[:, :0])
    with pytest.raises(TypeError, match="`V` must hold numbers"):
        CandidateSets().fit(U, V.astype(str))


@pytest.mark.parametrize("method", ["candidates", "ids", "ragged", "sizes"])
def test_asking_before_fitting(method):
    with pytest.raises(NotFittedError):
        getattr(CandidateSets(), method)(problem()[0])
    with pytest.raises(NotFittedError):
        CandidateSets().recall(*problem())


def test_counts_add_up_over_calls():
    U, V = (
        np.arange(6.0)[:, None],
        np.array([[1, 0], [0, 1], [1, 0], [1, 1], [1, 0], [0, 1]]),
    )
    whole = CandidateSets(n_bits=2).fit(U, V)
    assert whole.counts_.tolist() == [2, 3, 1]
    parts = CandidateSets(n_bits=2).fit(U[:3], V[:3]).partial_fit(U[3:], V[3:])
    assert parts.counts_.tolist() == [2, 3, 1]
    weighted = CandidateSets(n_bits=2).fit(U, V, [1, 1, 2, 1, 0.5, 1])
    assert weighted.counts_.tolist() == [2, 3.5, 1]
    assert whole.restored(parts.state()).counts_.tolist() == [2, 3, 1]
