"""Write the tables of what ``dpbb.FlowShop`` is and minimizes into ``docs/shop.md``.

Run it in the root of the repository after a change of ``OBJECTIVES`` in
``dpbb/flowshop/shop.py`` or ``FEATURES`` in ``dpbb/flowshop/features.py``:
``python docs/make_shop.py``.
"""

from __future__ import annotations

from pathlib import Path

from dpbb.flowshop.features import FEATURES
from dpbb.flowshop.shop import OBJECTIVES

PAGE = Path(__file__).parent / "shop.md"
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->\n"


def table() -> str:
    """Return the tables in Markdown."""
    lines = [
        "| `--objective` | what is minimized | columns | tree |",
        "|---|---|---|---|",
    ]
    for name, kind in OBJECTIVES.items():
        columns = ", ".join(f"`{column}`" for column in kind.columns)
        sides = "both ends" if kind.latest else "front"
        lines.append(f"| `{name}` | {kind.words} | {columns} | {sides} |")
    lines += ["", "| flag | in Python | what it is | not with |", "|---|---|---|---|"]
    for name, feature in FEATURES.items():
        others = [
            n for n, f in FEATURES.items() if n in feature.alone or name in f.alone
        ]
        alone = ", ".join(f"`{one}`" for one in others)
        lines.append(f"| `--{name}` | `{name}=` | {feature.words} | {alone} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the page with the table as it is now."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
