"""Headers that tell browsers what answers may do; every answer carries them."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The pages load nothing from other sites and have no inline scripts or styles.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
RAW_HEADERS = tuple(
    (name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()
)


class SecureHeaders:
    """Adds the security headers to every answer of the application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers to its answer."""

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), *RAW_HEADERS]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_secured)
