"""Invalid and hostile requests get an error of one line; the server keeps running."""

import asyncio
import json
import re

import numpy as np
import pytest
from starlette.exceptions import HTTPException

from crbm.web import prediction
from crbm.web.middleware import LARGEST_BODY, LimitedBody
from crbm.web.prediction import Case

GOOD = [0.5, 0.5, 0.5, 0.5]


def refused(client, path, body, status=422):
    """The error message of a refused request."""
    content = body if isinstance(body, str | bytes) else json.dumps(body)
    headers = {"Content-Type": "application/json"}
    answer = client.post(f"/api/models/{path}", content=content, headers=headers)
    assert answer.status_code == status, answer.text[:300]
    detail = answer.json()["detail"]
    assert "\n" not in detail
    assert len(detail) < 300
    assert client.get("/health").status_code == 200
    return detail


WRONG = {
    "too short": ({"input": GOOD[:3]}, "needs 4 numbers; got 3"),
    "too long": ({"input": GOOD * 2}, "needs 4 numbers; got 8"),
    "empty": ({"input": []}, "`input`"),
    "absent": ({}, "`input`: Field required"),
    "NaN": ({"input": [float("nan"), 1, 1, 1]}, r"`input`\[0\].*finite"),
    "infinite": ('{"input": [1e999, 1, 1, 1]}', "finite"),
    "a word": ({"input": ["one", 1, 1, 1]}, r"`input`\[0\].*number"),
    "a number as a word": ({"input": ["1", 1, 1, 1]}, "number"),
    "a boolean": ({"input": [True, 1, 1, 1]}, "number"),
    "null": ({"input": [None, 1, 1, 1]}, "number"),
    "all wrong": ({"input": [None] * 4}, "3 more"),
    "nested": ({"input": [[1, 2], 1, 1, 1]}, "number"),
    "an object": ({"input": {"0": 1}}, "`input`.*list"),
    "a huge whole number": ('{"input": [1%s, 1, 1, 1]}' % ("0" * 400), "`input`"),
    "overflow": ({"input": [1e300, -1e300, 1e300, 1e300]}, "overflow"),
    "an unknown field": ({"input": GOOD, "inptu": 1}, "`inptu`"),
    "a list": ([1, 2], "body|Body"),
    "no JSON": ('{"input": ', "not JSON"),
    "nothing": ("", "body|required"),
    "deep": ("[" * 100_000, "."),
    "deep input": ('{"input": ' + "[" * 900 + "]" * 900 + "}", "."),
    "known too short": ({"input": GOOD, "known": [1]}, "`known` needs 6 entries"),
    "known no label": ({"input": GOOD, "known": [2] * 6}, "`known` must be 0, 1"),
    "known a half": ({"input": GOOD, "known": {"red": 0.5}}, "`known` must be 0, 1"),
    "known of an unknown label": (
        {"input": GOOD, "known": {"rde": 1}},
        "no label `rde`.*`red`",
    ),
    "known long name": ({"input": GOOD, "known": {"x" * 10**6: 1}}, "no label"),
    "k": ({"input": GOOD, "k": 1}, "`k`"),
}
STATUS = {"deep": 400}


@pytest.mark.parametrize("case", WRONG)
def test_an_invalid_request_gets_an_error_of_one_line(client, case):
    body, message = WRONG[case]
    detail = refused(client, "logistic/predict", body, STATUS.get(case, 422))
    assert re.search(message, detail), detail


LIMITS = {
    "no case": ("predict-batch", {"inputs": []}, "`inputs`"),
    "too many cases": ("predict-batch", {"inputs": [GOOD] * 2049}, "`inputs`.*2048"),
    "a short case": ("predict-batch", {"inputs": [GOOD, [1]]}, "Case 1: `input` needs"),
    "known of others": (
        "predict-batch",
        {"inputs": [GOOD], "known": [None, None]},
        "one entry per input; got 2 for 1",
    ),
    "k of 0": ("top-k", {"input": GOOD, "k": 0}, "`k`"),
    "k too large": ("top-k", {"input": GOOD, "k": 10**9}, "`k`"),
    "k a half": ("top-k", {"input": GOOD, "k": 0.5}, "`k`"),
    "steps too many": ("trajectory", {"input": GOOD, "n_steps": 10**9}, "`n_steps`"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_limits_are_enforced(client, case):
    path, body, message = LIMITS[case]
    detail = refused(client, f"crf/{path}", body)
    assert re.search(message, detail), detail


def test_an_unknown_model_gets_the_list_of_models(client):
    detail = refused(client, "crff/predict", {"input": GOOD}, status=404)
    assert "no model `crff`" in detail
    assert "`crf`" in detail


def test_requests_after_an_invalid_one_work(client):
    bad = {"inputs": [GOOD, [1e300, -1e300, 1e300, 1e300]]}
    assert "overflow" in refused(client, "logistic/predict-batch", bad)
    good = client.post("/api/models/logistic/predict-batch", json={"inputs": [GOOD]})
    assert good.status_code == 200


HUGE = [1e300, -1e300, 1e300, 1e300]


@pytest.mark.parametrize("path", ["predict", "top-k", "trajectory"])
def test_an_input_that_overflows_is_refused(client, path):
    assert "overflow" in refused(client, f"logistic/{path}", {"input": HUGE})


def test_a_case_that_overflows_does_not_fail_the_rest_of_its_batch(classifiers):
    cases = [Case(np.array(row)) for row in (GOOD, HUGE, GOOD)]
    first, overflowing, last = prediction.predict(classifiers["logistic"], cases)
    own = classifiers["logistic"].predict_proba(np.array([GOOD]))[0].tolist()
    assert first.probabilities == last.probabilities == own
    assert np.isnan(overflowing.probabilities).all()


def test_a_body_that_declares_too_much_is_not_read(client):
    body = b" " * (LARGEST_BODY + 1)
    assert "32 MiB" in refused(client, "crf/predict", body, status=413)


def test_a_body_of_undeclared_size_is_cut_off():
    async def endless():
        return {"type": "http.request", "body": b"123456", "more_body": True}

    async def read_all(scope, receive, send):
        for _ in range(100):
            await receive()

    limited = LimitedBody(read_all, largest=10)
    with pytest.raises(HTTPException, match="larger than") as refusal:
        asyncio.run(limited({"type": "http", "headers": []}, endless, endless))
    assert refusal.value.status_code == 413


def test_other_methods_and_paths_are_refused(client):
    assert client.get("/api/models/crf/predict").status_code == 405
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/%2e%2e/app.py").status_code == 404
    metrics = client.get("/metrics").text
    assert "app.py" not in metrics
