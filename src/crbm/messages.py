"""Text from files, made safe to show."""

from __future__ import annotations

LONGEST = 1000


def one_line(text: str, limit: int = LONGEST) -> str:
    """The text on one line, with control characters escaped, and cut if it is long.

    Terminals act on control characters, so names and values from a file must not
    bring any into a message.

    Examples
    --------
    >>> print(one_line("red: \\x1b[31m,\\n  next line"))
    red: \\x1b[31m, next line
    """
    text = " ".join(text[: 4 * limit].split())
    if not text.isprintable():
        text = "".join(map(_escape, text))
    return text if len(text) <= limit else f"{text[:limit]}..."


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()
