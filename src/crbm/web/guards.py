"""Checks of a request's headers, made before its body is read."""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from crbm.web.problems import problem

Check = Callable[[Scope], JSONResponse | None]
# The route that reads arrays instead of JSON.
ARRAY_ROUTE, ARRAY_TYPE = "/predict-array", "application/x-npy"
# The pages and the description of the API are the same on every server.
OPEN_PATHS = frozenset({"/", "/docs", "/openapi.json", "/health"})


class Guarded:
    """Passes a request on if no check refuses it."""

    def __init__(self, app: ASGIApp, checks: Sequence[Check]) -> None:
        self._app, self._checks = app, tuple(checks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the first refusal, or pass the request on."""
        if scope["type"] == "http":
            for check in self._checks:
                refusal = check(scope)
                if refusal is not None:
                    await refusal(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def host_check(names: Collection[str]) -> Check:
    """Refuse a `Host` that is neither one of the names nor an address.

    A web site of another party can let its own name point to this server and have a
    browser read answers (DNS rebinding). The browser then sends that name; it never
    sends an address for it. A name may start with `*.`; `*` accepts all.
    """
    allowed = tuple(name.lower().rstrip(".") for name in names)

    def check(scope: Scope) -> JSONResponse | None:
        host = _host(scope)
        if any(fnmatchcase(host, name) for name in allowed) or _is_address(host):
            return None
        shown = host if re.fullmatch(r"[\w.-]{1,80}", host) else "..."
        return problem(
            400,
            f"This server does not answer for the host `{shown}`. To allow it, start "
            f"the server with `--allowed-host {shown}`.",
        )

    return check


def token_check(token: str) -> Check:
    """Refuse requests without `Authorization: Bearer TOKEN`, except to open paths."""

    def check(scope: Scope) -> JSONResponse | None:
        path = scope["path"]
        if path in OPEN_PATHS or path.startswith("/static/"):
            return None
        return None if has_token(scope, token) else _unauthorised_response()

    return check


def has_token(scope: Scope, token: str) -> bool:
    """Whether a request carries the token; the comparison takes constant time."""
    scheme, _, given = _header(scope, b"authorization").partition(b" ")
    same = secrets.compare_digest(given.strip(), token.encode())
    return scheme.lower() == b"bearer" and same


def type_check(scope: Scope) -> JSONResponse | None:
    """Refuse a POST request that does not say that its body is what its route reads."""
    if scope["method"] != "POST":
        return None
    given = _header(scope, b"content-type").decode("latin-1")
    kind = given.partition(";")[0].strip().lower()
    is_array = scope["path"].endswith(ARRAY_ROUTE)
    if is_array and kind == ARRAY_TYPE:
        return None
    if not is_array and (
        kind == "application/json" or re.fullmatch(r"application/[\w.-]+\+json", kind)
    ):
        return None
    came = f"`{kind}`" if re.fullmatch(r"[\w.+/-]{1,80}", kind) else "none"
    what, needed = ("JSON", "application/json")
    if is_array:
        what, needed = ("an array", ARRAY_TYPE)
    return problem(
        415, f"Send {what} with the header `Content-Type: {needed}`; got {came}."
    )


def _unauthorised_response() -> JSONResponse:
    return problem(
        401,
        "This server needs its token: send the header `Authorization: Bearer TOKEN`.",
        {"WWW-Authenticate": "Bearer"},
    )


def _host(scope: Scope) -> str:
    """The name or address in the `Host` header, without its port."""
    given = _header(scope, b"host").decode("latin-1").strip().lower()
    if given.startswith("["):
        return given[1:].partition("]")[0]
    return given.partition(":")[0].rstrip(".")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _header(scope: Scope, name: bytes) -> bytes:
    """The value of a header that is given once, else nothing."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0] if len(values) == 1 else b""
