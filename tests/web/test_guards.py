"""Requests are refused by their headers: host, token and kind of body."""

import pytest
from fastapi.testclient import TestClient

from crbm.web import access, create_app, guards

TOKEN = "correct-horse-battery"
SECURITY = {
    "content-security-policy",
    "x-content-type-options",
    "x-frame-options",
    "referrer-policy",
}


def client(url="http://localhost:8000", **options):
    return TestClient(create_app({}, **options), url, raise_server_exceptions=False)


@pytest.fixture
def local():
    """A client of a server that is bound to loopback."""
    names = access.host_names("127.0.0.1", "127.0.0.1")
    with client(allowed_hosts=names) as found:
        yield found


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9000", "localhost.", "127.0.0.1:8000", "[::1]:80"]
)
def test_own_names_and_addresses_are_answered(local, host):
    assert local.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "", "a b"]
)
def test_a_name_that_points_here_from_outside_is_refused(local, host):
    answer = local.get("/api/models", headers={"Host": host})
    assert answer.status_code == 400
    assert "`--allowed-host" in answer.json()["detail"]


def test_two_hosts_are_refused(local):
    both = [("Host", "localhost"), ("Host", "evil.example")]
    assert local.get("/health", headers=both).status_code == 400


def test_names_are_allowed_by_pattern():
    with client(allowed_hosts=["*.example.org"]) as found:
        own, other = (
            found.get("/health", headers={"Host": host}).status_code
            for host in ("crbm.example.org", "example.com")
        )
    assert (own, other) == (200, 400)


def test_a_name_with_a_port_cannot_be_allowed():
    with pytest.raises(ValueError, match=r"without a port.*`a.org:80`"):
        access.host_names("127.0.0.1", "127.0.0.1", ["a.org:80"])


@pytest.fixture(scope="module")
def closed():
    """A client of a server with a token, which it does not send."""
    with client(token=TOKEN) as found:
        yield found


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer("wrong-horse-battery"),
        bearer(TOKEN[:-1]),
        bearer(""),
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
    ],
)
def test_requests_without_the_token_are_refused(closed, headers):
    answer = closed.get("/api/models", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer" in answer.json()["detail"]


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_requests_with_the_token_are_answered(closed, scheme):
    headers = {"Authorization": f"{scheme} {TOKEN}"}
    assert closed.get("/api/models", headers=headers).json() == []
    assert closed.get("/metrics", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "path", ["/api/models", "/metrics", "/api/models/x", "//api/models", "/redoc"]
)
def test_nothing_else_is_open(closed, path):
    assert closed.get(path).status_code == 401


@pytest.mark.parametrize(
    "path", ["/static/../api/models", "/static/%2e%2e/%2e%2e/app.py"]
)
def test_the_open_folder_leads_nowhere_else(closed, path):
    assert closed.get(path).status_code in (401, 404)


def test_the_pages_and_the_schema_are_open(closed):
    for path in ("/", "/docs", "/openapi.json", "/static/main.js"):
        assert closed.get(path).status_code == 200


def test_health_names_the_models_only_with_the_token(closed):
    assert closed.get("/health").json() == {"status": "ok"}
    assert closed.get("/health", headers=bearer(TOKEN)).json()["models"] == []


def test_head_of_health_has_no_body(closed):
    answer = closed.head("/health")
    assert (answer.status_code, answer.content) == (200, b"")


def test_tokens_are_compared_in_constant_time(closed, monkeypatch):
    compared = []
    monkeypatch.setattr(
        guards.secrets, "compare_digest", lambda *pair: compared.append(pair) or False
    )
    assert closed.get("/metrics", headers=bearer("guess")).status_code == 401
    assert compared == [(b"guess", TOKEN.encode())]


def test_the_schema_asks_for_the_token(closed):
    schema = closed.get("/openapi.json").json()
    assert schema["security"] == [{"token": []}]
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert "security" not in create_app({}).openapi()


@pytest.mark.parametrize(
    ("kind", "came"),
    [
        ("text/plain", "`text/plain`"),
        ("application/x-www-form-urlencoded; charset=utf-8", "`application/x-www"),
        ("<script>", "got none"),
        (None, "got none"),
    ],
)
def test_a_body_of_another_kind_is_refused(local, kind, came):
    headers = {} if kind is None else {"Content-Type": kind}
    answer = local.post("/api/models/x/predict", content=b"{}", headers=headers)
    assert answer.status_code == 415
    assert "`Content-Type: application/json`" in answer.json()["detail"]
    assert came in answer.json()["detail"]


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "APPLICATION/JSON"]
)
def test_json_is_recognised(local, kind):
    headers = {"Content-Type": kind}
    answer = local.post("/api/models/x/predict", content=b"{}", headers=headers)
    assert answer.status_code == 404  # no such model


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/docs", 200),
        ("/static/main.js", 200),
        ("/health", 200),
        ("/openapi.json", 200),
        ("/nothing", 404),
        ("/broken", 500),
    ],
)
def test_every_answer_carries_the_security_headers(path, status):
    app = create_app({})

    @app.get("/broken")
    def broken():
        raise ZeroDivisionError("a secret")

    with TestClient(app, raise_server_exceptions=False) as found:
        answer = found.get(path)
    assert answer.status_code == status
    assert answer.headers.keys() >= SECURITY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "secret" not in answer.text


def test_refusals_carry_the_security_headers(closed):
    assert closed.get("/metrics").headers.keys() >= SECURITY
    answer = closed.get("/", headers={"Host": "a b"})
    assert answer.headers.keys() >= SECURITY
