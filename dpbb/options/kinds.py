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
    check
        ``check(value, name)``: the value as its final type; OptionError if not allowed.
    parse
        ``parse(text, name)``: the same from a text (command line).
    metavar
        Placeholder in help texts; None for a flag without a value.
    given
        Type of what ``check`` takes, as Python writes it.
    default_text
        What happens without a value.
    place
        Whether it is a path or an address, which nobody takes from a file.
    rows
        Those of a table in the table.
    """

    allowed: str
    check: Callable[[Any, str], Any]
    parse: Callable[[str, str], Any]
    metavar: str | None
    given: str
    default_text: str = "none"
    place: bool = False
    rows: Mapping[str, Any] = field(default_factory=dict)


def _refuse(name: str, allowed: str, got: Any) -> NoReturn:
    raise OptionError(f"{name}: expected {allowed}, got {shown(got)}")


def _parser(
    read: Callable[[str], Any], check: Callable[[Any, str], Any], allowed: str
) -> Callable[[str, str], Any]:
    """Return what reads a text and checks the value."""

    def parse(text: str, name: str) -> Any:
        try:
            value = read(text)
        except ValueError:
            _refuse(name, allowed, text)
        return check(value, name)

    return parse


def whole(least: int, most: int = LARGEST) -> Kind:
    """Whole numbers from ``least`` to ``most``."""
    allowed = f"a whole number >= {least}"
    if most != LARGEST:
        allowed = f"a whole number from {least} to {most}"

    def check(value: Any, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            _refuse(name, allowed, value)
        try:
            number = operator.index(value)
        except TypeError:  # a duration of NumPy calls itself integral
            _refuse(name, allowed, value)
        if number > LARGEST:
            _refuse(name, f"{allowed} and <= 2**62", value)
        if not least <= number <= most:
            _refuse(name, allowed, value)
        return number

    return Kind(allowed, check, _parser(int, check, allowed), "N", "int")


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
    limits = {">=": least, ">": above, "<=": most, "<": below}
    given = [f"{sign} {limit:g}" for sign, limit in limits.items() if limit is not None]
    allowed = "a number " + " and ".join(given)

    def check(value: Any, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            _refuse(name, allowed, value)
        try:
            result = float(value)
        except OverflowError:
            _refuse(name, f"{allowed} that a float can hold", value)
        inside = (
            math.isfinite(result)
            and (least is None or result >= least)
            and (above is None or result > above)
            and (most is None or result <= most)
            and (below is None or result < below)
        )
        if not inside:
            _refuse(name, allowed, value)
        return result

    return Kind(allowed, check, _parser(float, check, allowed), "X", "float")


def seconds(**limits: float) -> Kind:
    """Seconds within bounds, see ``number``; as text in minutes or hours, too."""
    plain = number(**limits)
    allowed = f"{plain.allowed}; on the command line also 30m or 2h"

    def read(text: str) -> float:
        value, unit = text[:-1], {"s": 1, "m": 60, "h": 3600}.get(text[-1:])
        if unit is None or not re.fullmatch(r"\d+|\d*\.\d+", value, re.ASCII):
            value, unit = text, 1
        return unit * float(value)

    parse = _parser(read, plain.check, allowed)
    return replace(plain, allowed=allowed, parse=parse)


def member(values: type[Member], value: Any, name: str) -> Member:
    """Return the member of an enum that a text names; OptionError if there is none."""
    try:
        return values(value)
    except ValueError:
        _refuse(name, "one of " + ", ".join(values), value)


def choice(values: type[StrEnum]) -> Kind:
    """Members of an enum, or their texts."""
    allowed = "one of " + ", ".join(values)

    def check(value: Any, name: str) -> StrEnum:
        return member(values, value, name)

    names = ", ".join(f'"{value}"' for value in values)
    given = f"{values.__name__} | Literal[{names}]"
    return Kind(allowed, check, check, "NAME", given)


def _of(
    allowed: str, is_allowed: Callable[[Any], bool], metavar: str | None, given: str
) -> Kind:
    """Return the kind of those values that a function says to be allowed."""

    def check(value: Any, name: str) -> Any:
        if not is_allowed(value):
            _refuse(name, allowed, value)
        return value

    return Kind(allowed, check, check, metavar, given)


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

    def check(value: Any, name: str) -> str:
        plain = os.fspath(value) if isinstance(value, os.PathLike) else value
        if not _is_name(plain):
            _refuse(name, allowed, value)
        return str(plain)

    return Kind(allowed, check, check, metavar, PATH, place=True)


def address() -> Kind:
    """Addresses of schedulers: with a port, in a scheduler file, or in this process."""
    allowed = "the address of a Dask scheduler, or its scheduler file (.json)"
    plain = path("ADDRESS", allowed)

    def check(value: Any, name: str) -> str:
        result: str = plain.check(value, name)
        if not re.fullmatch(r".+\.json|inproc://.+|\S+:\d+(/\S*)?", result):
            _refuse(name, f"{allowed}, such as tcp://host:8786", value)
        return result

    return replace(plain, check=check, parse=check)


def flag() -> Kind:
    """Truth values."""
    plain = is_a(bool, "true or false")

    def parse(text: str, name: str) -> bool:
        known = {"true": True, "false": False}.get(text.lower(), text)
        return bool(plain.check(known, name))

    return replace(plain, parse=parse)


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
    return Kind(allowed, check_jobs, parse_permutation, "FILE", given)


def table(made: Any, rows: Mapping[str, Any]) -> Kind:
    """Tables of named values; as texts, each KEY=VALUE."""
    allowed = f"a {made.__name__}, or some of its values by name"

    def check(value: Any, name: str) -> Any:
        if isinstance(value, made):
            return value
        if not isinstance(value, Mapping):
            _refuse(name, allowed, value)
        return made(**value)

    def parse(text: str, name: str) -> dict[str, Any]:
        key, sign, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not sign:
            _refuse(name, "KEY=VALUE", text)
        if key not in rows:
            raise unknown_option(key, rows, f"{name} ")
        return {key: rows[key].kind.parse(value, f"{name} {key}")}

    given = f"{made.__name__} | Mapping[str, Any]"
    return Kind(allowed, check, parse, "KEY=VALUE", given, rows=rows)


def optional(kind: Kind, default_text: str = "none") -> Kind:
    """Values of a kind, or None; ``default_text`` says what None means."""

    def check(value: Any, name: str) -> Any:
        return None if value is None else kind.check(value, name)

    given = f"{kind.given} | None"
    return replace(kind, check=check, given=given, default_text=default_text)


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
