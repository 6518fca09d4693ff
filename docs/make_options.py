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
from dpbb.options.table import OPTIONS, TUNING

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

from typing import TYPE_CHECKING, Any, TypedDict

from dpbb.options.table import (
{enums}
)

# fmt: off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike
    from typing import Literal, SupportsIndex, TypeAlias

    AnyEngine: TypeAlias = {engine}  # noqa: E501
    StyleName: TypeAlias = {style}  # noqa: E501
'''

ROWS = {**OPTIONS, **TUNING}

ALIASES = {"engine": "AnyEngine", "progress": "StyleName"}
"""Names of the types of options that functions take, too."""

PARAMETER = "progress"
"""A parameter of its own in ``solve`` and ``resume``: it takes a ``Progress``, too."""


def derived() -> str:
    """Return the module of the types."""
    enums = sorted({name for row in ROWS.values() for name in enums_in(row)})
    style, engine = (OPTIONS[name].kind.given for name in (PARAMETER, "engine"))
    lines = "\n".join(f"    {name}," for name in enums)
    head = HEAD.format(enums=lines, style=style, engine=engine)
    parts = [head]
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
    text = "Keywords of ``Tuning``."
    parts.append(keywords("TuningKeywords(TypedDict, total=False)", text, TUNING))
    return "\n".join(parts)


def enums_in(row: OptionRow) -> list[str]:
    """Return the names of the enums of a row's type."""
    return re.findall(r"[A-Z]\w+", row.type.replace("None", ""))


def keywords(head: str, text: str, names: Iterable[str]) -> str:
    """Return a TypedDict of options."""
    lines = ["", f"class {head}:", f'    """{text}"""', ""]
    for name in names:
        given = ALIASES.get(name, ROWS[name].kind.given)
        line = f"    {name}: {given}"
        lines.append(line if len(line) <= 88 else line + "  # noqa: E501")
    return "\n".join([*lines, ""])


def options_table() -> str:
    """Return the tables in Markdown: the options, then the keys of ``tuning``."""
    lines = [
        "| option, flag | allowed | default | when resumed | meaning |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{row.name}`<br>`{row.flag}` | {allowed(row)} | {row.default_text} "
        f"| {row.resumed} | {meaning(row)} |"
        for row in OPTIONS.values()
    ]
    lines += [
        "",
        "| key of `tuning` | allowed | default | meaning |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{row.name}` | {allowed(row)} | {row.default_text} | {meaning(row)} |"
        for row in TUNING.values()
    ]
    return "\n".join(lines) + "\n"


def allowed(row: OptionRow) -> str:
    """Return what an option may be, without what the page says of all."""
    text = row.kind.allowed.split("; on the command line")[0]
    return re.sub(r"^(one of|an?|the) ", "", text)


def meaning(row: OptionRow) -> str:
    """Return all that a row says of its option."""
    if row.kind.rows:
        return "of the engines, for experiments: keys of the table below"
    return f"{row.help}; {row.detail}" if row.detail else row.help


def page() -> str:
    """Return the page with the table as it is now."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{options_table()}\n{END}{after}"


if __name__ == "__main__":
    DERIVED.write_text(derived(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
