"""Who may use a server: its token, its names, and whether others reach it."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Iterable
from pathlib import Path

TOKEN_VARIABLE = "CRBM_TOKEN"
SHORTEST_TOKEN = 16
HOW_TO_MAKE = (
    'Make one with `python -c "import secrets; print(secrets.token_urlsafe())"`.'
)


def read_token(path: Path | None) -> str | None:
    """The token in a file, else that of the variable `CRBM_TOKEN`, else None."""
    if path is not None:
        return _check_token(path.read_text(errors="replace"), f"`{path}`")
    given = os.environ.get(TOKEN_VARIABLE)
    return None if given is None else _check_token(given, f"`{TOKEN_VARIABLE}`")


def _check_token(text: str, source: str) -> str:
    token = text.strip()
    if not re.fullmatch(r"[A-Za-z0-9._~+/=-]+", token):
        raise ValueError(
            f"The token in {source} must be one word of letters, digits and "
            f"`-._~+/=`. {HOW_TO_MAKE}"
        )
    if len(token) < SHORTEST_TOKEN:
        raise ValueError(
            f"The token in {source} needs at least {SHORTEST_TOKEN} characters; got "
            f"{len(token)}. {HOW_TO_MAKE}"
        )
    return token


def check_exposed(address: str, token: str | None, insecure: bool) -> None:
    """Refuse to serve other machines without a token, unless that is wanted.

    Examples
    --------
    >>> check_exposed("127.0.0.1", None, insecure=False)
    >>> check_exposed("0.0.0.0", None, insecure=False)
    Traceback (most recent call last):
        ...
    ValueError: Other machines reach a server on 0.0.0.0, so it needs a token: give \
`--token-file FILE` or set `CRBM_TOKEN`. With `--insecure` everybody may use it.
    """
    if token is None and not insecure and not is_loopback(address):
        raise ValueError(
            f"Other machines reach a server on {address}, so it needs a token: give "
            f"`--token-file FILE` or set `{TOKEN_VARIABLE}`. With `--insecure` "
            "everybody may use it."
        )


def host_names(host: str, address: str, allowed: Iterable[str] = ()) -> list[str]:
    """The names for which a server answers, beside addresses.

    Examples
    --------
    >>> host_names("127.0.0.1", "127.0.0.1", ["crbm.example.org"])
    ['localhost', '127.0.0.1', 'crbm.example.org']
    """
    own = [] if is_loopback(address) else [socket.gethostname()]
    allowed = list(allowed)
    for name in allowed:
        if not re.fullmatch(r"\*|(\*\.)?[\w.-]+", name):
            raise ValueError(
                "`--allowed-host` takes a name without a port, such as "
                f"`crbm.example.org` or `*.example.org`; got `{name}`."
            )
    return ["localhost", host, *own, *allowed]


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback
