"""Write what ``docs/table.md`` shows of the tables of bounds in ``results``.

Run it in the root of the repository when something is new there:
``python docs/make_table.py``. Verdicts are taken from ``results/checks`` into the
tables first. ``tests/unit/test_results.py`` compares.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from dpbb.campaign.report import as_table
from dpbb.campaign.table import OURS, Figure, Row, as_text, read_table, row, theirs
from dpbb.estimation.rates import h100_rate
from dpbb.proof import checker

RESULTS = Path(__file__).parents[1] / "results"

PROBLEMS = {
    "makespan": "Makespan",
    "blocking": "Makespan without buffers",
    "total-completion": "Total completion time",
}
"""Tables, and what they are of."""

RELAXED = "makespan with buffers"
"""Whose lower bound it is where nothing better is known without buffers."""

COLUMNS = (
    *("instance", "size", "lower", "upper", "status", "lower bound by"),
    *("upper bound by", "`dpbb verify`", "nodes", "s", "on", "kJ", "H100-hours left"),
)
COUNT_COLUMNS = (
    *("file in `results`", "problem", "instances", "closed", "with a schedule"),
    *("with a certificate", "proved again"),
)
NEWS_COLUMNS = ("instance", "problem", "what", "before", "evidence", "`dpbb verify`")

VERDICT = re.compile(
    rf"^(?:(\w+): |verdict +)?({'|'.join(checker.EXIT)})\b", re.MULTILINE
)
"""A line of ``results/checks``: of the instance, or of the file's."""


def verdicts() -> dict[str, str]:
    """Return verdicts by certificates, ``ta/certificates/ta001``, from ``checks``."""
    found = {}
    for file in (RESULTS / "checks").glob("*.txt"):
        for name, verdict in VERDICT.findall(file.read_text(encoding="utf-8")):
            folder = f"{file.stem}/" if name else ""
            found[f"{folder}certificates/{name or file.stem}"] = verdict
    return found


def with_verdicts(rows: list[Row]) -> list[Row]:
    """Return rows whose certificates have the verdicts of ``checks``."""
    known = verdicts()

    def of(figure: Figure) -> Figure:
        name = re.sub(r"(-[0-9a-f]{12})?\.json\.gz$", "", figure.file)
        return replace(figure, verdict=known[name]) if name in known else figure

    return [replace(one, lb_data=tuple(map(of, one.lb_data))) for one in rows]


def with_relaxation(rows: list[Row], relaxed: list[Row]) -> list[Row]:
    """Return rows whose open ones have the lower bounds of a relaxation, too."""
    known = {one.instance: one.lower_bound for one in relaxed}
    found = []
    for one in rows:
        lower = [f for f in one.lb_data if f.solver != RELAXED]
        if one.status == "open" and known[one.instance] is not None:
            source = "results/makespan.json: no buffers take no less"
            lower.append(theirs(RELAXED, source, value=known[one.instance]))
        same = ("objective", "features", "refuted", "estimate")
        more = {name: getattr(one, name) for name in same}
        found.append(row(one.instance, *one.shape, lower, one.ub_data, **more))
    return found


def page(rows: list[Row]) -> str:
    """Return the lines of a table."""
    cells = []
    for one in rows:
        ours = next((f for f in one.lb_data if f.solver == OURS), None)
        run = ours or next((f for f in one.ub_data if f.solver == OURS), None)
        left = None
        if one.estimate:
            rate = h100_rate(*one.shape).nodes_per_second
            left = one.estimate[0] / rate / 3600
        cells.append(
            (
                *(one.instance, one.size.replace(" ", "")),
                *(one.lower_bound, one.upper_bound, one.status),
                *(_by(one.lb_data), _by(one.ub_data), ours and ours.verdict),
                *((run.nodes, run.time, run.hardware) if run else (None,) * 3),
                *(run and run.energy_j and run.energy_j / 1000, left),
            )
        )
    return as_table(COLUMNS, cells)


def _by(figures: tuple[Figure, ...]) -> str:
    return "; ".join(f.solver for f in figures if f.value == figures[0].value)


def news(tables: dict[str, list[Row]]) -> str:
    """Return what is better than what others have, and what shows it."""
    cells = []
    for problem, rows in tables.items():
        for one in rows:
            for word, figures, old in (
                ("lower bound", one.lb_data, one.refuted),
                ("upper bound", one.ub_data, ()),
            ):
                ours = next((f for f in figures if f.solver == OURS), None)
                others = [f for f in figures if f.solver != OURS]
                if ours is None or ours is not figures[0]:
                    continue
                if others and others[0].value == ours.value:
                    continue
                before = "; ".join(f"{f.value:,} ({f.solver})" for f in others[:1])
                before += "".join(f"; refuted: {f.value:,} ({f.solver})" for f in old)
                shown = ours.file or f"schedule in `{problem}.json`"
                what = f"{word} {ours.value:,}"
                shown = (before.removeprefix("; "), shown, ours.verdict)
                cells.append((one.instance, PROBLEMS[problem].lower(), what, *shown))
    return as_table(NEWS_COLUMNS, cells)


def counts(tables: dict[str, list[Row]]) -> str:
    """Return how much there is in each table."""
    cells = []
    for name, rows in tables.items():
        ours = [f for one in rows for f in one.lb_data if f.file]
        closed = sum(one.status == "closed" for one in rows)
        schedules = sum(any(f.schedule for f in one.ub_data) for one in rows)
        again = sum(f.verdict == "proved again" for f in ours)
        of = len(rows), closed, schedules, len(ours), again
        cells.append((f"`{name}.json`", PROBLEMS[name].lower(), *of))
    return as_table(COUNT_COLUMNS, cells)


def pages() -> dict[str, str]:
    """Return all files, by their names in ``results``."""
    tables = {
        name: with_verdicts(read_table(RESULTS / f"{name}.json")) for name in PROBLEMS
    }
    tables["blocking"] = with_relaxation(tables["blocking"], tables["makespan"])
    made = {f"{name}.json": as_text(rows) for name, rows in tables.items()}
    made |= {f"{name}.md": page(rows) for name, rows in tables.items()}
    return made | {"news.md": news(tables), "counts.md": counts(tables)}


if __name__ == "__main__":
    for name, text in pages().items():
        (RESULTS / name).write_text(text, encoding="utf-8")
