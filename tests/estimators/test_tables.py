"""Classifiers on frames of mixed columns, missing values and sets of labels."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import crbm
from crbm import persistence
from crbm.preprocessing import Table, TableWarning

N = 60
NAMES = ["bug", "cancel"]


def tickets():
    """A frame of mixed columns that decide the labels."""
    rng = np.random.default_rng(0)
    plan, late = rng.integers(3, size=N), rng.integers(2, size=N)
    frame = pd.DataFrame(
        {
            "id": np.arange(N),
            "age": np.where(rng.random(N) < 0.2, np.nan, rng.integers(18, 80, N)),
            "plan": np.array(["free", "pro", None], dtype=object)[plan],
            "late": np.array(["no", "yes"])[late],
        }
    )
    return frame, np.column_stack([plan == 0, late == 1]).astype(int)


def fitted(X, Y, **options):
    options = {"learning_rate": 1.0, "n_epochs": 40, "random_state": 0, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        return crbm.LogisticClassifier(**options).fit(X, Y)


@pytest.mark.parametrize(
    "convert", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, Table.from_frame]
)
def test_frames_of_mixed_columns_are_learned(convert):
    frame, Y = tickets()
    X = convert(frame)
    classifier = fitted(X, Y)
    assert classifier.score(X, Y) == 1.0
    assert classifier.feature_names_in_.tolist() == frame.columns.tolist()
    assert classifier.n_features_in_ == 4


def test_rows_are_taken_by_name_with_unseen_and_missing_values(tmp_path):
    frame, Y = tickets()
    classifier = fitted(frame, Y)
    classifier.save(tmp_path / "m.safetensors")
    same = crbm.load(tmp_path / "m.safetensors")
    rows = [{"late": True, "plan": "new", "age": None}, {"plan": "free", "late": None}]
    expected = classifier.predict_proba(pd.DataFrame(rows))
    np.testing.assert_array_equal(same.predict_proba(rows), expected)
    assert expected[0, 1] > 0.5 > expected[0, 0]
    assert expected[1, 0] > 0.5
    assert same.predict(frame[frame.columns[::-1]]).tolist() == Y.tolist()


def test_a_wrong_value_is_named():
    classifier = fitted(*tickets())
    with pytest.raises(ValueError, match="Row 2, column `age`: 'old' is not a number"):
        classifier.predict(pd.DataFrame({"age": [1, "old"], "plan": "", "late": "no"}))
    with pytest.raises(ValueError, match="no column `late`"):
        classifier.predict(pd.DataFrame({"age": [1], "plan": "pro"}))


def test_missing_numbers_are_imputed_and_their_absence_learned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    Y = (rng.random((N, 1)) < 0.5).astype(int)
    X[Y[:, 0] == 1, 1] = np.nan  # the absence itself decides
    classifier = fitted(X, Y)
    assert classifier.score(X, Y) == 1.0
    assert classifier.missing_.marked.tolist() == [1]


@pytest.mark.parametrize("preprocessing", ["none", "standardise"])
def test_values_missing_only_later_are_taken_for_the_median(preprocessing, tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 3)) + 5, (rng.random((N, 2)) < 0.5).astype(int)
    classifier = fitted(X, Y, preprocessing=preprocessing)
    asked, filled = X[:2].copy(), X[:2].copy()
    asked[1, 2], filled[1, 2] = np.nan, np.median(X[:, 2])
    expected = classifier.predict_proba(filled)
    np.testing.assert_array_equal(classifier.predict_proba(asked), expected)
    classifier.save(tmp_path / "m.safetensors")
    same = crbm.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(same.predict_proba(asked), expected)


def test_a_missing_number_of_a_sparse_matrix_is_zero():
    X = sparse.csr_array(np.array([[0.0, 2.0], [np.nan, 0.0], [3.0, 1.0]]))
    Y = np.array([[0, 1], [1, 0], [1, 1]])
    zeros = X.copy()
    zeros.data = np.nan_to_num(zeros.data)
    classifier = fitted(X, Y)
    np.testing.assert_array_equal(
        classifier.predict_proba(X), classifier.predict_proba(zeros)
    )


def test_infinity_is_refused_with_its_column():
    X = np.zeros((4, 3))
    X[2, 1] = -np.inf
    Y = np.array([[0, 1], [1, 0], [1, 1], [0, 0]])
    with pytest.raises(ValueError, match="Column 1 of X holds -inf"):
        fitted(X, Y)
    with pytest.raises(ValueError, match="Column `b` of X holds -inf"):
        fitted(pd.DataFrame(X, columns=list("abc")), Y)


def test_a_model_without_medians_refuses_missing_values():
    classifier = fitted(np.eye(4), np.eye(4, 2, dtype=int))
    del classifier.missing_  # as in a file of an earlier version
    assert classifier.predict(np.eye(4)).shape == (4, 2)
    with pytest.raises(ValueError, match=r"knows no missing values\. Column 1"):
        classifier.predict([[0, np.nan, 0, 0]])


SETS = [{"dog"}, {"cat", "dog"}, set(), {"cat"}] * 3


@pytest.mark.parametrize(
    "Y",
    [
        SETS,
        [sorted(names) for names in SETS],
        pd.Series([sorted(names) for names in SETS]),
        pd.DataFrame([[name in s for name in ("cat", "dog")] for s in SETS]).set_axis(
            ["cat", "dog"], axis=1
        ),
        pa.table(
            {n: ["yes" if n in s else "No" for s in SETS] for n in ("cat", "dog")}
        ),
    ],
    ids=["sets", "lists", "series", "bools", "words"],
)
def test_labels_are_sets_of_names_or_columns_of_yes_and_no(Y):
    X = np.array([[0, 1], [1, 1], [0, 0], [1, 0]] * 3, dtype=float)
    classifier = fitted(X, Y)
    assert classifier.label_names_ == ["cat", "dog"]
    assert classifier.predict(X).tolist() == X.astype(int).tolist()
    assert classifier.score(X, Y) == 1.0


def test_unknown_sets_stay_unknown_and_strange_ones_are_refused():
    X = np.arange(8.0)[:, None]
    classifier = fitted(X, [{"a"}, None, {"b"}, set()] * 2)
    assert classifier.label_names_ == ["a", "b"]
    with pytest.raises(ValueError, match="label `c`, which is not known"):
        classifier.score_samples(X[:1], [{"c"}])


def test_labels_of_another_kind_are_named():
    frame = pd.DataFrame({"a": ["yes", "no"], "b": ["no", "perhaps"]})
    with pytest.raises(ValueError, match="Row 2, column `b`: 'perhaps' is not 0 or 1"):
        fitted(np.eye(2), frame)


def test_an_encoder_of_other_columns_is_refused(tmp_path):
    frame, Y = tickets()
    path = tmp_path / "m.safetensors"
    fitted(frame, Y).save(path)
    tensors, described = persistence.read(path)
    encoders = described["fitted"]["encoder_"]["encoders"]
    next(each for each in encoders if "column" in each)["column"] = "lost"
    persistence.write(path, tensors, described)
    with pytest.raises(ValueError, match="encoded columns are not those of the table"):
        crbm.load(path)


@pytest.mark.parametrize("columns", [["age", "plan", "late"], ["x"]])
def test_the_index_of_a_pandas_frame_is_not_learned(columns):
    frame, Y = tickets()
    frame = frame.assign(x=np.arange(N) % 5.0)[columns].sample(frac=1, random_state=0)
    arrow = pa.Table.from_pandas(frame)
    assert "__index_level_0__" in arrow.column_names
    for X in (arrow, pl.from_arrow(arrow)):
        classifier = fitted(X, Y)
        assert classifier.feature_names_in_.tolist() == columns
        expected = classifier.predict_proba(frame)
        assert np.array_equal(classifier.predict_proba(X), expected)


def test_records_are_learned_and_predicted():
    frame, Y = tickets()
    rows = frame[["age", "plan", "late"]].to_dict("records")
    classifier = fitted(rows, Y)
    assert classifier.score(rows, Y) == 1.0
    numbers = fitted(frame[["age"]].fillna(0), Y)
    expected = numbers.predict_proba(pd.DataFrame({"age": [3.0, np.nan]}))
    np.testing.assert_allclose(
        numbers.predict_proba([{"age": 3}, {}]), expected, rtol=1e-5
    )  # records are read in single precision
    with pytest.raises(ValueError, match=r"one row by names\. Put it into a list"):
        classifier.predict(rows[0])


@pytest.mark.parametrize(
    "convert", [pd.Series, pl.Series, lambda sets: pa.chunked_array([sets])]
)
def test_series_of_lists_are_sets(convert):
    frame, Y = tickets()
    sets = [[name for name, y in zip(NAMES, row, strict=True) if y] for row in Y]
    classifier = fitted(frame, convert(sets))
    assert classifier.label_names_ == NAMES
    assert classifier.score(frame, Y) == 1.0


def test_missing_names_in_sets_are_no_labels():
    frame, _ = tickets()
    sets = [{"bug", None}, {"cancel", float("nan")}] * (N // 2)
    assert fitted(frame, sets).label_names_ == NAMES


def test_names_that_come_twice_and_numbers_too_large_are_named():
    frame, Y = tickets()
    with pytest.raises(ValueError, match="column name `age` appears twice"):
        fitted(frame.rename(columns={"plan": "age"}), Y)
    classifier = fitted(frame, Y)
    for age in (1e300, "1e39"):
        with pytest.raises(ValueError, match=r"Row 2, column `age`: .* is too large"):
            classifier.predict([{"age": 1}, {"age": age}])
