"""The options table as rows: for flags, TOML files and docs."""

from __future__ import annotations

import tomllib
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.errors import OptionError
from dpbb.options import SolveOptions
from dpbb.options.kinds import unknown_option
from dpbb.options.permutations import parse_permutation

if TYPE_CHECKING:
    from dpbb.options.kinds import Kind


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One option as people see it."""

    name: str
    flag: str
    kind: Kind
    default: Any
    help: str

    @property
    def default_text(self) -> str:
        """The default, or what happens without a value."""
        if self.default is None:
            return self.kind.default_text
        return "off" if self.default is False else str(self.default)


def option_rows() -> tuple[OptionRow, ...]:
    """Rows of the table, in the order of the fields."""
    return tuple(_row(option) for option in fields(SolveOptions))


def _row(option: Field[Any]) -> OptionRow:
    # --time-limit, not --time-limit-s: the help says seconds.
    flag = "--" + option.name.removesuffix("_s").replace("_", "-")
    meta = option.metadata
    return OptionRow(option.name, flag, meta["kind"], option.default, meta["help"])


def options_table() -> str:
    """Return the table in Markdown, as the README has it."""
    lines = ["| option | flag | allowed | default | meaning |", "|---|---|---|---|---|"]
    lines += [
        f"| `{row.name}` | `{row.flag}` | {row.kind.allowed} | {row.default_text} "
        f"| {row.help} |"
        for row in option_rows()
    ]
    return "\n".join(lines) + "\n"


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the ``[solve]`` table of a TOML file: names and values of options.

    Raises
    ------
    OptionError
        No such file, no TOML, or no such table; an unknown name, or a bad value.
    """
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(
            f"{path}: expected a readable TOML file, got {error.strerror or error}"
        ) from error
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError
        raise OptionError(f"{path}: expected TOML, got: {error}") from error
    table = document.get("solve")
    if not isinstance(table, dict) or len(document) > 1:
        found = (f"[{k}]" if isinstance(v, dict) else k for k, v in document.items())
        got = ", ".join(found) or "nothing"
        raise OptionError(f"{path}: expected one table [solve], got {got}")
    kinds = {row.name: row.kind for row in option_rows()}
    return {name: _checked(path, name, table[name], kinds) for name in table}


def _checked(
    path: str | Path,
    name: str,
    value: Any,  # noqa: ANN401
    kinds: dict[str, Kind],
) -> Any:  # noqa: ANN401
    """Return one value of a file in its final type; messages name the file."""
    if name not in kinds:
        raise unknown_option(name, kinds, f"{path}, ")
    where = f"{path}, {name}"
    if kinds[name].parse is parse_permutation and isinstance(value, str):
        return parse_permutation(value, where)
    return kinds[name].check(value, where)
