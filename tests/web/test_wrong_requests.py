"""Invalid and hostile requests get an error of one line; the server keeps running."""

import asyncio
import json
import math
import re
from functools import partial

import numpy as np
import pytest
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException

import crbm
from crbm.web import LoadedModel, create_app, prediction
from crbm.web.metrics import Metrics
from crbm.web.middleware import LARGEST_BODY, LimitedBody
from crbm.web.prediction import Answer, Case, InputError
from crbm.web.worker import ModelWorker, Pools
from planted import copied_patterns

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
    "all wrong": ({"input": ["x"] * 4}, "3 more"),
    "nested": ({"input": [[1, 2], 1, 1, 1]}, "number"),
    "an object": ({"input": {"0": 1}}, "`input`.*list"),
    "a huge whole number": ('{"input": [1%s, 1, 1, 1]}' % ("0" * 400), "`input`"),
    "overflow": ({"input": [1e300, -1e300, 1e300, 1e300]}, "overflow"),
    "an unknown field": ({"input": GOOD, "zoo": 1}, "no field `zoo`. Use: `input`, `k"),
    "a field mistyped": ({"input": GOOD, "know": []}, "`know`. Did you mean `known`?"),
    "inputs": ({"inputs": GOOD}, "no field `inputs`. Did you mean `input`?"),
    "half a character": ({"\ud800": 1}, "read as JSON: .* hex escape"),
    "a list": ([1, 2], "body must be a JSON object"),
    "no JSON": ('{"input": ', "read as JSON"),
    "no UTF-8": (b'{"input": ["\xff"]}', "read as JSON"),
    "too many digits": ('{"input": [%s]}' % ("1" * 5000), "read as JSON"),
    "nothing": ("", "body must be a JSON object.*got no body"),
    "deep": ("[" * 100_000, "read as JSON"),
    "deep input": ('{"input": ' + "[" * 900 + "]" * 900 + "}", "recursion"),
    "known too short": ({"input": GOOD, "known": [1]}, "`known` needs 6 entries"),
    "known no label": ({"input": GOOD, "known": [2] * 6}, "`known` must be 0, 1"),
    "known a half": ({"input": GOOD, "known": {"red": 0.5}}, "`known` must be 0, 1"),
    "known of an unknown label": (
        {"input": GOOD, "known": {"rde": 1}},
        "no label `rde`.*`red`",
    ),
    "known long name": ({"input": GOOD, "known": {"x" * 10**6: 1}}, "no label"),
    "known a terminal escape": ({"input": GOOD, "known": {"\x1b[2J": 1}}, r"`\?\[2J`"),
    "k": ({"input": GOOD, "k": 1}, "`k`"),
}
NOT_JSON = {
    *("no JSON", "no UTF-8", "too many digits", "deep", "deep input"),
    "half a character",
}


@pytest.mark.parametrize("case", WRONG)
def test_an_invalid_request_gets_an_error_of_one_line(client, case):
    body, message = WRONG[case]
    status = 400 if case in NOT_JSON else 422
    detail = refused(client, "logistic/predict", body, status)
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


def test_a_pool_of_models_says_that_it_has_no_trajectory(monkeypatch):
    monkeypatch.setattr("crbm.estimators.auto.trees.N_TREES", 5)
    data = copied_patterns(40)
    pool = crbm.AutoClassifier(members=["forest"], random_state=0)
    pool.fit(data.u.numpy(), data.v.numpy())
    with TestClient(create_app({"auto": LoadedModel("auto", pool)})) as client:
        detail = refused(client, "auto/trajectory", {"input": GOOD})
    assert detail.startswith("AutoClassifier pools several models and has no mean")


HUGE = [0.5, 1e39, 0.5, -1e300]


@pytest.mark.parametrize("kind", ["logistic", "hash"])
@pytest.mark.parametrize("path", ["predict", "top-k", "trajectory"])
def test_a_value_that_overflows_is_named(client, kind, path):
    detail = refused(client, f"{kind}/{path}", {"input": HUGE})
    assert detail.startswith("`input`[1]: 1e+39 overflows; values must be between -3.4")


def test_a_value_that_overflows_in_a_batch_is_named(client):
    body = {"inputs": [GOOD, GOOD, HUGE]}
    detail = refused(client, "hash/predict-batch", body)
    assert detail.startswith("Case 2: `input`[1]: 1e+39 overflows")


def fails_at_seven(cases):
    """Predict, as a model that cannot compute with the number 7."""
    if any(7 in case.u for case in cases):
        raise ValueError("a row is not finite")
    return [
        Answer(np.array([0]), np.array([math.nan if 8 in case.u else 0.5]))
        for case in cases
    ]


@pytest.fixture
def worker(classifiers, monkeypatch):
    """A worker whose model fails on some inputs."""
    metrics, pools = Metrics(), Pools()
    worker = ModelWorker(LoadedModel("any", classifiers["crf"]), pools, metrics)
    monkeypatch.setattr(prediction, "predict", lambda _, cases: fails_at_seven(cases))
    yield worker
    pools.close()


def inputs(*firsts):
    return [Case(np.array([float(first), 0.0])) for first in firsts]


def test_a_case_that_fails_does_not_fail_those_of_other_requests(worker):
    async def submit_all():
        requests = (worker.predict(case) for case in inputs(1, 7, 2, 8, 3))
        return await asyncio.gather(*requests, return_exceptions=True)

    kinds = [type(outcome) for outcome in asyncio.run(submit_all())]
    assert kinds == [Answer, InputError, Answer, InputError, Answer]


@pytest.mark.parametrize("bad", [7, 8])
def test_the_failing_case_of_a_batch_is_named(worker, bad):
    with pytest.raises(InputError, match=r"Case 2: The inputs are so large"):
        asyncio.run(worker.predict_batch(inputs(1, 2, bad, 3)))


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


def test_bodies_that_do_not_fit_into_memory_together_are_refused():
    """Two bodies of 6 bytes are held; a third one must wait until one is answered."""

    async def scenario():
        answered = asyncio.Event()

        async def receive():
            return {"type": "http.request", "body": b"123456", "more_body": False}

        async def read_and_wait(scope, receive, send):
            await receive()
            await answered.wait()

        limited = LimitedBody(read_and_wait, largest=10, at_once=12)
        call = partial(limited, {"type": "http", "headers": []}, receive, receive)
        held = [asyncio.create_task(call()) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(HTTPException, match="too many large") as refusal:
            await call()
        assert refusal.value.status_code == 503
        answered.set()
        await asyncio.gather(*held)
        await call()

    asyncio.run(scenario())


def test_other_methods_and_paths_are_refused(client):
    assert client.get("/api/models/crf/predict").status_code == 405
    assert client.get("/api/models/", follow_redirects=False).status_code == 404
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/%2e%2e/app.py").status_code == 404
    metrics = client.get("/metrics").text
    assert "app.py" not in metrics
