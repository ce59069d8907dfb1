"""Held-out errors, baselines, notices and the page that `crbm train` writes."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crbm
from crbm import datasets, metrics
from crbm.commands import assessment, evaluate, judging, notices, train
from crbm.commands.assessment import MOST_COMMON, REGRESSION, Assessment
from crbm.commands.baselines import Answer, logistic_regression, most_common_answer
from crbm.commands.reading import Reading
from crbm.preprocessing import Table

QUICK = {"n_epochs": 2, "random_state": 0}


@pytest.fixture(scope="module")
def assessed(pets):
    classifier = crbm.LogisticClassifier(**QUICK, preprocessing="standardise")
    return assessment.assess(classifier, pets, fraction=0.25)


def test_the_model_is_measured_on_rows_it_did_not_learn_from(assessed, pets):
    """The same split by hand: the held-out rows are those whose labels it has."""
    learned, test = assessment.divided(pets, 0.25)
    assert sorted([*learned, *test]) == list(range(120))
    assert abs(len(test) - 30) <= 3
    own = crbm.LogisticClassifier(**QUICK, preprocessing="standardise")
    own.fit(pets.X[learned], pets.Y[learned])
    truth, predicted = pets.Y[test], own.predict(pets.X[test])
    assert np.array_equal(assessed.truth, truth)
    found = assessed.scores()["LogisticClassifier"]
    assert found["hamming_error"] == metrics.hamming_error(truth, predicted)
    assert found["example_f1"] == metrics.example_f1(truth, predicted)
    p = own.predict_proba(pets.X[test])
    assert found["label_log_loss"] == metrics.label_log_loss(truth, p)


def test_logistic_regression_is_that_of_scikit_learn(assessed, pets):
    learned, test = assessment.divided(pets, 0.25)
    peer = make_pipeline(StandardScaler(), MultiOutputClassifier(LogisticRegression()))
    peer.fit(pets.X[learned], pets.Y[learned])
    expected = np.column_stack([p[:, 1] for p in peer.predict_proba(pets.X[test])])
    found = assessed.answers[REGRESSION].probabilities
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_logistic_regression_of_tables_constants_and_unknown_labels():
    ages = [20.0, 30.0, None, 50.0, 60.0, 70.0] * 5
    plans = ["free", "paid", "paid"] * 10
    rows = [{"age": a, "plan": p} for a, p in zip(ages, plans, strict=True)]
    paid = np.array([plan == "paid" for plan in plans], dtype=float)
    Y = np.column_stack([paid, np.ones(30), np.full(30, np.nan)])
    Y[3, 0] = np.nan
    table = Table.from_records(rows)
    found = logistic_regression(table, Y, table)
    assert np.array_equal(found.labels[:, 0], paid)
    assert (found.probabilities[:, 1] == 1).all()
    assert (found.probabilities[:, 2] == 0.5).all()


def test_logistic_regression_is_left_out_of_large_data(monkeypatch):
    monkeypatch.setattr("crbm.commands.baselines.LARGEST_REGRESSION", 10)
    assert logistic_regression(np.eye(4), np.eye(4), np.eye(4)) is None


def test_the_most_common_answer_with_unknown_labels():
    Y = np.array([[0.0, np.nan], [1.0, np.nan], [1.0, np.nan]])
    assert most_common_answer(Y, 2).labels.tolist() == [[True, False]] * 2


def test_training_reports_held_out_measures_and_saves_the_same_model(folder, tmp_path):
    source, options = str(folder / "pets.csv"), {"reading": Reading(labels=-6)}
    options |= {"model": "logreg", "parameters": QUICK}
    plain = train.run(source, tmp_path / "a.safetensors", **options)
    judged = train.run(source, tmp_path / "b.safetensors", held_out=0.2, **options)
    assert "held_out" not in plain
    found = judged["held_out"]
    assert list(found["metrics"]) == ["LogisticClassifier", MOST_COMMON, REGRESSION]
    assert found["n_cases"] + found["n_train"] == 120
    one, other = (crbm.load(tmp_path / f"{name}.safetensors") for name in "ab")
    X = np.ones((3, 4), dtype=np.float32)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_the_model_stays_when_measuring_is_interrupted(folder, tmp_path, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(judging, "assess", interrupt)
    found = train.run(
        str(folder / "pets.npz"),
        tmp_path / "m.safetensors",
        model="logreg",
        parameters=QUICK,
        held_out=0.1,
    )
    assert "Interrupted: the error on held-out rows" in found["notices"][-1]
    assert crbm.load(tmp_path / "m.safetensors").n_labels_ == 6
    assert "No rows were held out" in (tmp_path / "m.report.html").read_text()


def test_few_rows_and_a_wrong_fraction(pets, tmp_path):
    small = datasets.Dataset(X=pets.X[:12], Y=pets.Y[:12], name="small")
    datasets.write(tmp_path / "small.npz", small)
    options = {"model": "logreg", "parameters": QUICK}
    source, out = str(tmp_path / "small.npz"), tmp_path / "m.safetensors"
    found = train.run(source, out, held_out=0.1, **options)["notices"]
    assert any("only 12 rows" in notice for notice in found)
    assert any("Fewer than 20 rows" in notice for notice in found)
    with pytest.raises(ValueError, match="`held_out` must be between 0 and"):
        train.run(source, tmp_path / "n.safetensors", held_out=0.7, **options)


def test_the_page_stands_alone_and_escapes_names(pets, tmp_path):
    names = ("<b>dog</b>", *pets.label_names[1:])
    data = datasets.Dataset(X=pets.X, Y=pets.Y, name="pets & co", label_names=names)
    classifier = crbm.HashCRBMClassifier(**QUICK, init_scale=0.5, n_hidden=8)
    train.fit(classifier, data)
    judging.run(classifier, data, tmp_path / "m.safetensors", 0.2)
    page = (tmp_path / "m.report.html").read_text()
    assert "&lt;b&gt;dog&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "HashCRBMClassifier on pets &amp; co" in page
    assert not re.search(r"(src|href)=|https?://|\$", page)
    for words in ("held-out rows", "Calibration", "Strongest couplings", "cat, "):
        assert words in page
    assert "n_hidden" in page


def test_an_existing_page_is_kept_unless_forced(folder, tmp_path):
    (tmp_path / "m.report.html").write_text("mine")
    options = {"model": "logreg", "parameters": QUICK}
    source, out = str(folder / "pets.npz"), tmp_path / "m.safetensors"
    with pytest.raises(FileExistsError, match=r"m\.report\.html` exists"):
        train.run(source, out, **options)
    train.run(source, out, force=True, **options)
    assert "LogisticClassifier on" in (tmp_path / "m.report.html").read_text()


def test_constant_and_missed_labels_and_weak_models_are_named():
    Y = np.column_stack([np.zeros(200), np.ones(200), np.arange(200) % 2])
    found = notices.about_data(Y, ["a", "b", "c"])
    assert [re.findall("`(.)`", notice) for notice in found] == [["a"], ["b"]]
    truth = np.array([[1.0, 1.0], [1.0, 0.0]])
    p = np.full((2, 2), 0.5)
    weak = Answer(np.array([[True, False]] * 2), p)
    good = Answer(truth == 1, np.where(truth == 1, 0.9, 0.1))
    judged = Assessment("M", {"M": weak, MOST_COMMON: good}, truth, 10)
    missed, worse = notices.about_predictions(judged, ["a", "b"])
    assert "present there: `b`." in missed
    assert "not below that of the most common answer" in worse
    judged = Assessment("M", {"M": good, MOST_COMMON: weak}, truth, 10)
    assert notices.about_predictions(judged, ["a", "b"]) == []


def test_many_names_are_cut_short():
    names = [f"n{i}" for i in range(13)]
    assert notices.listed(names).endswith("`n9` and 3 more")


def test_negligible_couplings_are_named():
    weak = np.array([[0, 0.01], [0.01, 0]])
    assert "hidden units have hardly been trained" in notices.about_couplings(weak)[0]
    assert notices.about_couplings(-100 * weak) == []


def test_measuring_on_the_training_rows_is_noticed(folder, pets, tmp_path):
    rows = {"train": np.arange(100), "test": np.arange(100, 120)}
    parts = datasets.Dataset(X=pets.X, Y=pets.Y, name="parts", splits=rows)
    source, out = str(tmp_path / "parts.npz"), tmp_path / "m.safetensors"
    datasets.write(tmp_path / "parts.npz", parts)
    train.run(source, out, model="logreg", parameters=QUICK)
    for part, expected in ((None, False), ("test", False), ("train", True)):
        found = evaluate.run(out, source, reading=Reading(part=part))["notices"]
        assert any("trained on these rows" in n for n in found) is expected, part
    assert evaluate.run(out, str(folder / "pets.npz"))["notices"] == []
    assert evaluate.run(out, source, reading=Reading(part="all"))["notices"]
