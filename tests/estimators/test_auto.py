"""AutoClassifier and its parts."""

import itertools

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import crbm
from crbm import metrics
from crbm.decisions import Joint, mixture
from crbm.estimators import pooling
from crbm.estimators.auto import boosting, forest, ridge, scaling
from crbm.estimators.auto.committee import Committee

SETS = torch.tensor(list(itertools.product((0.0, 1.0), repeat=4))).double()
X, Y = make_multilabel_classification(120, n_features=8, n_classes=4, random_state=0)
Y = Y.astype(float)
QUICK = ["forest", "ridge, kernel", "boosting", "hash-crbm, kernel", "hash-crbm, stack"]


@pytest.fixture(scope="module")
def fitted():
    classifier = crbm.AutoClassifier(members=QUICK, n_folds=2, random_state=0)
    return classifier.fit(X[:80], Y[:80])


@pytest.fixture
def joint():
    """Three cases over some of the sets of four labels, mixed with a product."""
    rng = np.random.default_rng(0)
    weight = rng.dirichlet(np.ones(5), 3)
    product = rng.uniform(0.1, 0.9, (3, 4))
    return Joint(weight, SETS[[1, 4, 7, 8, 14]], product, 0.3).mixed()


def probabilities(joint):
    """p(v) of all sets, by the definition of the mixture."""
    found = torch.zeros(joint.n_cases, len(SETS)).double()
    for place, v in enumerate(SETS):
        chance = torch.where(v > 0.5, joint.product, 1 - joint.product).prod(1)
        in_table = (joint.table == v).all(1).double()
        found[:, place] = joint.share * chance + joint.weight @ in_table
    return found


def test_known_labels_condition_the_mixture(joint):
    nan = torch.nan
    known = torch.tensor([[1, nan, nan, 0], [nan] * 4, [0, 1, 0, 0]]).double()
    given, log_p = mixture.given(joint, known)
    agrees = ((known[:, None] == SETS) | known[:, None].isnan()).all(-1)
    expected = probabilities(joint) * agrees
    assert_allclose(log_p.exp(), expected.sum(1), rtol=1e-10)
    assert_allclose(
        probabilities(given), expected / expected.sum(1, keepdim=True), atol=1e-12
    )


def test_the_likeliest_sets_of_the_mixture(joint):
    labels, chance = mixture.top_k(joint, 4)
    expected = probabilities(joint).sort(1, descending=True)
    assert_allclose(chance, expected.values[:, :4], rtol=1e-10)
    assert_allclose(labels, SETS[expected.indices[:, :4]])


def test_trees_reach_the_leaves_of_scikit_learn(monkeypatch):
    grown = []
    grow = forest._grow
    monkeypatch.setattr(
        forest, "_grow", lambda *given: grown.append(grow(*given)) or grown[-1]
    )
    outcomes = np.eye(4)[np.arange(120) % 4]
    trees = forest.Forest(5).fit(X, Y, outcomes, seed=0).trees
    expected = np.stack([tree.apply(X.astype(np.float32)) for tree in grown], 1)
    assert_allclose(trees.apply(X.astype(np.float32)) - trees.roots, expected)


def test_a_forest_predicts_the_mean_outcome_of_its_leaves():
    fitted = forest.Forest(30).fit(X, Y, Y, seed=0)
    assert fitted.is_out_of_bag_.all()
    in_bag, out_of_bag = fitted.predict(X), fitted.out_of_bag_
    assert_allclose(fitted.predict(X[:7]), in_bag[:7])
    assert metrics.label_log_loss(Y, in_bag, least=0.01) < metrics.label_log_loss(
        Y, out_of_bag, least=0.01
    )
    base = np.broadcast_to(Y.mean(0), Y.shape)
    error = metrics.hamming_error(Y, out_of_bag > 0.5)
    assert error < metrics.hamming_error(Y, base > 0.5)
    same = forest.Forest.restored(fitted.state(), 8, 4)
    assert np.array_equal(same.predict(X), in_bag)


@pytest.mark.parametrize(
    ("name", "value"), [("feature", 8), ("left", 0), ("roots", 10**6)]
)
def test_trees_that_would_be_read_out_of_bounds_are_refused(name, value):
    state = forest.Forest(2).fit(X, Y, Y, seed=0).state()
    inner = (state["feature"] >= 0).nonzero()[-1]
    state[name][0 if name == "roots" else inner] = value
    with pytest.raises(ValueError, match="do not fit together"):
        forest.Forest.restored(state, 8, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: {"left": state["left"].double()}, "wrong types"),
        (lambda state: {"feature": state["feature"][None]}, "wrong types"),
        (lambda state: {"leaf_means": state["leaf_means"] * 9}, "no probabilities"),
    ],
)
def test_trees_of_other_types_and_impossible_leaves_are_refused(change, message):
    state = forest.Forest(2).fit(X, Y, Y, seed=0).state()
    with pytest.raises(ValueError, match=message):
        forest.Forest.restored(state | change(state), 8, 4)


def test_a_pool_is_at_least_as_good_as_each_member():
    rng = np.random.default_rng(0)
    odds = np.where(Y > 0, 1.0, -1.0)
    members = [
        1 / (1 + np.exp(-(odds * sure + rng.normal(0, 1.5, Y.shape))))
        for sure in (0.5, 1.0, 2.0)
    ]
    truth = Y.copy()
    truth[3, 1] = np.nan
    pool = pooling.fit_labels(members, truth)
    loss = metrics.label_log_loss(truth, pool(members))
    assert loss < min(metrics.label_log_loss(truth, member) for member in members)
    moved = pooling.LabelPool([w * 1.1 for w in pool.weights], pool.bias)
    assert loss < metrics.label_log_loss(truth, moved(members))


def test_pooled_label_sets_are_a_weighted_sum_of_energies():
    rng = np.random.default_rng(0)
    members = [rng.dirichlet(np.ones(3), 50) for _ in range(2)]
    sets = np.array([rng.choice(3, p=p) for p in members[0]])
    pool = pooling.fit_sets(members, sets)
    energy = -sum(w * np.log(p) for w, p in zip(pool.weights, members, strict=True))
    expected = np.exp(-energy) / np.exp(-energy).sum(1, keepdims=True)
    assert_allclose(pool(members), expected, atol=1e-3)  # sets are kept possible
    assert pool.weights[0] > pool.weights[1]


def test_members_that_are_always_right_have_finite_weights():
    """Their likelihood rises with the weight without end."""
    truth = np.repeat([[1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    p = 0.499 + 0.002 * truth
    pool = pooling.fit_labels([p, p], truth)
    assert max(pool.weights) <= pooling.MOST_WEIGHT
    assert ((pool([p, p]) > 0.5) == truth).all()
    sets = pooling.fit_sets([p, p], truth.argmax(1))
    assert max(sets.weights) <= pooling.MOST_WEIGHT
    large = pooling.LabelPool([1e6], 0.0)  # of an earlier file
    assert np.isfinite(large([p])).all()


def test_members_are_judged_on_cases_they_left_out(fitted):
    assert [entry.member for entry in fitted.leaderboard_] == QUICK
    assert all(entry.log_loss > 0 for entry in fitted.leaderboard_)
    base = np.broadcast_to(Y[:80].mean(0), (40, 4))
    p = fitted.predict_proba(X[80:])
    assert metrics.label_log_loss(Y[80:], p) < metrics.label_log_loss(Y[80:], base)


@pytest.mark.parametrize("metric", crbm.decisions.MEASURES)
def test_each_metric_has_its_answer(fitted, metric):
    fitted.metric = metric
    labels = fitted.predict(X[80:])
    assert set(np.unique(labels)) <= {0, 1}
    if metric == "hamming":
        assert np.array_equal(labels, fitted.predict_proba(X[80:]) > 0.5)
    if metric == "subset_accuracy":
        pool = fitted.pool_
        weights, pool.whole = pool.whole, pooling.SetPool([])
        likeliest = fitted.predict(X[80:])
        pool.whole = weights
        top = fitted.predict_top_k(X[80:], k=1).labels[:, 0]
        assert np.array_equal(likeliest, top)
        assert (labels == likeliest).all(1).mean() > 0.5  # chosen by other weights
    fitted.metric = "hamming"


def test_probabilities_are_those_of_one_joint_distribution(fitted):
    sets = np.array(list(itertools.product((0, 1), repeat=4)))
    chance = np.stack(
        [np.exp(fitted.score_samples(X[:3], np.tile(v, (3, 1)))) for v in sets], 1
    )
    assert_allclose(chance.sum(1), 1, rtol=1e-6)
    assert_allclose(chance @ sets, fitted.predict_proba(X[:3]), atol=1e-6)
    known = np.full((3, 4), np.nan)
    known[:, 2] = 1
    given = chance * (sets[:, 2] == 1)
    expected = given / given.sum(1, keepdims=True) @ sets
    assert_allclose(fitted.predict_proba(X[:3], known=known), expected, atol=1e-6)


def test_files_predict_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.leaderboard_ == fitted.leaderboard_
    assert np.array_equal(loaded.predict(X), fitted.predict(X))


def test_class_weights_multiply_the_odds_of_the_joint(fitted, tmp_path):
    weight = np.array([1.0, 4.0, 0.5, 1.0])
    sets = np.array(list(itertools.product((0, 1), repeat=4)))
    chance = np.stack(
        [np.exp(fitted.score_samples(X[:3], np.tile(v, (3, 1)))) for v in sets], 1
    )
    expected = chance * np.prod(np.where(sets == 1, weight, 1), axis=1)
    expected /= expected.sum(1, keepdims=True)
    options = {"members": QUICK, "n_folds": 2, "random_state": 0}
    weighted = crbm.AutoClassifier(**options, class_weight=weight.tolist())
    weighted.fit(X[:80], Y[:80]).save(tmp_path / "m.safetensors")
    for each in (weighted, crbm.load(tmp_path / "m.safetensors")):
        assert_allclose(each.predict_proba(X[:3]), expected @ sets, atol=1e-6)


def test_unknown_labels_and_weights():
    labels = Y.copy()
    labels[::7, 1] = np.nan
    classifier = crbm.AutoClassifier(members=QUICK[:2], n_folds=2, random_state=0)
    p = classifier.fit(X, labels, np.linspace(0.5, 2, 120)).predict_proba(X)
    assert np.isfinite(p).all()
    assert metrics.hamming_error(Y, p > 0.5) < 0.25


def test_many_label_sets_are_pooled_label_by_label(monkeypatch):
    monkeypatch.setattr("crbm.estimators.auto.classifier.MOST_SETS", 3)
    classifier = crbm.AutoClassifier(
        members=["forest", "ridge, kernel", "boosting", "logistic, linear"],
        n_folds=2,
        random_state=0,
    ).fit(X, Y)
    assert classifier.pool_.share == 1
    p, labels = classifier.predict_proba(X[:5]), classifier.predict(X[:5])
    expected = np.log(np.where(labels == 1, p, 1 - p)).sum(1)
    assert_allclose(classifier.score_samples(X[:5], labels), expected, rtol=1e-6)


def test_a_time_limit_keeps_at_least_one_member():
    classifier = crbm.AutoClassifier(time_limit=1e-3, random_state=0).fit(X, Y)
    assert [entry.member for entry in classifier.leaderboard_] == ["forest"]


def test_ctrl_c_pools_the_members_that_are_complete(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Committee, "fit", interrupt)
    classifier = crbm.AutoClassifier(random_state=0)
    with pytest.warns(UserWarning, match="the members before it are pooled"):
        classifier.fit(X, Y)
    assert classifier.predict(X).shape == Y.shape
    alone = crbm.AutoClassifier(members=["hash-crbm, kernel"])
    with pytest.raises(KeyboardInterrupt):
        alone.fit(X, Y)
    with pytest.raises(NotFittedError):
        alone.predict(X)


def test_wrong_parameters_are_refused():
    with pytest.raises(ValueError, match="`metric`"):
        crbm.AutoClassifier(metric="f1").fit(X, Y)
    with pytest.raises(ValueError, match="`members`"):
        crbm.AutoClassifier(members=["trees"]).fit(X, Y)
    with pytest.raises(ValueError, match="None of the members"):
        crbm.AutoClassifier(members=["hash-crbm, stack"]).fit(X, Y)


def test_left_out_cases_are_predicted_as_by_new_fits():
    rng = np.random.default_rng(0)
    F, T, weight = rng.normal(size=(30, 4)), rng.normal(size=(30, 2)), rng.random(30)
    folds = np.array_split(rng.permutation(30), 3)
    found = ridge.Regression(F, weight).left_out(T, 0.1, folds)
    alone = ridge.Regression(F, weight).left_out(T, 0.1)
    for fold in folds:
        rest = np.setdiff1d(np.arange(30), fold)
        # the penalty is per case: the same total for fewer cases
        peer = Ridge(0.1 * weight.sum()).fit(F[rest], T[rest], weight[rest])
        assert_allclose(found[fold], peer.predict(F[fold]), atol=1e-6)
    peer = Ridge(0.1 * weight.sum()).fit(F[1:], T[1:], weight[1:])
    assert_allclose(alone[:1], peer.predict(F[:1]), atol=1e-6)


def test_calibrations_are_at_the_lowest_loss():
    rng = np.random.default_rng(0)
    found, base = rng.normal(0.3, 0.3, Y.shape), np.full(4, 0.3)
    truth = (rng.random(Y.shape) < 1 / (1 + np.exp(-3 * (found - 0.3)))).astype(float)
    best, lowest = ridge.calibrate_labels(found, truth, base)
    assert lowest == pytest.approx(metrics.label_log_loss(truth, best(found, base)))
    for place in range(3):
        for change in (-0.1, 0.1):
            moved = list(best)
            moved[place] += change
            p = ridge.LabelCalibration(*moved)(found, base)
            assert metrics.label_log_loss(truth, p) > lowest
    counts = np.array([5.0, 1.0, 0.0, 2.0])
    sets = ridge.SetCalibration(2.0, 1.0)(found, counts)
    energy = np.exp(2 * found) * counts
    assert_allclose(sets, energy / energy.sum(1, keepdims=True))


def test_boosting_takes_newton_steps_and_leaves_out_unknown_labels():
    labels = Y.copy()
    labels[::5, 2] = np.nan
    model = boosting.Boosting(n_trees=1, n_leaves=2, rate=1.0, rows=1.0)
    model.fit(X, labels, X, labels, seed=0)
    at = model.trees.apply(X.astype(np.float32))[:, 0]
    p, known = 1 / (1 + np.exp(-model.start)), ~np.isnan(labels)
    for leaf in np.unique(at):
        own = known[at == leaf]
        rise = (np.nan_to_num(labels[at == leaf]) * own).sum(0) - own.sum(0) * p
        expected = rise / (own.sum(0) * p * (1 - p) + boosting.LEAST_CURVATURE)
        assert_allclose(model.leaves[leaf], expected, rtol=1e-5)
    same = boosting.Boosting.restored(model.state(), 8, 4)
    assert np.array_equal(same.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="do not fit the labels"):
        boosting.Boosting.restored(model.state(), 8, 5)


def test_the_scaling_that_predicts_best_is_chosen():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (150, 3))
    noise = rng.normal(size=(150, 3)) * 1e6  # hides the signs unless standardised
    labels = (signs > 0).astype(float)
    assert scaling.choose_scaling(np.hstack([signs, noise]), labels).kind != "centre"
