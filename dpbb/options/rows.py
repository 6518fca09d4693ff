"""What a row of the options table says, and how it is read from a TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from dpbb.errors import OptionError
from dpbb.options.kinds import Kind, unknown_option
from dpbb.options.permutations import parse_permutation
from dpbb.text.files import read_file


class Where(StrEnum):
    """Where an option matters, and so how far it travels."""

    TREE = "tree"  # what the tree is (``TreeOptions``): stored and hashed
    RUN = "run"  # the scheduler and the seats, as ``RunSpec.options``
    ENGINE = "engine"  # the engine's speed alone, as ``RunSpec.tuning``
    PLAN = "plan"  # before the tree; the run gets what comes of it, as its cutoff
    CLIENT = "client"  # the caller's process alone: never travels


class Resumed(StrEnum):
    """What an option is for a run that goes on from a checkpoint, unless it is given.

    Nothing of options that begin anew is needed from the checkpoint.
    """

    FIXED = "as before"  # and another value is refused
    KEPT = "kept"
    ANEW = "default"  # as all paths and addresses: a checkpoint may be anybody's


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One option: a row of the table.

    Parameters
    ----------
    name, default, help
        As people see them.
    resumed
        What it is when a run goes on.
    type
        Type of the option, as Python writes it.
    """

    name: str
    default: Any
    kind: Kind
    help: str
    where: Where
    resumed: Resumed
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
        return "off" if self.default is False else str(self.default)

    @property
    def stored(self) -> bool:
        """Whether a run holds it, for whoever makes its result."""
        return self.where is not Where.CLIENT


def row(
    default: Any, kind: Kind, where: Where, help: str, *, resumed: Resumed | None = None
) -> Any:  # whatever the field is
    """Return a dataclass field that is a row of the table.

    ``resumed``: default: as before for the tree, anew for the client and for places,
    kept for all else.
    """
    usual = {Where.TREE: Resumed.FIXED, Where.CLIENT: Resumed.ANEW}
    chosen = resumed or usual.get(where, Resumed.KEPT)
    if kind.place:
        chosen = Resumed.ANEW
    return field(default=default, metadata={"row": (kind, help, where, chosen)})


def rows_of(table: type) -> dict[str, OptionRow]:
    """Rows of a table, by name, in the order of its fields."""
    return {option.name: _row(option) for option in fields(table)}


def _row(option: Field[Any]) -> OptionRow:
    kind, text, where, resumed = option.metadata["row"]
    type_ = str(option.type)
    return OptionRow(option.name, option.default, kind, text, where, resumed, type_)


def read_toml(path: str | Path, table: Mapping[str, OptionRow]) -> dict[str, Any]:
    """Return the ``[solve]`` table of a TOML file: names and values of options.

    OptionError: no such file, no TOML, or no such table; an unknown name, or a bad
    value.
    """
    try:
        document = tomllib.loads(read_file(Path(path)).decode("utf-8"))
    except OSError as error:
        raise OptionError(
            f"{path}: expected a readable TOML file, got {error.strerror or error}"
        ) from error
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError
        raise OptionError(f"{path}: expected TOML, got: {error}") from error
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
    if kind.parse is parse_permutation and isinstance(value, str):
        return parse_permutation(value, where)
    return kind.check(value, where)
