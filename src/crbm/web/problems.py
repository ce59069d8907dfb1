"""Error answers: JSON with one line in `detail`, and the status that fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from crbm.web import schemas
from crbm.web.batching import OverloadedError
from crbm.web.headers import SECURITY_HEADERS
from crbm.web.prediction import InputError

BUG = "The server failed on this request. Its log has the details; please report them."
LONGEST_DETAIL = 300
INPUT_TAGS = ("row", "record")  # which kind of input pydantic took it for
ALWAYS = {
    400: "A `Host` that is not served, or a request that is not valid HTTP",
    401: "No token, or a wrong one: `Authorization: Bearer TOKEN`",
    405: "This path has other methods",
    408: "The request arrived too slowly",
    413: "Request body too large",
    431: "Headers too large",
    500: "A bug of the server",
}
FOR_MODELS = ALWAYS | {
    400: "As for all routes, or a body that is not JSON",
    404: "Unknown model",
    415: "A body whose `Content-Type` is not the one of the route",
    422: "Invalid input",
    503: "Too many requests at once",
}


def responses(statuses: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route, for OpenAPI."""
    return {
        status: {"model": schemas.Problem, "description": text}
        for status, text in statuses.items()
    }


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error answer with one line of printable text.

    Examples
    --------
    >>> problem(422, "There is no label `\\ud800\\n`.").body
    b'{"detail":"There is no label `? `."}'
    """
    line = " ".join(detail.split()).encode(errors="replace").decode()
    line = "".join(c if c.isprintable() else "?" for c in line)[:LONGEST_DETAIL]
    return JSONResponse({"detail": line}, status_code=status, headers=headers)


def add_handlers(app: FastAPI) -> None:
    """Make the application answer every error in this form."""
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(InputError, _invalid_input)
    app.add_exception_handler(OverloadedError, _overload_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(ClientDisconnect, _closed_connection)
    app.add_exception_handler(Exception, _bug)


def first_problem(errors: Sequence[Mapping[str, Any]]) -> str:
    """Pydantic's first error as one line, without the input itself."""
    error = errors[0]
    where = [str(part) for part in error["loc"]]
    what = error["msg"].removeprefix("Value error, ").removesuffix(".")
    if where == ["body"]:
        if error["type"] != "value_error":
            return _wrong_body(error)
        return what if what.endswith("?") else f"{what}."
    where.pop(0)  # the word "body"
    if where[0] == "known":
        return (
            "`known` must be 0, 1 or null for each label, as a list or by name; see "
            "/docs."
        )
    parts = [part for part in where[1:] if part not in INPUT_TAGS]
    place = "".join([f"`{where[0]}`", *(f"[{part}]" for part in parts)])
    more = f" {len(errors) - 1} more like this." if len(errors) > 1 else ""
    if len(parts) == 0 and error["type"] == "list_type" and where[0] == "input":
        what = "must be an object from column names to values, or a list of numbers"
    if error["type"] == "float_type" and isinstance(error["input"], str):
        more += " A row with texts is an object from column names to values."
    return f"{place}: {what}.{more}"


def _wrong_body(error: Mapping[str, Any]) -> str:
    came = "no body" if error["type"] == "missing" else "another kind of value"
    return f"The body must be a JSON object with named fields; got {came}. See /docs."


async def _invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return problem(422, first_problem(error.errors()))


async def _invalid_input(request: Request, error: Exception) -> JSONResponse:
    return problem(422, str(error))


async def _overload_error(request: Request, error: Exception) -> JSONResponse:
    return problem(503, str(error), {"Retry-After": "1"})


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, error.detail, error.headers)


async def _closed_connection(request: Request, error: Exception) -> JSONResponse:
    # nobody reads it, but it is counted as the client's mistake
    return problem(400, "The connection was closed before the whole body came.")


async def _bug(request: Request, error: Exception) -> JSONResponse:
    # Starlette calls this outside of all middleware and then logs the error
    return problem(500, BUG, SECURITY_HEADERS)
