"""For the API page: types and defaults of parameters that a docstring tells together.

Where numpydoc says `n_hidden, init_scale`, griffe gives both the type and the default
of the first.
"""

from typing import Any

import griffe


class OwnTypes(griffe.Extension):
    """Gives each parameter its own type and default, from the code."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Mend all docstrings of the package."""
        _mend_members(pkg)


def _mend_members(parent: Any) -> None:
    for member in parent.members.values():
        if member.is_alias:
            continue
        if member.docstring and (member.is_class or member.is_function):
            _mend(member)
        if member.is_module or member.is_class:
            _mend_members(member)


def _mend(member: Any) -> None:
    for section in member.docstring.parsed:
        if section.kind is not griffe.DocstringSectionKind.parameters:
            continue
        for told in section.value:
            if told.name in member.parameters:
                own = member.parameters[told.name]
                told.annotation, told.value = own.annotation, own.default
