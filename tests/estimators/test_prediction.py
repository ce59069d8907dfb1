"""What the classifiers predict, against enumeration and planted structure."""

import copy
import itertools

import numpy as np
import pytest
import torch

import crbm
from crbm import metrics
from crbm.inference import exact
from planted import copied_patterns

TRAIN, TEST = copied_patterns(400), copied_patterns(200, seed=1)
X, Y = TRAIN.u.numpy(), TRAIN.v.numpy()
X_TEST, Y_TEST = TEST.u.numpy(), TEST.v.numpy()
SETTINGS = {"random_state": 0, "learning_rate": 0.3, "n_epochs": 30}
HASH = SETTINGS | {"n_hidden": 8, "radius": 1, "base_measure": "uniform"}
CLASSIFIERS = {
    "logistic": crbm.LogisticClassifier(**SETTINGS),
    "crf": crbm.CRFClassifier(**SETTINGS, n_steps=10),
    "crbm-perceptron": crbm.CRBMClassifier(**SETTINGS, n_hidden=8),
    "crbm-cd": crbm.CRBMClassifier(**SETTINGS, n_hidden=8, objective="cd"),
    "crbm-exact": crbm.CRBMClassifier(
        **SETTINGS, n_hidden=8, objective="exact", inference="exact"
    ),
    "hash": crbm.HashCRBMClassifier(**HASH, n_bits=3),
    "hash-ensemble": crbm.HashCRBMClassifier(
        **HASH | {"radius": None}, n_estimators=3, input_dropout=0.2
    ),
}


@pytest.fixture(scope="module", params=CLASSIFIERS)
def classifier(request):
    return CLASSIFIERS[request.param].fit(X, Y)


@pytest.fixture(scope="module")
def hashed():
    return CLASSIFIERS["hash"].fit(X, Y)


def test_planted_structure_is_learned(classifier):
    """Noise alone is wrong in 5 % of the labels, and some inputs mislead."""
    assert metrics.hamming_error(Y_TEST, classifier.predict(X_TEST)) < 0.13


def joint(classifier, x, candidates):
    """p(v | u) over candidates, averaged over models: plain exponentials of F."""
    u = torch.from_numpy(x)[None]
    total = np.zeros(len(candidates))
    for model in classifier.models_:
        free = [
            model.free_energy(torch.tensor([v]).float(), u).item() for v in candidates
        ]
        weight = np.exp(-np.array(free) + min(free))
        total += weight / weight.sum()
    return total / len(classifier.models_)


def candidates_of(classifier, x):
    if not hasattr(classifier, "sets_"):
        return [list(v) for v in itertools.product((0, 1), repeat=6)]
    found = classifier.sets_.candidates(x[None])
    return found.table[0][found.mask[0]].int().tolist()


def test_top_sets_and_scores_are_those_of_enumeration(classifier):
    top = classifier.predict_top_k(X_TEST[:5], k=4)
    for case in range(5):
        candidates = candidates_of(classifier, X_TEST[case])
        p = joint(classifier, X_TEST[case], candidates)
        order = np.argsort(-p)[:4]
        np.testing.assert_allclose(top.probability[case], p[order], rtol=1e-3)
        assert top.labels[case].tolist() == [candidates[i] for i in order]
        several = np.array([candidates[i] for i in order])
        again = np.repeat(X_TEST[case : case + 1], len(order), axis=0)
        scores = classifier.score_samples(again, several)
        np.testing.assert_allclose(scores, np.log(p[order]), rtol=1e-3, atol=1e-4)


def test_scores_sum_unknown_labels_out(classifier):
    labels = Y_TEST[:3].copy()
    labels[:, 2:4] = np.nan
    total = np.zeros(3)
    for pair in itertools.product((0, 1), repeat=2):
        labels[:, 2:4] = pair
        total += np.exp(classifier.score_samples(X_TEST[:3], labels))
    labels[:, 2:4] = np.nan
    found = np.exp(classifier.score_samples(X_TEST[:3], labels))
    np.testing.assert_allclose(found, total, rtol=1e-3, atol=1e-6)


def test_without_labels_the_prediction_is_scored(classifier):
    found = classifier.score_samples(X_TEST[:9])
    expected = classifier.score_samples(X_TEST[:9], classifier.predict(X_TEST[:9]))
    assert np.array_equal(found, expected)


def test_known_labels_are_kept_and_inform_the_others(classifier):
    """Outputs move together: telling three of six must help with the rest."""
    known = np.full_like(Y_TEST, np.nan)
    known[:, ::2] = Y_TEST[:, ::2]
    told = classifier.predict(X_TEST, known=known)
    assert np.array_equal(told[:, ::2], Y_TEST[:, ::2])
    p = classifier.predict_proba(X_TEST, known=known)
    assert np.array_equal(p[:, ::2], Y_TEST[:, ::2])
    if type(classifier) is crbm.LogisticClassifier:
        return  # each label on its own: nothing to gain
    before = metrics.label_log_loss(
        Y_TEST[:, 1::2], classifier.predict_proba(X_TEST)[:, 1::2]
    )
    assert (
        metrics.label_log_loss(Y_TEST[:, 1::2], p[:, 1::2].clip(1e-3, 0.999)) < before
    )


def test_hash_marginals_are_exact_over_the_candidates(hashed):
    p = hashed.predict_proba(X_TEST[:10])
    for case in range(10):
        candidates = candidates_of(hashed, X_TEST[case])
        expected = joint(hashed, X_TEST[case], candidates) @ np.array(candidates)
        np.testing.assert_allclose(p[case], expected, rtol=1e-3, atol=1e-5)


def test_hash_given_known_labels_conditions_on_agreeing_candidates(hashed):
    known = np.full((10, 6), np.nan)
    known[:, 0] = Y_TEST[:10, 0]
    p = hashed.predict_proba(X_TEST[:10], known=known)
    for case in range(10):
        candidates = candidates_of(hashed, X_TEST[case])
        agreeing = [v for v in candidates if v[0] == known[case, 0]]
        if not agreeing:
            continue
        expected = joint(hashed, X_TEST[case], agreeing) @ np.array(agreeing)
        np.testing.assert_allclose(p[case], expected, rtol=1e-3, atol=1e-5)


def score(measure, answer, truth):
    """F1 or the Jaccard index of one answer."""
    both, total = (answer & truth).sum(), answer.sum() + truth.sum()
    if total == 0:
        return 1.0
    return 2 * both / total if measure == "example_f1" else both / (total - both)


@pytest.mark.parametrize("measure", ["example_f1", "jaccard"])
def test_hash_predicts_the_best_answer_over_the_candidates(hashed, measure, tmp_path):
    """No other answer scores more in expectation, with known labels and without."""
    chosen = copy.copy(hashed).set_params(prediction=measure)
    known = np.full((10, 6), np.nan)
    known[5:, 0] = Y_TEST[5:10, 0]
    answers = chosen.predict(X_TEST[:10], known=known)
    assert np.array_equal(answers[5:, 0], known[5:, 0])
    for case in range(10):
        candidates = np.array(candidates_of(hashed, X_TEST[case]))
        agrees = ((candidates == known[case]) | np.isnan(known[case])).all(1)
        p = joint(hashed, X_TEST[case], candidates[agrees].tolist())
        values = {
            answer: sum(
                chance * score(measure, np.array(answer), truth)
                for chance, truth in zip(p, candidates[agrees], strict=True)
            )
            for answer in itertools.product((0, 1), repeat=6)
        }
        assert values[tuple(answers[case])] > max(values.values()) - 1e-5
    chosen.save(tmp_path / "model.safetensors")
    loaded = crbm.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.predict(X_TEST), chosen.predict(X_TEST))


def test_hash_answers_when_no_candidate_agrees_with_what_is_known(hashed):
    odd = np.array([[1, 1, 1, 1, 1, np.nan]])
    assert not (Y[:, :5] == 1).all(1).any()
    assert hashed.predict(X_TEST[:1], known=odd)[0, :5].tolist() == [1] * 5


def test_the_mode_stays_among_the_sets_seen_and_marginals_may_leave(hashed):
    mode = crbm.HashCRBMClassifier(
        **SETTINGS, n_hidden=8, n_bits=3, prediction="mode"
    ).fit(X, Y)
    seen = {tuple(row) for row in Y}
    assert all(tuple(row) in seen for row in mode.predict(X_TEST))
    expected = hashed.predict_top_k(X_TEST, k=1).labels[:, 0]
    assert np.array_equal(mode.predict(X_TEST), expected)


def test_marginals_predict_a_set_never_seen():
    """The worked example under Eq 16, through the classifier."""
    labels = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]] * 20)
    inputs = np.zeros((60, 2), dtype=np.float32)
    fitted = crbm.HashCRBMClassifier(n_epochs=3, random_state=0).fit(inputs, labels)
    assert fitted.predict(inputs[:1]).tolist() == [[1, 1, 1]]


def test_the_candidate_recall_is_that_of_cases_left_out(hashed):
    from crbm.hashing import CandidateSets

    judged = np.arange(0, 400, 10)
    rest = np.setdiff1d(np.arange(400), judged)
    expected = CandidateSets(3, 1).fit(X[rest], Y[rest]).recall(X[judged], Y[judged])
    assert hashed.candidate_recall_ == expected


@pytest.mark.parametrize("name", ["logistic", "crf", "crbm-perceptron", "hash"])
def test_missing_labels_are_learned_around(name):
    """A third of all labels unknown: far better than dropping every such row."""
    rng = np.random.default_rng(0)
    holes = np.where(rng.random(Y.shape) < 0.33, np.nan, Y)
    assert (~np.isnan(holes).any(1)).sum() > 10  # some sets are seen whole
    classifier = CLASSIFIERS[name]
    fitted = type(classifier)(**classifier.get_params()).fit(X, holes)
    assert metrics.hamming_error(Y_TEST, fitted.predict(X_TEST)) < 0.16


def test_known_labels_that_agree_with_no_candidate_become_one():
    labels = np.array([[1, 0, 0], [0, 1, 0], [1, 1, np.nan]] * 10, dtype=float)
    inputs = np.repeat(np.eye(3, dtype=np.float32), 10, axis=0)[
        np.arange(30).reshape(3, 10).T.ravel()
    ]
    fitted = crbm.HashCRBMClassifier(
        radius=None, n_epochs=20, learning_rate=0.5, random_state=0
    ).fit(inputs, labels)
    assert all(np.isfinite(h.loss).all() for h in fitted.histories_)


def test_thresholds_are_tuned_on_held_out_cases_and_used():
    fitted = crbm.LogisticClassifier(**SETTINGS, thresholds="macro_f1").fit(X, Y)
    assert not np.allclose(fitted.thresholds_, 0.5)
    p = fitted.predict_proba(X_TEST)
    assert np.array_equal(fitted.predict(X_TEST), (p > fitted.thresholds_).astype(int))


def test_early_stopping_holds_cases_out():
    fitted = crbm.LogisticClassifier(
        random_state=0, learning_rate=0.3, n_epochs=500, early_stopping=True, patience=3
    ).fit(X, Y)
    assert fitted.histories_[0].stopped == "early"
    assert fitted.n_iter_ < 500


def test_given_validation_cases_are_used():
    fitted = crbm.LogisticClassifier(**SETTINGS, stop_by="error")
    fitted.fit(X, Y, validation=(X_TEST, Y_TEST))
    history = fitted.histories_[0]
    best = min(history.validation)
    assert metrics.hamming_error(Y_TEST, fitted.predict(X_TEST)) == pytest.approx(best)


def test_an_ensemble_averages_the_joint():
    ensemble = CLASSIFIERS["hash-ensemble"].fit(X, Y)
    assert len(ensemble.models_) == 3
    weights = [model.weight_vh for model in ensemble.models_]
    assert not torch.equal(weights[0], weights[1])
    u = torch.from_numpy(X_TEST)
    table = ensemble.sets_.table_
    members = [
        exact.marginals(model.condition(u), candidates=table).v
        for model in ensemble.models_
    ]
    expected = torch.stack(members).mean(0).detach().numpy()
    np.testing.assert_allclose(ensemble.predict_proba(X_TEST), expected, atol=1e-6)


def test_many_labels_compare_the_sets_seen():
    rng = np.random.default_rng(0)
    patterns = (rng.random((4, 25)) < 0.5).astype(np.float32)
    which = rng.integers(4, size=300)
    inputs = np.eye(4, dtype=np.float32)[which]
    fitted = crbm.LogisticClassifier(
        random_state=0, learning_rate=2.0, n_epochs=80
    ).fit(inputs, patterns[which])
    top = fitted.predict_top_k(inputs[:8], k=3)
    assert np.array_equal(top.labels[:, 0], patterns[which[:8]])
    expected = np.exp(fitted.score_samples(inputs[:8], patterns[which[:8]]))
    np.testing.assert_allclose(top.probability[:, 0], expected, rtol=1e-4)


def test_log_partition_estimates_are_near():
    """AIS and Bethe take over where neither layer can be enumerated."""
    from crbm.estimators import joint as joint_module

    small = crbm.CRBM(3, 24, 10, torch.Generator().manual_seed(0))
    model = crbm.CRBM(3, 24, 24, torch.Generator().manual_seed(0))
    with torch.no_grad():  # 14 hidden units more, connected to nothing
        small.weight_vh.normal_(0, 0.5, generator=torch.Generator().manual_seed(1))
        model.weight_vh.zero_()[:, :10] = small.weight_vh
    zeros = torch.zeros(2, 3)
    truth = exact.log_partition(small.condition(zeros)) + 14 * np.log(2)
    estimate = joint_module.log_partition(model.condition(zeros))
    assert torch.allclose(estimate, truth, atol=0.3)  # 32 chains of 200 steps
    assert not torch.allclose(estimate, torch.full((2,), 48 * np.log(2)), atol=2.0)

    pairs = crbm.CRF(3, 24)
    with torch.no_grad():  # a chain: Bethe is exact, and so is a transfer matrix
        pairs.weight_vv.copy_(
            torch.diag(torch.ones(23), 1) + torch.diag(torch.ones(23), -1)
        )
    transfer = np.array([[1, 1], [1, np.e]])
    expected = np.log(np.linalg.matrix_power(transfer, 23).sum())
    estimate = joint_module.log_partition(pairs.condition(zeros))
    assert torch.allclose(estimate, torch.full((2,), expected).float(), atol=1e-3)


@pytest.mark.parametrize("log_z", [-1e4, torch.nan])
def test_an_estimate_of_log_z_that_is_too_low_gives_no_more_than_certainty(
    log_z, monkeypatch
):
    """The sets compared are a lower bound on it, whatever the estimate says."""
    from crbm.estimators import joint

    fitted = crbm.CRBMClassifier(n_epochs=1, n_hidden=3, random_state=0).fit(X, Y)
    monkeypatch.setattr(
        joint, "log_partition", lambda energy: torch.full(energy.batch_shape, log_z)
    )
    top = fitted.predict_top_k(X[:9], k=4).probability
    assert (top > 0).all()
    assert (top.sum(1) <= 1 + 1e-6).all()
    assert (fitted.score_samples(X[:9], Y[:9]) <= 0).all()
