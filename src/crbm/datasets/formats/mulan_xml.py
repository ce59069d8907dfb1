"""Read and write Mulan's XML list of label names, with expat for line numbers.

Document types and entities are refused: a list of names does not need them, and
"XML bombs" are made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from crbm.datasets.formats._common import file_error, read_bytes

_NAMESPACE = "http://mulan.sourceforge.net/labels"
_MAX_BYTES = 64 * 2**20


def read(path: Path | str) -> tuple[str, ...]:
    """Read label names in the order of the file; nested labels follow their parent.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "labels.xml"
    >>> write(file, ["Beach", "Sunset"])
    >>> read(file)
    ('Beach', 'Sunset')
    """
    path = Path(path)
    names = _Names(path)
    content = read_bytes(path, _MAX_BYTES)
    try:
        names.parser.Parse(content, True)
    except expat.ExpatError as error:
        problem = f"not well-formed XML ({expat.ErrorString(error.code)})."
        raise file_error(path, problem, line=error.lineno) from error
    except LookupError as error:  # of Python's table of encodings
        raise file_error(path, f"{error}. Save it as UTF-8.") from error
    if not names.lines:
        raise file_error(path, 'no labels; <label name="..."> is expected.')
    return tuple(names.lines)


class _Names:
    """Collects the `name` of every <label> with its line number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, int] = {}
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        if tag.rsplit(" ", 1)[-1] != "label":
            return
        name = attributes.get("name", "")
        if not name:
            raise file_error(self.path, "a label has no `name`.", line=line)
        if name in self.lines:
            first = self.lines[name]
            problem = f"label `{name}` is already on line {first}."
            raise file_error(self.path, problem, line=line)
        self.lines[name] = line

    def _refuse(self, *_: object) -> None:
        problem = "document types and entities are not allowed. Remove them."
        raise file_error(self.path, problem, line=self.parser.CurrentLineNumber)


def write(path: Path | str, names: Sequence[str]) -> None:
    """Write label names as Mulan's XML."""
    rows = "".join(f"<label name={quoteattr(name)}></label>\n" for name in names)
    Path(path).write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<labels xmlns="{_NAMESPACE}">\n{rows}</labels>\n',
        encoding="utf-8",
    )
