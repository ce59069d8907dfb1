"""Pipelines of scikit-learn around our classifiers, as files."""

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import crbm
from crbm.preprocessing.description import fields
from crbm.web.app import create_app
from crbm.web.models import load_models

RNG = np.random.default_rng(0)
N = 120
ROWS = pd.DataFrame(
    {
        "age": RNG.normal(40, 10, N),
        "plan": RNG.choice(["free", "pro"], N),
        "seats": RNG.choice([1, 5], N),
        "text": RNG.choice(["refund please now", "the app has a bug"], N),
        "id": np.arange(N),
    }
)
Y = np.column_stack([ROWS.text.str.contains("refund"), ROWS.age > 40]).astype(int)
MESSY = ROWS.copy()
MESSY.loc[::7, "age"] = np.nan
MESSY.loc[::11, "plan"] = np.nan
QUICK = {"n_epochs": 3, "n_hidden": 4, "random_state": 0}


def new_pipeline(classifier=None, **steps):
    columns = {
        "numbers": (make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
        "levels": (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"),
                OneHotEncoder(handle_unknown="ignore"),
            ),
            ["plan", "seats"],
        ),
        "words": (TfidfVectorizer(), "text"),
    }
    columns |= steps
    chosen = ColumnTransformer([(name, *part) for name, part in columns.items()])
    return make_pipeline(chosen, classifier or crbm.HashCRBMClassifier(**QUICK))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    pipeline = new_pipeline().fit(MESSY, Y)
    path = tmp_path_factory.mktemp("pipeline") / "tickets.safetensors"
    crbm.save(pipeline, path)
    return pipeline, path


def test_it_predicts_raw_rows_as_the_pipeline_did(saved):
    pipeline, path = saved
    loaded = crbm.load(path)
    for rows in (MESSY, ROWS[::-1], ROWS[["text", "seats", "plan", "age", "id"]]):
        assert np.array_equal(loaded.predict_proba(rows), pipeline.predict_proba(rows))
    assert list(loaded.feature_names_in_) == list(ROWS.columns)
    loaded.save(path.with_name("again.safetensors"))
    again = crbm.load(path.with_name("again.safetensors"))
    assert np.array_equal(again.predict(MESSY), pipeline.predict(MESSY))


def test_the_columns_have_kinds_and_levels(saved):
    columns = {
        field.pop("name"): field for field in fields(crbm.load(saved[1]).encoder_)
    }
    assert columns == {
        "age": {"kind": "number", "levels": None},
        "plan": {"kind": "categorical", "levels": ["free", "pro"]},
        "seats": {"kind": "number", "levels": None},
        "text": {"kind": "text", "levels": None},
    }


def test_it_is_served_by_column_names(saved):
    pipeline, path = saved
    row = {"age": 57, "plan": "pro", "seats": 5, "text": "refund please"}
    with TestClient(create_app(load_models([path])), "http://localhost") as client:
        answer = client.post("/api/models/tickets/predict", json={"input": row}).json()
        wrong = client.post("/api/models/tickets/predict", json={"input": {"agee": 1}})
    expected = pipeline.predict_proba(pd.DataFrame([row | {"id": 0}]))[0]
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-6)
    assert wrong.status_code == 422
    assert "Did you mean `age`?" in wrong.json()["detail"]


@pytest.mark.parametrize("steps", [(StandardScaler(),), (SimpleImputer(), PCA(2))])
def test_a_pipeline_of_arrays(steps, tmp_path):
    X = ROWS[["age", "seats", "id"]].to_numpy(float)
    pipeline = make_pipeline(*steps, crbm.LogisticClassifier(n_epochs=2)).fit(X, Y)
    crbm.save(pipeline, tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    # not bit for bit: the order in memory is another, and so is that of sums
    np.testing.assert_allclose(loaded.predict_proba(X), pipeline.predict_proba(X), 1e-6)
    with pytest.raises(ValueError, match="X has 2 features"):
        loaded.predict(X[:, :2])


def test_missing_numbers_that_the_steps_leave_are_filled_in(tmp_path):
    X = MESSY[["age", "seats"]]
    pipeline = make_pipeline(StandardScaler(), crbm.LogisticClassifier(n_epochs=2))
    crbm.save(pipeline.fit(X, Y), tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    assert np.array_equal(loaded.predict_proba(X), pipeline.predict_proba(X))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "a classifier of crbm",
        ),
        (LogisticRegression(), "must be an estimator of crbm"),
        (
            make_pipeline(TfidfVectorizer(), crbm.HashCRBMClassifier(**QUICK)),
            "TfidfVectorizer, takes no columns. Put it into a ColumnTransformer",
        ),
    ],
)
def test_other_models_are_refused(model, message, tmp_path):
    X = list(ROWS.text) if "takes no columns" in message else ROWS[["age"]]
    if hasattr(model, "steps"):
        model.fit(X, Y if "crbm" in str(type(model[-1])) else Y[:, 0])
    with pytest.raises((TypeError, ValueError), match=message):
        crbm.save(model, tmp_path / "m.safetensors")


def test_steps_with_code_are_refused_by_name(tmp_path):
    classifier = crbm.HashCRBMClassifier(**QUICK)
    pipeline = make_pipeline(FunctionTransformer(twice), classifier)
    pipeline.fit(ROWS[["age"]], Y)
    with pytest.raises(ValueError, match=r"The pipeline holds `[\w.]*twice`"):
        crbm.save(pipeline, tmp_path / "m.safetensors")
    assert not list(tmp_path.iterdir())


def twice(X):
    return 2 * X


def test_a_pipeline_of_a_table_encoder_is_saved(tmp_path):
    encoder = crbm.preprocessing.TableEncoder(drop=["id"], text=["text"])
    pipeline = make_pipeline(encoder, crbm.LogisticClassifier(n_epochs=3)).fit(MESSY, Y)
    crbm.save(pipeline, tmp_path / "m.safetensors")
    loaded = crbm.load(tmp_path / "m.safetensors")
    rows = MESSY[["text", "seats", "plan", "age"]]
    assert np.array_equal(loaded.predict_proba(rows), pipeline.predict_proba(MESSY))
