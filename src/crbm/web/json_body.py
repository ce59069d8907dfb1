"""Read the JSON body of a request, and write that of an answer."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic_core import from_json

JSON = "application/json"


class JsonRequest(Request):
    """A request whose body is read by pydantic's parser.

    Unlike Python's own it refuses half characters (lone surrogates), which no answer
    could repeat, and does not fail on deep or long values in other ways.
    """

    async def json(self) -> Any:
        """The parsed body."""
        try:
            return from_json(await self.body())
        except ValueError as error:
            raise HTTPException(
                400, f"The body cannot be read as JSON: {error}."
            ) from error


class JsonRoute(APIRoute):
    """A route that reads its requests as `JsonRequest`."""

    def get_route_handler(
        self,
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of a request."""
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_json


def json_response(answer: BaseModel) -> Response:
    """The answer as JSON, written by pydantic at once.

    FastAPI would check it again, turn it into dicts and write these in Python, which
    takes many times as long for hundreds of probabilities.
    """
    return Response(answer.__pydantic_serializer__.to_json(answer), media_type=JSON)
