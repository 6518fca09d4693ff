"""Kinds of option values: what is allowed, and how a value or a text is checked."""

import difflib
import math
import numbers
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from dpbb.errors import OptionError, shown
from dpbb.options.permutations import check_jobs, parse_permutation

Member = TypeVar("Member", bound=StrEnum)

PATH = "str | PathLike[str]"

LARGEST = 2**62
"""Largest whole number of any option: it and a little more fit in 64 bits."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value.

    Parameters
    ----------
    allowed
        What is allowed, for people.
    convert
        ``convert(value, name)``: the value as its final type; TypeError or ValueError
        if it is not allowed, an OptionError if that says more than ``allowed``.
    metavar
        Placeholder in help texts; None for a flag without a value.
    given
        Type of what ``check`` takes, as Python writes it.
    read
        ``read(text, name)``: what a text of the command line says, to be converted.
    default_text
        What happens without a value.
    place
        Whether it is a path or an address, which nobody takes from a file.
    rows
        Those of a table in the table.
    or_none
        Whether None is allowed, too.
    """

    allowed: str
    convert: Callable[[Any, str], Any]
    metavar: str | None
    given: str
    read: Callable[[str, str], Any] = lambda text, _name: text
    default_text: str = "none"
    place: bool = False
    rows: Mapping[str, Any] = field(default_factory=dict)
    or_none: bool = False

    def check(self, value: Any, name: str) -> Any:
        """Return the value as its final type; OptionError if it is not allowed."""
        if value is None and self.or_none:
            return None
        try:
            return self.convert(value, name)
        except OptionError:
            raise
        except (TypeError, ValueError):
            _refuse(name, self.allowed, value)

    def parse(self, text: str, name: str) -> Any:
        """Return what a text of the command line says; OptionError as of ``check``."""
        try:
            value = self.read(text, name)
        except OptionError:
            raise
        except ValueError:
            _refuse(name, self.allowed, text)
        return self.check(value, name)


def _refuse(name: str, allowed: str, got: Any) -> NoReturn:
    raise OptionError(f"{name}: expected {allowed}, got {shown(got)}")


def whole(least: int, most: int = LARGEST) -> Kind:
    """Whole numbers from ``least`` to ``most``."""
    allowed = f"a whole number >= {least}"
    if most != LARGEST:
        allowed = f"a whole number from {least} to {most}"

    def convert(value: Any, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError
        number = operator.index(value)  # a duration of NumPy calls itself integral
        if number > LARGEST:
            _refuse(name, f"{allowed} and <= 2**62", value)
        if not least <= number <= most:
            raise ValueError
        return number

    return Kind(allowed, convert, "N", "int", lambda text, _: int(text))


def number(
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> Kind:
    """Finite numbers within bounds; ``above`` and ``below`` are not allowed themselves.

    ``least``, ``above``, ``most``, ``below``: None: no such bound.
    """
    signs = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
    limits = zip(signs, (least, above, most, below), strict=True)
    given = {sign: limit for sign, limit in limits if limit is not None}
    allowed = "a number " + " and ".join(f"{k} {limit:g}" for k, limit in given.items())

    def convert(value: Any, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            _refuse(name, allowed, value)
        try:
            result = float(value)
        except OverflowError:
            _refuse(name, f"{allowed} that a float can hold", value)
        inside = all(signs[sign](result, limit) for sign, limit in given.items())
        if not (inside and math.isfinite(result)):
            _refuse(name, allowed, value)
        return result

    return Kind(allowed, convert, "X", "float", lambda text, _: float(text))


def seconds(**limits: float) -> Kind:
    """Seconds within bounds, see ``number``; as text in minutes or hours, too."""
    plain = number(**limits)

    def read(text: str, _name: str) -> float:
        value, unit = text[:-1], {"s": 1, "m": 60, "h": 3600}.get(text[-1:])
        if unit is None or not re.fullmatch(r"\d+|\d*\.\d+", value, re.ASCII):
            value, unit = text, 1
        return unit * float(value)

    allowed = f"{plain.allowed}; on the command line also 30m or 2h"
    return replace(plain, allowed=allowed, read=read)


def member(values: type[Member], value: Any, name: str) -> Member:
    """Return the member of an enum that a text names; OptionError if there is none."""
    found: Member = choice(values).check(value, name)
    return found


def choice(values: type[StrEnum]) -> Kind:
    """Members of an enum, or their texts."""
    names = ", ".join(f'"{value}"' for value in values)
    given = f"{values.__name__} | Literal[{names}]"
    allowed = "one of " + ", ".join(values)
    return Kind(allowed, lambda value, _: values(value), "NAME", given)


def _of(
    allowed: str, is_allowed: Callable[[Any], bool], metavar: str | None, given: str
) -> Kind:
    """Return the kind of those values that a function says to be allowed."""

    def convert(value: Any, _name: str) -> Any:
        if not is_allowed(value):
            raise ValueError
        return value

    return Kind(allowed, convert, metavar, given)


def one_of(*values: str) -> Kind:
    """Texts out of a few."""
    allowed = "one of " + ", ".join(values)
    return _of(allowed, lambda x: isinstance(x, str) and x in values, "NAME", "str")


def is_a(type_: Any, allowed: str) -> Kind:
    """Instances of a type, which no text stands for."""
    return _of(allowed, lambda x: isinstance(x, type_), None, type_.__name__)


FUNCTION = is_a(Callable, "a function")


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def name(allowed: str) -> Kind:
    """Names that the options do not know; whoever uses them checks them."""
    return _of(allowed, _is_name, "NAME", "str")


def path(metavar: str, allowed: str) -> Kind:
    """Paths and URLs, as texts."""

    def convert(value: Any, _name: str) -> str:
        plain = os.fspath(value) if isinstance(value, os.PathLike) else value
        if not _is_name(plain):
            raise ValueError
        return str(plain)

    return Kind(allowed, convert, metavar, PATH, place=True)


def address() -> Kind:
    """Addresses of schedulers: with a port, in a scheduler file, or in this process."""
    plain = path(
        "ADDRESS", "the address of a Dask scheduler, or its scheduler file (.json)"
    )

    def convert(value: Any, name: str) -> str:
        result: str = plain.convert(value, name)
        if not re.fullmatch(r".+\.json|inproc://.+|\S+:\d+(/\S*)?", result):
            _refuse(name, f"{plain.allowed}, such as tcp://host:8786", value)
        return result

    return replace(plain, convert=convert)


def flag() -> Kind:
    """Truth values."""
    texts = {"true": True, "false": False}
    plain = is_a(bool, "true or false")
    return replace(plain, read=lambda text, _: texts.get(text.lower(), text))


def permutation() -> Kind:
    """Permutations of the jobs 0 to n-1; as text, the jobs or a file with them.

    Only the command line and TOML files may name a file: whoever sends options over
    the network must not have files read.
    """
    allowed = (
        "the jobs 0 to n-1 in any order, or their names; on the command line and in "
        "TOML also a file with them"
    )
    given = "Iterable[SupportsIndex] | list[str] | tuple[str, ...]"
    return Kind(allowed, check_jobs, "FILE", given, parse_permutation)


def table(made: Any, rows: Mapping[str, Any]) -> Kind:
    """Tables of named values; as texts, each KEY=VALUE."""
    allowed = f"a {made.__name__}, or some of its values by name"

    def convert(value: Any, _name: str) -> Any:
        return value if isinstance(value, made) else made(**value)

    def read(text: str, name: str) -> dict[str, Any]:
        key, sign, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not sign:
            _refuse(name, "KEY=VALUE", text)
        if key not in rows:
            raise unknown_option(key, rows, f"{name} ")
        return {key: rows[key].kind.parse(value, f"{name} {key}")}

    given = f"{made.__name__} | Mapping[str, Any]"
    return Kind(allowed, convert, "KEY=VALUE", given, read, rows=rows)


def optional(kind: Kind, default_text: str = "none") -> Kind:
    """Values of a kind, or None; ``default_text`` says what None means."""
    given = f"{kind.given} | None"
    return replace(kind, or_none=True, given=given, default_text=default_text)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean ...?)" with the nearest known names, or nothing."""
    flags = {one.lstrip("-"): one for one in known}
    close = difflib.get_close_matches(name.lstrip("-"), flags, n=3, cutoff=0.6)
    names = " or ".join(flags[one] for one in close)
    return f" (did you mean {names}?)" if close else ""


def unknown_option(name: str, known: Iterable[str], where: str = "") -> OptionError:
    """Return the error of a name that no option has; the message begins with where."""
    names = list(known)
    hint = nearest(name, names)
    if name == "objective":
        hint = " (FlowShop(..., objective=...) or read_problem(..., objective=...))"
    return OptionError(
        f"{where}{name}: expected the name of an option{hint}; all: {', '.join(names)}"
    )
