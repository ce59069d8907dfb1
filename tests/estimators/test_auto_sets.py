"""The parts of AutoClassifier that choose whole label sets."""

import itertools

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.datasets import make_multilabel_classification
from sklearn.svm import SVC

import crbm
from crbm.estimators.auto.members import Inputs, Size
from crbm.estimators.auto.ridge import SetCalibration
from crbm.estimators.auto.selection import select_for_sets
from crbm.estimators.auto.svm import SetSVM, frequent_sets
from crbm.estimators.auto.svm_member import GAMMAS, SVMMember

X, Y = make_multilabel_classification(120, n_features=8, n_classes=4, random_state=0)
MEMBERS = ["forest", "svm"]


@pytest.fixture(scope="module")
def fitted():
    classifier = crbm.AutoClassifier(
        members=MEMBERS, metric="subset_accuracy", n_folds=3, random_state=0
    )
    return classifier.fit(X[:90], Y[:90])


@pytest.mark.parametrize(("n_classes", "n_inputs"), [(2, 3), (7, 5), (12, 80)])
def test_votes_are_those_of_scikit_learn(n_classes, n_inputs):
    rng = np.random.default_rng(n_classes)
    F = rng.normal(size=(150, n_inputs)).astype(np.float32)
    sets = (F @ rng.normal(size=(n_inputs, n_classes))).argmax(1) * 3
    machines = SetSVM(2.0, gamma=0.5).fit(F, sets)
    known = np.isin(sets, machines.classes)
    squares = ((F[known, None] - F[known]) ** 2).sum(-1)
    gamma = 0.5 / np.median(squares[squares > 0])
    expected = SVC(C=2.0, gamma=gamma, break_ties=n_classes > 2)
    expected.fit(F[known], sets[known])
    new = rng.normal(size=(60, n_inputs))
    scores = machines.scores(new)
    assert np.array_equal(machines.classes[scores.argmax(1)], expected.predict(new))
    if n_classes > 2:
        values = expected.decision_function(new) / len(machines.classes)
        assert_allclose(scores, values, atol=1e-4)


def test_label_sets_seen_once_and_unknown_ones_have_no_machine():
    assert frequent_sets(np.array([5, 5, -1, -1, 3, 0, 0, 0])).tolist() == [0, 5]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ends", lambda ends: ends * 2),
        ("classes", lambda classes: classes + 100),
        ("vectors", lambda vectors: vectors[:, 1:]),
        ("dual", lambda dual: dual[1:]),
    ],
)
def test_machines_that_do_not_fit_the_label_sets_are_refused(name, change):
    F = np.random.default_rng(0).normal(size=(40, 3))
    state = SetSVM().fit(F, np.arange(40) % 4).state()
    SetSVM.restored(state, 3, 4)
    with pytest.raises(ValueError, match="do not fit the label sets"):
        SetSVM.restored({**state, name: change(state[name])}, 3, 4)


def test_the_selection_is_as_good_as_the_best_weights_of_a_grid():
    rng = np.random.default_rng(0)
    sets = rng.integers(5, size=300)
    members = []
    for noise in (1.0, 1.3, 3.0):
        scores = np.eye(5)[sets] * 2 + rng.normal(size=(300, 5)) * noise
        p = np.exp(scores)
        members.append(p / p.sum(1, keepdims=True))

    def share_right(weights):
        total = sum(w * np.log(p) for w, p in zip(weights, members, strict=True))
        return (total.argmax(1) == sets).mean()

    grid = itertools.product(np.linspace(0, 1, 11), repeat=3)
    best = max(share_right(weights) for weights in grid if sum(weights) > 0)
    chosen = select_for_sets(members, sets).weights
    assert sum(chosen) == pytest.approx(1)
    assert share_right(chosen) >= best - 0.01
    assert share_right(chosen) > max(share_right(row) for row in np.eye(3))


def test_whole_sets_are_chosen_by_their_own_weights(fitted):
    new = X[90:]
    pool = fitted.pool_
    found = pool.predict(new)
    joint = pool.joint(found)
    chosen = pool.whole_sets(found, joint)
    assert np.array_equal(chosen, fitted.predict(new) == 1)
    for place in range(len(pool.whole.weights)):
        pool_of_one = [0.0] * len(pool.whole.weights)
        pool_of_one[place] = 1.0
        weights, pool.whole = pool.whole, type(pool.whole)(pool_of_one)
        try:
            alone = pool.whole_sets(found, joint)
        finally:
            pool.whole = weights
        if place < 2:  # the members; then independent labels and the pooled sets
            table = pool.table.numpy()
            own = table[found[place].sets.argmax(1)] == 1
            likeliest = fitted.predict_top_k(new, k=1).labels[:, 0] == 1
            in_table = (likeliest[:, None] == (table == 1)).all(-1).any(1)
            assert np.array_equal(alone[in_table], own[in_table])
            assert np.array_equal(alone[~in_table], likeliest[~in_table])


def test_whole_sets_agree_with_known_labels(fitted):
    new = X[90:]
    known = np.full((len(new), 4), np.nan)
    known[:, 1], known[::2, 2] = 1, 0
    answer = fitted.predict(new, known=known)
    is_known = ~np.isnan(known)
    assert np.array_equal(answer[is_known], known[is_known])


@pytest.mark.parametrize("seen_only", [True, False])
def test_only_seen_sets_are_answers_where_that_is_right_more_often(seen_only):
    """Labels by rules that new cases follow as well, or independent of each other."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(400, 8))
    first = inputs[:, :4] + rng.normal(size=(400, 4)) > 0
    labels = np.hstack([first, ~first]) if seen_only else inputs > 0
    classifier = crbm.AutoClassifier(
        members=["forest", "ridge, kernel", "hash-crbm, linear"],
        metric="subset_accuracy",
        n_folds=2,
        random_state=0,
    )
    classifier.fit(inputs[:200], labels[:200])
    pool, new = classifier.pool_, inputs[200:]
    right = {}
    chosen = pool.seen_only
    for pool.seen_only in (False, True):
        answers = classifier.predict(new)
        right[pool.seen_only] = (answers == labels[200:]).all(1).mean()
        table = pool.table.numpy()
        is_seen = (answers[:, None] == table).all(-1).any(1)
        assert is_seen.all() or not pool.seen_only
    pool.seen_only = chosen
    assert right[chosen] >= right[not chosen]
    if not seen_only:
        assert not chosen


def test_seen_sets_that_are_impossible_are_no_answers(fitted):
    """As where all of them contradict known labels."""
    pool = fitted.pool_
    found = pool.predict(X[90:])
    joint = pool.joint(found)
    none = torch.zeros_like(joint.weight)
    joint = joint._replace(weight=none, share=torch.ones_like(joint.share))
    pool.seen_only = True
    try:
        answer = pool.whole_sets(found, joint)
    finally:
        pool.seen_only = False
    assert np.array_equal(answer, joint.product.numpy() > 0.5)


def test_the_machines_survive_a_file(fitted, tmp_path):
    fitted.save(tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    assert loaded.pool_.seen_only == fitted.pool_.seen_only
    assert [entry.member for entry in loaded.leaderboard_] == MEMBERS
    assert np.array_equal(loaded.predict(X), fitted.predict(X))
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.leaderboard_ == fitted.leaderboard_


def test_classes_without_shared_label_sets_have_no_machines():
    labels = np.array(list(itertools.product((0, 1), repeat=5)))
    rng = np.random.default_rng(0)
    classifier = crbm.AutoClassifier(members=["forest", "svm"], n_folds=2)
    classifier.fit(rng.normal(size=(32, 3)), labels)
    assert [entry.member for entry in classifier.leaderboard_] == ["forest"]


def test_several_machines_vote_with_their_weights():
    rng = np.random.default_rng(0)
    sets = rng.integers(4, size=60)
    inputs = rng.normal(size=(60, 3))
    member = SVMMember()
    member.machines = [SetSVM(1.0, g).fit(inputs, sets) for g in (0.5, 4.0)]
    member.weights, member.counts = [0.25, 0.75], np.bincount(sets).astype(float)
    member.calibration, member.table = SetCalibration(2.0, 0.0), np.eye(4)
    shared = Unscaled()
    found = member.predict(inputs, shared).sets
    votes = [machines.scores(inputs) for machines in member.machines]
    expected = np.exp(2 * (0.25 * votes[0] + 0.75 * votes[1]))
    assert_allclose(found, expected / expected.sum(1, keepdims=True), atol=1e-6)
    tensors, plain = member.state()
    size = Size(3, 4, np.eye(4))
    again = SVMMember().restore(tensors, plain, size)
    assert np.array_equal(again.predict(inputs, shared).sets, found)
    with pytest.raises(ValueError, match="positive weights"):
        SVMMember().restore(tensors, {**plain, "machine_weights": [1.0, -1.0]}, size)
    # a file of the first version: machines of one width, without a number
    old = {**member.machines[0].state(), "counts": tensors["counts"]}
    one = SVMMember().restore(old, {"calibration": [2.0, 0.0]}, size)
    expected = np.exp(2 * votes[0])
    alone = expected / expected.sum(1, keepdims=True)
    assert_allclose(one.predict(inputs, shared).sets, alone, atol=1e-6)


class Unscaled(Inputs):
    """Inputs as they are."""

    def transform(self, kind, X):
        return X


def test_widths_are_tried_beyond_the_first_ones_while_they_get_better():
    """Label sets in narrow stripes need a narrower kernel than any of the first."""
    rng = np.random.default_rng(0)
    u = rng.uniform(size=(400, 1))
    stripe = (u[:, 0] * 24).astype(int) % 3
    classifier = crbm.AutoClassifier(members=["svm"], n_folds=3, random_state=0)
    classifier.fit(u, np.eye(3)[stripe])
    (member,) = classifier.pool_.members
    assert max(machines.gamma for machines in member.machines) > max(GAMMAS)
