"""Signatures that name every option, as ``help`` and completion in notebooks show them.

Type checkers read ``Unpack`` of a ``TypedDict`` instead, which Jedi does not.
"""

from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from typing import Any, TypeVar

from dpbb.options.table import OPTIONS, SolveOptions

F = TypeVar("F", bound=Callable[..., Any])


def naming(names: Iterable[str] = OPTIONS) -> Callable[[F], F]:
    """Give a function that takes options as ``**`` a signature with their names.

    ``names``: of the options; one that is a parameter already stays as it is.
    """

    def named(function: F) -> F:
        plain = signature(function)
        *own, _ = plain.parameters.values()
        options = [
            Parameter(row.name, Parameter.KEYWORD_ONLY, default=row.default)
            for row in map(OPTIONS.__getitem__, names)
            if row.name not in plain.parameters
        ]
        both = plain.replace(parameters=[*own, *options])
        function.__signature__ = both  # type: ignore[attr-defined]
        return function

    return named


naming()(SolveOptions.__init__)
