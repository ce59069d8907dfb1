"""Check the annotations of the library at run time, in the first calls of each test.

jaxtyping and beartype check shapes and types of arguments and results. A training loop
makes the same calls thousands of times, so a function is checked in its first `N_CALLS`
calls of a test and then runs unchecked until the next test begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import jaxtyping
from beartype import beartype

PACKAGES = ["crbm", "paper", "benchmarks", "demo"]
N_CALLS = 20
_MOST = 2 * N_CALLS  # a call is checked twice: its arguments, then its result
_n_calls: Counter[Callable[..., Any]] = Counter()
_jaxtyped = jaxtyping.jaxtyped


def install() -> None:
    """Check the packages that are imported from now on."""
    jaxtyping.jaxtyped = _checked
    jaxtyping.install_import_hook(PACKAGES, "beartype.beartype")


def start_again() -> None:
    """Check the first calls of every function again."""
    for function, n_calls in _n_calls.items():
        if n_calls >= _MOST:
            del function.__no_type_check__
    _n_calls.clear()


def _checked(decorated: Any = None, *, typechecker: Any = None) -> Any:
    """jaxtyping's decorator, which the import hook puts on everything."""
    if decorated is None:
        return _checked
    functions = list(_functions(decorated))

    def checker(signature: Callable[..., Any]) -> Callable[..., Any]:
        """A type checker that stops checking after some calls."""
        check = beartype(signature)

        def count_and_check(*args: Any, **kwargs: Any) -> Any:
            for function in functions:
                _n_calls[function] += 1
                if _n_calls[function] == _MOST:
                    function.__no_type_check__ = True  # which jaxtyping respects
            return check(*args, **kwargs)

        return count_and_check

    return _jaxtyped(decorated, typechecker=checker)


def _functions(decorated: Any) -> Iterator[Callable[..., Any]]:
    """The functions behind what is decorated: of a class, the one that makes it."""
    if isinstance(decorated, property):
        yield from filter(None, (decorated.fget, decorated.fset, decorated.fdel))
    elif isinstance(decorated, type):
        yield decorated.__init__
    else:
        yield getattr(decorated, "__func__", decorated)
