"""For the API page: types and defaults of parameters that share a description.

Where a docstring has `n_hidden, init_scale`, griffe gives both parameters the type and
the default of the first.
"""

from typing import Any

import griffe


class OwnTypes(griffe.Extension):
    """Give each parameter its own type and default, from the code."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Correct all docstrings of the package."""
        _correct_members(pkg)


def _correct_members(parent: Any) -> None:
    for member in parent.members.values():
        if member.is_alias:
            continue
        if member.docstring and (member.is_class or member.is_function):
            _correct(member)
        if member.is_module or member.is_class:
            _correct_members(member)


def _correct(member: Any) -> None:
    for section in member.docstring.parsed:
        if section.kind is not griffe.DocstringSectionKind.parameters:
            continue
        for parameter in section.value:
            if parameter.name in member.parameters:
                own = member.parameters[parameter.name]
                parameter.annotation, parameter.value = own.annotation, own.default
