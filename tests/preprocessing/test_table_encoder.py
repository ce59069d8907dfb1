"""Recognition and encoding of the columns of a table."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from crbm.preprocessing import Table, TableEncoder, TableWarning
from crbm.preprocessing.columns import date_features

N = 40
SENTENCES = ("the cat sat down", "a dog ran far away", "the bird flew over it")


def mixed(**more):
    """A frame with a column of each kind."""
    at = np.arange(N)
    return pd.DataFrame(
        {
            "age": np.where(at % 7 == 0, np.nan, at % 11),
            "price": [f"{i % 9},5" for i in at],
            "plan": np.array(["free", "pro", "gold", None], dtype=object)[at % 4],
            "joined": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2023" for i in at],
            "active": np.array(["yes", "no"])[at % 2],
            "note": [f"{SENTENCES[i % 3]} number{i}" for i in at],
            **more,
        }
    )


def fitted(frame, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        return TableEncoder(**options).fit(frame)


@parametrize_with_checks([TableEncoder()])
def test_contract(estimator, check):
    check(estimator)


def test_each_kind_is_recognised():
    kinds = {name: f.kind for name, f in fitted(mixed()).recognised_.items()}
    assert kinds == {
        "age": "number",
        "price": "number",
        "plan": "categorical",
        "joined": "date",
        "active": "boolean",
        "note": "text",
    }


def test_numbers_are_standardised_and_missing_ones_marked():
    frame = mixed()
    encoder = fitted(frame[["age", "price"]])
    ages = frame["age"].fillna(frame["age"].median()).to_numpy()
    prices = np.array([float(p.replace(",", ".")) for p in frame["price"]])
    expected = [(x - x.mean()) / x.std() for x in (ages, prices)]
    found = encoder.transform(frame)
    assert encoder.get_feature_names_out().tolist() == ["age", "price", "age=missing"]
    np.testing.assert_allclose(found[:, :2], np.transpose(expected), atol=1e-6)
    np.testing.assert_array_equal(found[:, 2], frame["age"].isna())


def test_rare_and_unseen_levels_share_a_column():
    plans = ["free"] * 210 + ["Pro"] * 200 + ["pro"] * 8 + ["odd", "rare"]
    encoder = fitted(pd.DataFrame({"plan": plans}))
    assert encoder.get_feature_names_out().tolist() == [
        "plan=free",
        "plan=Pro",
        "plan=other",
    ]
    asked = encoder.transform(pd.DataFrame({"plan": ["PRO", "odd", "new", None]}))
    assert asked.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_the_number_of_levels_is_bounded():
    frame = pd.DataFrame({"city": [f"c{i % 20}" for i in range(60)]})
    names = fitted(frame, max_levels=3).get_feature_names_out()
    assert names.tolist() == ["city=c0", "city=c1", "city=c10", "city=other"]


def test_dates_become_numbers():
    dates = np.array(["2023-12-31T18:00", "NaT"], dtype="datetime64[us]")
    found = date_features(dates, np.datetime64("2023-12-30"))
    first = {name: float(part[0]) for name, part in found.items()}
    assert first == {"since": 1.75, "year": 2023, "month": 12, "weekday": 7, "hour": 18}
    assert all(np.isnan(part[1]) for part in found.values())
    names = fitted(mixed()[["joined"]]).get_feature_names_out().tolist()
    assert names == ["joined: since", "joined: month", "joined: weekday"]


def test_texts_are_weighted_words():
    encoder = fitted(mixed()[["note"]], max_words=4)
    found = encoder.transform(pd.DataFrame({"note": ["the THE bird", "unheard", None]}))
    assert sparse.issparse(found)
    assert len(encoder.get_feature_names_out()) == 4
    np.testing.assert_allclose(np.linalg.norm(found.toarray(), axis=1), [1, 0, 0])


def test_sentences_that_repeat_are_texts_if_there_are_many():
    def kind(n_distinct):
        sentences = [f"the app crashed with {i}" for i in range(n_distinct)] * 4
        frame = pd.DataFrame(
            {"message": sentences, "size": np.arange(4.0 * n_distinct)}
        )
        return fitted(frame).recognised_["message"].kind

    assert [kind(40), kind(60)] == ["categorical", "text"]


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (np.arange(N), "it numbers the rows"),
        (np.arange(N)[::-1], "it numbers the rows"),
        ([f"user{i}@example.org" for i in range(N)], "nearly every value is different"),
        ([7.0] * N, "all of its values are the same"),
        ([None] * N, "it has no values"),
    ],
)
def test_ids_and_empty_columns_are_left_out_with_a_warning(column, reason):
    with pytest.warns(TableWarning, match=f"Column `user_id` is left out: {reason}"):
        encoder = TableEncoder().fit(mixed(user_id=column))
    assert "user_id" not in encoder.used_columns
    encoder.transform(mixed())  # and nobody asks for them later


def test_numbers_that_only_look_like_ids_are_kept():
    frame = mixed(paid=np.arange(N)[::-1], year=np.arange(N) + 1980)
    assert {"paid", "year"} <= set(fitted(frame).used_columns)


def test_a_user_decides_otherwise():
    frame = mixed(code=np.arange(N) % 3)
    options = {"drop": ["age"], "categorical": ["code"], "text": ["plan"]}
    kinds = {n: f.kind for n, f in fitted(frame, **options).recognised_.items()}
    assert (kinds["age"], kinds["code"], kinds["plan"]) == (None, "categorical", "text")
    with pytest.raises(ValueError, match=r"no column `codes`. Did you mean `code`\?"):
        fitted(frame, drop=["codes"])


def test_columns_are_found_by_name_in_any_order():
    frame = mixed()
    encoder = fitted(frame)
    shuffled = frame[frame.columns[::-1]].assign(more=1)
    difference = encoder.transform(shuffled) - encoder.transform(frame)
    assert not difference.count_nonzero()
    with pytest.raises(ValueError, match="no column `plan`"):
        encoder.transform(frame.drop(columns="plan"))


def test_what_was_learned_is_plain_data_and_tensors():
    frame = mixed()
    encoder = fitted(frame)
    plain, tensors = encoder.state()
    same = TableEncoder.from_state(json.loads(json.dumps(plain)), tensors)
    difference = same.transform(frame) - encoder.transform(frame)
    assert not difference.count_nonzero()
    assert same.get_feature_names_out().tolist() == (
        encoder.get_feature_names_out().tolist()
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"has_other": 2}, "`has_other` must be"),
        ({"levels": [1, 2]}, "`levels` must be"),
        ({"class": "Popen"}, "Popen"),
    ],
)
def test_a_file_that_claims_something_else_is_refused(change, message):
    plain, tensors = fitted(mixed()[["plan"]]).state()
    plain["encoders"][0] |= change
    with pytest.raises((ValueError, KeyError), match=message):
        TableEncoder.from_state(plain, tensors)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"age": "old"}, "Row 1, column `age`: 'old' is not a number"),
        ({"age": np.inf}, "Row 1, column `age`: 'inf' is not a finite number"),
        ({"joined": "soon"}, "Row 1, column `joined`: 'soon' is not a date"),
        ({"active": "perhaps"}, "column `active`: 'perhaps' is neither yes nor no"),
    ],
)
def test_a_wrong_value_is_named_with_its_row_and_column(wrong, message):
    encoder = fitted(mixed())
    row = dict.fromkeys(encoder.used_columns) | wrong
    with pytest.raises(ValueError, match=message):
        encoder.transform([row])


@pytest.mark.parametrize("good", ["12", "2024-01-02"])
def test_one_mistake_among_many_values_does_not_change_the_kind(good):
    table = Table.from_records([{"a": good if i != 7 else "oops"} for i in range(N)])
    with pytest.raises(ValueError, match="Row 8, column `a`: 'oops' is not a"):
        TableEncoder().fit(table)
    assert TableEncoder(categorical=["a"]).fit(table).n_outputs == 2


def test_lists_and_tables_without_a_usable_column_are_refused():
    with pytest.raises(ValueError, match="Column `tags` holds lists"):
        TableEncoder().fit(Table.from_records([{"tags": ["a"]}, {"tags": []}]))
    with pytest.raises(ValueError, match="None of the 1 columns can be used: `a`"):
        TableEncoder().fit(pd.DataFrame({"a": [1.0, 1.0]}))
