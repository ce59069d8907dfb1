"""Models of tables: rows by name, with missing values, over HTTP."""

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import crbm
from crbm.preprocessing import TableWarning
from crbm.web import create_app, load_models

N = 40
AT = np.arange(N)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A server of a model of mixed columns, and of one of named numbers."""
    frame = pd.DataFrame(
        {
            "id": AT,
            "age": np.where(AT % 5 == 0, np.nan, AT % 7),
            "plan": np.array(["free", "pro"])[AT % 2],
            "since": [f"{1 + i % 28:02d}.03.2024" for i in AT],
            "late": np.array(["yes", "no"])[AT % 3 % 2],
            "note": [f"we would like to {('stay', 'leave')[i % 2]} {i}" for i in AT],
        }
    )
    Y = pd.DataFrame({"pro": AT % 2, "late": AT % 3 % 2 == 0})
    options = {"learning_rate": 1.0, "n_epochs": 60, "random_state": 0}
    with pytest.warns(TableWarning, match="`id` is left out"):
        mixed = crbm.LogisticClassifier(**options).fit(frame, Y)
    mixed.describe(trained_on={"dropped": ["comment"]})
    numbers = crbm.LogisticClassifier(**options).fit(np.eye(4)[AT % 4], Y)
    numbers.describe(trained_on={"feature_names": list("abcd")})
    folder = tmp_path_factory.mktemp("models")
    mixed.describe(examples=frame[:3]).save(folder / "mixed.safetensors")
    numbers.save(folder / "numbers.safetensors")
    app = create_app(load_models(sorted(folder.iterdir())))
    with TestClient(app, base_url="http://127.0.0.1") as opened:
        yield opened


def predict(client, record, model="mixed", **more):
    answer = client.post(f"/api/models/{model}/predict", json={"input": record, **more})
    return answer.status_code, answer.json()


def test_a_row_is_given_by_names_in_any_order(client):
    status, found = predict(client, {"note": "leave", "plan": "pro", "late": True})
    assert status == 200
    assert found["labels"] == ["pro", "late"]
    status, found = predict(client, {"plan": "free", "late": "no", "age": None})
    assert found["labels"] == []


def test_unseen_levels_and_missing_values_are_answered(client):
    for record in ({}, {"plan": "gold", "since": None}, {"age": -3, "note": ""}):
        status, found = predict(client, record)
        assert status == 200
        assert all(0 <= p <= 1 for p in found["probabilities"])


def test_dates_are_read_as_in_training_or_as_iso(client):
    one = predict(client, {"since": "17.03.2024"})[1]
    assert predict(client, {"since": "2024-03-17"})[1] == one


def test_a_model_tells_its_columns_and_keeps_plain_examples(client):
    info = client.get("/api/models/mixed").json()
    assert info["input_names"] == ["age", "plan", "since", "late", "note"]
    kinds = {column["name"]: column["kind"] for column in info["columns"]}
    assert kinds["since"] == "date"
    assert info["columns"][1]["levels"] == ["free", "pro"]
    first = client.get("/api/models/mixed/examples").json()["inputs"][0]
    assert first == {
        "age": None,
        "plan": "free",
        "since": "2024-03-01T00:00:00",
        "late": True,
        "note": "we would like to stay 0",
    }
    assert predict(client, first)[0] == 200


def test_columns_that_training_left_out_may_be_there(client):
    row = {"plan": "pro", "age": 3}
    assert predict(client, {**row, "id": 7, "comment": [1]}) == predict(client, row)


def test_batches_and_label_sets_take_rows_by_name(client):
    rows = {"inputs": [{"plan": "pro"}, {"plan": "free"}]}
    batch = client.post("/api/models/mixed/predict-batch", json=rows).json()
    singles = [predict(client, row)[1] for row in rows["inputs"]]
    found = [p["probabilities"] for p in batch["predictions"]]
    np.testing.assert_allclose(found, [p["probabilities"] for p in singles], rtol=1e-5)
    body = {"input": {"plan": "pro"}, "known": {"late": 1}, "k": 2}
    sets = client.post("/api/models/mixed/top-k", json=body).json()["sets"]
    assert sets[0]["labels"] == ["pro", "late"]


def test_named_numbers_may_be_given_by_name_and_may_be_missing(client):
    assert client.get("/api/models/numbers").json()["input_names"] == list("abcd")
    by_place = predict(client, [0, 1, 0, None], "numbers")
    by_name = predict(client, {"c": 0, "d": None, "a": 0, "b": 1}, "numbers")
    assert by_place == by_name
    assert by_place[0] == 200


@pytest.mark.parametrize(
    ("record", "model", "message"),
    [
        ({"age": "old"}, "mixed", "`input`: column `age`: 'old' is not a number"),
        ({"since": "soon"}, "mixed", "column `since`: 'soon' is not a date"),
        ({"late": 2}, "mixed", "column `late`: '2' is neither yes nor no"),
        ({"plam": "pro"}, "mixed", "no column `plam`. Did you mean `plan`?"),
        ({"age": [1]}, "mixed", "column `age` must be a finite number, a text, true,"),
        (
            {"age": 10**400},
            "mixed",
            "column `age` must be a finite number, a text, true",
        ),
        (
            [1, 2, 3, 4, 5],
            "mixed",
            "`input` must be an object with the columns `age`, ",
        ),
        ({"a": "x"}, "numbers", "`input` must hold numbers, not 'x'"),
        ({"z": 1}, "numbers", "The model has no column `z`"),
        ({"pro": 1}, "mixed", "`pro` is a label. If it is known, put it into `known`"),
        ({"age": "1e400"}, "mixed", "column `age`: '1e400' is not a finite number"),
        ("x", "mixed", "`input`: must be an object from column names to values"),
        ([1, "pro"], "mixed", "A row with texts is an object from column names"),
    ],
)
def test_a_wrong_row_is_named(client, record, model, message):
    status, found = predict(client, record, model)
    assert status == 422
    assert message in found["detail"]


def test_one_wrong_row_of_a_batch_is_named(client):
    rows = {"inputs": [{}, {"age": "old"}]}
    answer = client.post("/api/models/mixed/predict-batch", json=rows)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("Case 1: `input`: column `age`: 'old'")


def test_a_model_without_names_or_medians_says_so(client, tmp_path):
    classifier = crbm.LogisticClassifier(n_epochs=1).fit(np.eye(4), np.eye(4, 2))
    del classifier.missing_  # as in a file of an earlier version
    classifier.save(tmp_path / "old.safetensors")
    app = create_app(load_models([tmp_path / "old.safetensors"]))
    with TestClient(app, base_url="http://127.0.0.1") as old:
        assert "has no column names" in predict(old, {"a": 1}, "old")[1]["detail"]
        detail = predict(old, [None, 0, 0, 0], "old")[1]["detail"]
        assert "missing values, which the model does not know" in detail
