"""What a row of the options table says, and how it is read from a TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from dpbb.errors import OptionError
from dpbb.options.kinds import Kind, optional, unknown_option
from dpbb.options.permutations import parse_permutation
from dpbb.text.files import expecting, read_file


class Group(StrEnum):
    """What options are about: a heading of the help, in this order."""

    LIMITS = "limits"
    SEARCH = "search"
    HEURISTICS = "heuristics"
    MACHINES = "machines"
    FILES = "files"
    SHOWN = "what is shown"
    TUNING = "tuning"


class Resumed(StrEnum):
    """What an option is in a run that goes on from a checkpoint, if it is not given."""

    FIXED = "as before"  # and another value is refused
    KEPT = "kept"
    ANEW = "default"  # as all paths and addresses: a checkpoint may be anybody's


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One option: a row of the table.

    Parameters
    ----------
    help
        One line for people, as ``--help`` has it.
    detail
        More of it, for the reference.
    client
        Whether it matters in the caller's process alone; others are stored with a run.
    type
        Type of the option, as Python writes it.
    """

    name: str
    default: Any
    kind: Kind
    group: Group
    help: str
    detail: str
    resumed: Resumed
    client: bool
    type: str

    @property
    def flag(self) -> str:
        """Flag of the command line; --time-limit, not --time-limit-s: see the help."""
        return "--" + self.name.removesuffix("_s").replace("_", "-")

    @property
    def default_text(self) -> str:
        """The default, or what happens without a value."""
        if self.default is None:
            return self.kind.default_text
        if self.kind.rows:
            return "of each key its own"
        return "off" if self.default is False else str(self.default)


def row(
    group: Group,
    kind: Kind,
    help: str,
    detail: str = "",
    *,
    default: Any = None,
    otherwise: str = "none",
    resumed: Resumed = Resumed.KEPT,
    client: bool = False,
) -> Any:  # whatever the field is
    """Return a dataclass field that is a row of the table; see ``OptionRow``.

    ``otherwise``: what happens without a value, where there is no default.
    """
    if client or kind.place or group is Group.TUNING:
        resumed = Resumed.ANEW
    if default is None:
        kind = optional(kind, otherwise)
    parts = {"kind": kind, "group": group, "help": help, "detail": detail}
    parts |= {"resumed": resumed, "client": client}
    return field(default=default, metadata={"row": parts})


def rows_of(table: type) -> dict[str, OptionRow]:
    """Rows of a table, by name, in the order of its fields."""
    return {
        one.name: OptionRow(
            one.name, one.default, type=str(one.type), **one.metadata["row"]
        )
        for one in fields(table)
    }


def fill(table: Any, rows: Mapping[str, OptionRow], values: Mapping[str, Any]) -> None:
    """Set the fields of a frozen table, each checked.

    OptionError: a name that no row has, or a value that is not allowed.
    """
    for name in values:
        if name not in rows:
            raise unknown_option(name, rows)
    for name, one in rows.items():
        value = one.kind.check(values.get(name, one.default), name)
        object.__setattr__(table, name, value)


def read_toml(path: str | Path, table: Mapping[str, OptionRow]) -> dict[str, Any]:
    """Return the ``[solve]`` table of a TOML file: names and values of options.

    OptionError: no such file, no TOML, or no such table; an unknown name, or a bad
    value.
    """
    with expecting(f"{path}: expected a readable TOML file"):
        document = tomllib.loads(read_file(Path(path)).decode("utf-8"))
    values = document.get("solve")
    if not isinstance(values, dict) or len(document) > 1:
        found = (f"[{k}]" if isinstance(v, dict) else k for k, v in document.items())
        got = ", ".join(found) or "nothing"
        raise OptionError(f"{path}: expected one table [solve], got {got}")
    return {name: _checked(path, name, values[name], table) for name in values}


def _checked(
    path: str | Path, name: str, value: Any, table: Mapping[str, OptionRow]
) -> Any:
    """Return one value of a file in its final type; messages name the file."""
    if name not in table:
        raise unknown_option(name, table, f"{path}, ")
    kind, where = table[name].kind, f"{path}, {name}"
    if kind.rows and isinstance(value, dict):
        return {key: _checked(where, key, value[key], kind.rows) for key in value}
    if kind.read is parse_permutation and isinstance(value, str):
        return parse_permutation(value, where)
    return kind.check(value, where)
