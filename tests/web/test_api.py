"""The API returns the classifier's own results, bit for bit."""

import numpy as np
import pytest
import torch
from openapi_spec_validator import validate

from crbm.inference import exact, mean_field

KINDS = ["logistic", "crf", "crbm", "hash", "mode", "single"]
LABELS = [kind for kind in KINDS if kind != "single"]


def post(client, path, **body):
    answer = client.post(f"/api/models/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def present(classifier, labels):
    """The names of the labels that are 1."""
    return np.array(classifier.label_names_)[labels == 1].tolist()


def known_labels(**known):
    """Known labels by index: as a list for the API and as an array for estimators."""
    array = np.full((1, 6), np.nan)
    for place, value in known.items():
        array[0, int(place[1:])] = value
    listed = [None if np.isnan(value) else int(value) for value in array[0]]
    return listed, array


@pytest.mark.parametrize("kind", LABELS)
def test_a_prediction_is_that_of_the_classifier(client, classifiers, cases, kind):
    classifier = classifiers[kind]
    for row, x in zip(cases.rows, cases.X, strict=True):
        found = post(client, f"{kind}/predict", input=row)
        predicted = classifier.predict(x[None])[0]
        assert found["prediction"] == predicted.tolist()
        assert found["probabilities"] == classifier.predict_proba(x[None])[0].tolist()
        assert found["labels"] == present(classifier, predicted)


@pytest.mark.parametrize("kind", LABELS)
def test_known_labels_are_given_by_index_or_name(client, classifiers, cases, kind):
    listed, array = known_labels(_0=1, _4=0)
    own = classifiers[kind].predict_proba(cases.X[:1], known=array)[0].tolist()
    by_place = post(client, f"{kind}/predict", input=cases.rows[0], known=listed)
    by_name = post(
        client, f"{kind}/predict", input=cases.rows[0], known={"red": 1, "cold": 0}
    )
    assert by_place["probabilities"] == own
    assert by_name == by_place
    assert own != classifiers[kind].predict_proba(cases.X[:1])[0].tolist()


@pytest.mark.parametrize("kind", LABELS)
def test_a_batch_is_predicted_in_one_call(client, classifiers, cases, kind):
    found = post(client, f"{kind}/predict-batch", inputs=cases.rows)["predictions"]
    own = classifiers[kind].predict_proba(cases.X)
    assert [one["probabilities"] for one in found] == own.tolist()
    predicted = classifiers[kind].predict(cases.X)
    assert [one["prediction"] for one in found] == predicted.tolist()


def test_cases_with_and_without_known_labels_keep_their_order(
    client, classifiers, cases
):
    listed, array = known_labels(_2=1)
    known = [None, listed, None, {"blue": 1}, None, None]
    body = {"inputs": cases.rows, "known": known}
    found = post(client, "crbm/predict-batch", **body)["predictions"]
    free = classifiers["crbm"].predict_proba(cases.X)
    given = classifiers["crbm"].predict_proba(cases.X, known=np.repeat(array, 6, 0))
    expected = np.where([[entry is not None] for entry in known], given, free)
    found = [one["probabilities"] for one in found]
    # rows of a smaller batch differ in the last bit
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_single_column_of_two_classes_is_one_label(client, classifiers, cases):
    found = post(client, "single/predict", input=cases.rows[0])
    own = classifiers["single"].predict_proba(cases.X[:1])[0, 1]
    assert found["probabilities"] == [own]
    word = classifiers["single"].predict(cases.X[:1])[0]
    assert found["labels"] == (["yes"] if word == "yes" else [])
    assert post(client, "single/predict", input=cases.rows[0], known=[1])["labels"]


@pytest.mark.parametrize("kind", LABELS)
def test_the_top_sets_are_those_of_the_classifier(client, classifiers, cases, kind):
    classifier = classifiers[kind]
    listed, array = known_labels(_1=1)
    found = post(client, f"{kind}/top-k", input=cases.rows[0], k=3, known=listed)
    own = classifier.predict_top_k(cases.X[:1], k=3, known=array)
    expected = [
        {
            "labels": present(classifier, labels),
            "probability": chance,
        }
        for labels, chance in zip(own.labels[0], own.probability[0], strict=True)
        if chance > 0
    ]
    assert found["sets"] == expected
    assert all("green" in one["labels"] for one in found["sets"])


def test_the_trajectory_ends_where_mean_field_does(client, classifiers, cases):
    found = post(client, "crbm/trajectory", input=cases.rows[0], n_steps=7)
    model = classifiers["crbm"].models_[0]
    with torch.no_grad():
        energy = model.condition(torch.from_numpy(cases.X[:1]))
        means = mean_field.run(energy, n_steps=7).v
        start = energy.free_energy(energy.start())
        assert found["free_energy"][0] == start.item()
        assert found["free_energy"][-1] == energy.free_energy(means).item()
        assert found["bound"][-1] >= -exact.log_partition(energy).item()
    assert len(found["free_energy"]) == 8
    assert all(np.diff(found["bound"]) <= 1e-9)


def test_known_labels_change_the_trajectory(client, cases):
    free = post(client, "crbm/trajectory", input=cases.rows[0])
    given = post(client, "crbm/trajectory", input=cases.rows[0], known={"red": 0})
    assert free != given


def test_models_are_described(client, classifiers):
    models = {model["name"]: model for model in client.get("/api/models").json()}
    assert models.keys() == {*KINDS, "images"}
    assert models["images"]["image_shape"] == [8, 8]
    assert models["crf"]["image_shape"] is None
    assert models["crf"]["kind"] == "CRFClassifier"
    assert models["hash"]["parameters"]["n_bits"] == 7
    assert client.get("/api/models/crf").json() == models["crf"]
    assert models["crf"]["label_names"] == classifiers["crf"].label_names_
    assert models["crf"]["n_examples"] == 5


def test_examples_come_from_the_model_or_are_empty(client, classifiers):
    found = client.get("/api/models/crf/examples").json()
    own = classifiers["crf"].examples_.tolist()
    assert found == {"inputs": own, "source": "model"}
    nothing = client.get("/api/models/single/examples").json()
    assert nothing == {"inputs": [], "source": "none"}


def test_health_and_metrics(client, cases):
    assert client.get("/health").json()["status"] == "ok"
    before = client.get("/metrics").text
    post(client, "crf/predict-batch", inputs=cases.rows)
    after = client.get("/metrics").text
    line = 'crbm_requests_total{route="/api/models/{name}/predict-batch",status="200"}'
    assert line in after
    sums = [
        _metric(text, 'crbm_batch_size_sum{model="crf"}') for text in (before, after)
    ]
    assert sums[1] - sums[0] == len(cases.rows)


def _metric(text, name):
    lines = [line for line in text.splitlines() if line.startswith(name)]
    return float(lines[0].split()[-1]) if lines else 0.0


def test_the_schema_is_valid_and_covers_the_routes(client):
    schema = client.get("/openapi.json").json()
    validate(schema)
    assert "/api/models/{name}/predict" in schema["paths"]
    answers = schema["paths"]["/api/models/{name}/predict"]["post"]["responses"]
    statuses = (200, 400, 401, 404, 405, 408, 413, 415, 422, 431, 500, 503)
    assert answers.keys() == set(map(str, statuses))
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            assert {"200", "400", "401", "405"} <= operation["responses"].keys(), path


def test_the_page_loads_nothing_from_other_sites(client):
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "//" not in page.text.replace("<!doctype", "")
    for path in ("main.js", "style.css", "views.css", "icon.svg"):
        assert f"/static/{path}" in page.text
        assert client.get(f"/static/{path}").status_code == 200
