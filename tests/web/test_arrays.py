"""Binary requests: the classifier's answers, and the same limits as for JSON."""

import asyncio
import io
import re

import numpy as np
import pytest
from fastapi.testclient import TestClient

import crbm
from crbm.web import LoadedModel, create_app
from crbm.web.middleware import LARGEST_BODY
from planted import copied_patterns

NPY = {"Content-Type": "application/x-npy"}
ROUTE = "/api/models/{}/predict-array"


def npy(values):
    file = io.BytesIO()
    np.save(file, values, allow_pickle=True)
    return file.getvalue()


def send(client, name, content, **headers):
    return client.post(ROUTE.format(name), content=content, headers=NPY | headers)


def with_header(text, payload=b""):
    """A .npy file with any header at all."""
    size = len(text).to_bytes(2, "little")
    return b"\x93NUMPY\x01\x00" + size + text.encode() + payload


@pytest.mark.parametrize("name", ["logistic", "crf", "crbm", "hash"])
def test_several_rows_get_the_probabilities_of_the_classifier(
    name, client, classifiers, cases
):
    answer = send(client, name, npy(cases.X))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-npy"
    found = np.load(io.BytesIO(answer.content))
    assert found.dtype == np.float32
    np.testing.assert_allclose(
        found, classifiers[name].predict_proba(cases.X), atol=1e-6
    )


@pytest.mark.parametrize("kind", ["<f4", ">f8", "<f2", "|u1", ">i2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_all_kinds_of_numbers_are_read(kind, order, client):
    values = np.arange(8).reshape(2, 4)
    found = send(client, "crf", npy(np.asarray(values, dtype=kind, order=order)))
    assert found.content == send(client, "crf", npy(values.astype(float))).content


def test_one_row_without_an_axis_of_cases_gets_one_row(client, cases):
    found = np.load(io.BytesIO(send(client, "crbm", npy(cases.X[0])).content))
    asked = {"input": cases.rows[0]}
    expected = client.post("/api/models/crbm/predict", json=asked).json()
    np.testing.assert_allclose(found, expected["probabilities"], atol=1e-6)


def test_nan_is_what_null_is_in_json(client, cases):
    row = [1.0, None, 1.0, 1.0]
    expected = client.post("/api/models/crbm/predict", json={"input": row}).json()
    answer = send(client, "crbm", npy(np.array(row, dtype=float)))
    found = np.load(io.BytesIO(answer.content))
    np.testing.assert_allclose(found, expected["probabilities"], atol=1e-6)


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, %s), }"
WRONG = {
    "nothing": (b"", "not a .npy file"),
    "JSON": (b'{"input": [1, 2, 3, 4]}', "not a .npy file"),
    "too few": (npy(np.ones(3)), "needs 4 numbers; got 3"),
    "too many": (npy(np.ones((2, 5))), "needs 4 numbers; got 5"),
    "no rows": (npy(np.ones((0, 4))), "1 to 2048 rows; got 0"),
    "many rows": (npy(np.ones((2049, 4), np.uint8)), "1 to 2048 rows; got 2049"),
    "three axes": (npy(np.ones((1, 1, 4))), "not a .npy file"),
    "no axis": (npy(np.float64(1)), "not a .npy file"),
    "text": (npy(np.array(["one"])), "not a .npy file"),
    "complex numbers": (npy(np.ones(4, complex)), "not a .npy file"),
    "a pickle": (npy(np.array([print] * 4)), "not a .npy file"),
    "an infinite value": (npy(np.array([1, np.inf, 1, 1])), r"Case 0: `input`\[1\]"),
    "an overflow": (
        npy(np.array([[1, 1, 1, 1], [1, 1, 1e39, 1]])),
        r"Case 1: `input`\[2\]: 1e\+39 overflows",
    ),
    "a cut end": (npy(np.ones(4))[:-1], "declares 32 bytes .* 31 follow"),
    "more than declared": (npy(np.ones(4)) + b"x", "declares 32 bytes .* 33 follow"),
    "a huge claim": (with_header(HEADER % "999999999"), "declares 7999999992 bytes"),
    "code": (with_header(HEADER % "__import__('os')"), "not a .npy file"),
    "depth": (with_header("(" * 60_000), "not a .npy file"),
    "a header that ends early": (with_header(HEADER % 4)[:40], "not a .npy file"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_bodies_get_one_line(name, client):
    content, message = WRONG[name]
    answer = send(client, "crbm", content)
    assert answer.status_code == 422
    assert re.search(message, answer.json()["detail"]), answer.json()


def test_the_type_of_the_body_is_that_of_the_route(client, cases):
    as_json = {"Content-Type": "application/json"}
    answer = send(client, "crbm", npy(cases.X), **as_json)
    assert answer.status_code == 415
    assert "application/x-npy" in answer.json()["detail"]
    answer = client.post("/api/models/crbm/predict", content=b"1", headers=NPY)
    assert answer.status_code == 415


def test_bodies_are_limited(client):
    assert send(client, "crbm", bytes(LARGEST_BODY + 1)).status_code == 413


def test_token_host_and_headers_hold():
    data = copied_patterns(40)
    classifier = crbm.LogisticClassifier(n_epochs=1, random_state=0)
    classifier.fit(data.u.numpy(), data.v.numpy())
    token = "correct-horse-battery"
    app = create_app(
        {"x": LoadedModel("x", classifier)}, token=token, allowed_hosts=["localhost"]
    )
    with TestClient(app, base_url="http://localhost") as client:
        content = npy(np.ones((2, 4)))
        assert send(client, "x", content).status_code == 401
        good = {"Authorization": f"Bearer {token}"}
        assert send(client, "x", content, Host="evil.org", **good).status_code == 400
        answer = send(client, "x", content, **good)
        assert answer.status_code == 200
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("route", ["predict-array", "predict"])
def test_a_client_that_goes_away_is_no_error_of_the_server(route, client):
    kind = b"application/x-npy" if route == "predict-array" else b"application/json"
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": f"/api/models/logistic/{route}",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", kind)],
    }
    messages = [
        {"type": "http.request", "body": b"\x93", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent = []

    async def receive():
        return messages.pop(0)

    async def send_message(message):
        sent.append(message)

    asyncio.run(client.app(scope, receive, send_message))  # raises nothing to log
    assert sent[0]["status"] == 400
