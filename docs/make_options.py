"""Write what lists the options besides their table, ``dpbb/options/table.py``.

Run it in the root of the repository after a change of the table:
``python docs/make_options.py``. It writes ``dpbb/options/derived.py`` (types that
follow from the rows) and the table in ``docs/reference/options.md``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dpbb.estimation.result import USED_OPTIONS
from dpbb.options.rows import Where
from dpbb.options.table import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpbb.options.rows import OptionRow

ROOT = Path(__file__).parents[1]
DERIVED = ROOT / "dpbb/options/derived.py"
PAGE = ROOT / "docs/reference/options.md"
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->\n"

HEAD = '''\
"""Types that follow from the options table; ``docs/make_options.py`` writes this."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypedDict

from dpbb.options.table import (
{enums}
)

# fmt: off

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike
    from typing import Literal, SupportsIndex, TypeAlias

    from dpbb.options.table import SolveOptions

    StyleName: TypeAlias = {style}  # noqa: E501
'''

PARTS = {
    Where.RUN: ("RunOptions", "Options of the scheduler and the seats of a run."),
    Where.ENGINE: (
        "Tuning",
        "What changes the speed of an engine, never its counts; None: automatic.",
    ),
}

PARAMETER = "progress"
"""A parameter of its own in ``solve`` and ``resume``: it takes a ``Progress``, too."""


def derived() -> str:
    """Return the module of the types."""
    enums = sorted({name for row in OPTIONS.values() for name in enums_in(row)})
    style = OPTIONS[PARAMETER].kind.given
    head = HEAD.format(enums="\n".join(f"    {name}," for name in enums), style=style)
    parts = [head]
    parts += [values_class(where, *about) for where, about in PARTS.items()]
    solve = [name for name in OPTIONS if name != PARAMETER]
    text = "Keywords of ``dpbb.solve``, ``submit`` and ``resume``: single options."
    parts.append(keywords("SolveKeywords(TypedDict, total=False)", text, solve))
    text = "Keywords of ``SolveOptions``: all options."
    parts.append(
        keywords("OptionKeywords(SolveKeywords, total=False)", text, [PARAMETER])
    )
    text = "Keywords of ``dpbb.estimate``: options that change an estimate."
    parts.append(
        keywords("EstimateKeywords(TypedDict, total=False)", text, USED_OPTIONS)
    )
    return "\n".join(parts)


def enums_in(row: OptionRow) -> list[str]:
    """Return the names of the enums of a row's type."""
    return re.findall(r"[A-Z]\w+", row.type.replace("None", ""))


def values_class(where: Where, name: str, text: str) -> str:
    """Return a class of the options that matter at one place."""
    rows = [row for row in OPTIONS.values() if row.where is where]
    lines = [
        "",
        "@dataclass(frozen=True, slots=True)",
        f"class {name}:",
        f'    """{text}',
        "",
        "    ``dpbb.options.table`` says what they mean.",
        '    """',
        "",
        *(f"    {row.name}: {row.type} = {default(row)}" for row in rows),
        "",
        "    @classmethod",
        f"    def of(cls, options: SolveOptions) -> {name}:",
        '        """Return what all the options say of it."""',
        "        names = [field.name for field in fields(cls)]",
        "        return cls(**{name: getattr(options, name) for name in names})",
        "",
    ]
    return "\n".join(lines)


def default(row: OptionRow) -> str:
    """Return a default as Python writes it."""
    (*_, enum) = (None, *enums_in(row))
    if enum is not None and row.default is not None:
        return f"{enum}.{row.default.name}"
    return repr(row.default)


def keywords(head: str, text: str, names: Iterable[str]) -> str:
    """Return a TypedDict of options."""
    lines = ["", f"class {head}:", f'    """{text}"""', ""]
    for name in names:
        given = "StyleName" if name == PARAMETER else OPTIONS[name].kind.given
        line = f"    {name}: {given}"
        lines.append(line if len(line) <= 88 else line + "  # noqa: E501")
    return "\n".join([*lines, ""])


def options_table() -> str:
    """Return the table in Markdown."""
    lines = [
        "| option | flag | allowed | default | when resumed | meaning |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{row.name}` | `{row.flag}` | {row.kind.allowed} | {row.default_text} "
        f"| {row.resumed} | {row.help} |"
        for row in OPTIONS.values()
    ]
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the page with the table as it is now."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{options_table()}\n{END}{after}"


if __name__ == "__main__":
    DERIVED.write_text(derived(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
