"""What came out of a campaign: tables and plots of its records."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from dpbb.errors import OptionError
from dpbb.estimation.rates import h100_rate
from dpbb.estimation.result import MANY_JOBS, ONLY_LEAST
from dpbb.plotting import style
from dpbb.plotting.runs import Run, crew

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpbb.campaign.folder import Record

COLUMNS = (
    *("instance", "size", "objective", "features", "status", "makespan"),
    *("lower_bound", "best_lower", "best_upper", "estimated", "low", "high"),
    *("nodes", "seconds", "gpu_hours", "energy_kwh", "engine", "bound", "strategy"),
    *("heuristics", "found_by", "proof", "attempts", "certificate", "news"),
)
"""Columns of the table of instances."""

SHOWN = (
    *("instance", "objective", "features", "status", "makespan", "lower_bound"),
    *("best_lower", "best_upper", "nodes", "seconds", "gpu_hours", "energy_kwh"),
    *("engine", "bound", "strategy", "found_by", "proof", "certificate"),
)
"""Those of them that the report for people has."""

PRINTED = (
    *("instance", "status", "lower_bound", "makespan", "best_lower", "best_upper"),
    *("nodes", "seconds", "gpu_hours"),
)
"""Those of them that a table for a paper has."""

LEFT_COLUMNS = (
    *("instance", "size", "lower bound", "upper bound", "explored", "nodes, about"),
    *("from", "to", "GPU-hours, about", "from", "to", "within 100"),
)
"""Columns of the table of what is not proved; GPU-hours are those of ``h100_rate``."""

AFFORDABLE_H = 100.0

CLASS_COLUMNS = (
    *("class", "instances", "proved", "new upper", "new lower"),
    *("nodes", "hours", "GPU-hours", "kWh"),
)
"""Columns of the table of classes."""


def row_of(record: Record) -> dict[str, Any]:
    """Return an instance's row: the values of ``COLUMNS``."""
    took, energy = record.totals, record.totals.energy_j
    own = {
        "nodes": took.nodes,
        "seconds": took.seconds,
        "gpu_hours": round(took.gpu_seconds / 3600, 6) or None,
        "energy_kwh": None if energy is None else round(energy / 3.6e6, 6),
    }
    return {
        name: own[name] if name in own else getattr(record, name) for name in COLUMNS
    }


def left(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    """Return rows of ``LEFT_COLUMNS``: what is not proved, cheapest first.

    What was explored is in the tree. Where it is as much as the estimate, nothing says
    how much is left: "> " is before it, and it comes last. No upper end is known there,
    nor with ``MANY_JOBS``.
    """
    rows = []
    for one in records:
        if one.proved or one.estimated is None or one.low is None or one.high is None:
            continue
        nodes = one.totals.nodes
        passed = nodes >= one.estimated
        sizes = (
            *(float(max(one.estimated, nodes)), float(max(one.low, nodes))),
            None if passed or one.n_jobs >= MANY_JOBS else one.high,
        )
        hour = 3600 * h100_rate(one.n_jobs, one.n_machines).nodes_per_second
        hours = [None if size is None else size / hour for size in sizes]
        about, low, high = (
            (inf if hour is None else hour) <= AFFORDABLE_H for hour in hours
        )
        within = "yes" if about and high else "perhaps" if about or low else "no"
        known = [value for value in (one.best_upper, one.makespan) if value is not None]
        bounds = (
            max(one.best_lower or 0, one.lower_bound or 0),
            min(known, default=None),
        )
        ends: list[Any] = [*sizes, *hours]
        if passed:
            ends[0], ends[3] = (f"> {value:.4g}" for value in (sizes[0], hours[0]))
        row = (*(one.instance, one.size), *bounds, nodes or None, *ends, within)
        rows.append((passed, hours[0], row))
    return [row for *_, row in sorted(rows, key=lambda item: item[:2])]


def classes(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    """Return rows of ``CLASS_COLUMNS``: a class each, and all together."""
    groups = [*_groups(records).items(), ("all", records)]
    return [_class_row(name, group) for name, group in groups]


def _groups(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records of each class, by size; benchmarks have their own."""
    found: dict[str, list[Record]] = {}
    for one in sorted(records, key=lambda one: (one.n_jobs, one.n_machines, one.group)):
        found.setdefault(one.group, []).append(one)
    return found


def _class_row(name: str, group: Sequence[Record]) -> tuple[Any, ...]:
    rows = [row_of(record) for record in group]
    energy = [row["energy_kwh"] for row in rows if row["energy_kwh"] is not None]
    return (
        name,
        _count(group),
        _count(record for record in group if record.proved),
        _count(record for record in group if "upper" in record.news),
        _count(record for record in group if "lower" in record.news),
        sum(row["nodes"] for row in rows),
        round(sum(record.totals.seconds for record in group) / 3600, 4),
        round(sum(row["gpu_hours"] or 0.0 for row in rows), 4),
        round(sum(energy), 4) if energy else None,
    )


def _count(records: Iterable[Record]) -> int:
    """How many instances records are of: of several folders there may be more."""
    return len({record.digest for record in records})


def as_csv(records: Sequence[Record]) -> str:
    """Return all instances, one a line."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row_of(record) for record in records)
    return text.getvalue()


def as_markdown(records: Sequence[Record]) -> str:
    """Return tables of classes, news, instances, and of what is left."""
    rows = [row_of(one) for one in records if one.attempts]
    shown = _heads(SHOWN, records)
    waiting = left(records)
    many = any(one.n_jobs >= MANY_JOBS and not one.proved for one in records)
    parts = [
        as_table(CLASS_COLUMNS, classes(records)),
        as_news(records),
        as_table(shown, [tuple(row[name] for name in SHOWN) for row in rows]),
        as_table(LEFT_COLUMNS, waiting) if waiting else "",
        f"{ONLY_LEAST.capitalize()}.\n" if waiting and many else "",
    ]
    return "\n".join(part for part in parts if part)


def _heads(names: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Return names of columns; that of the cost is the objective, where it is one."""
    objectives = {one.objective for one in records}
    cost = objectives.pop() if len(objectives) == 1 else "cost"
    return [cost if name == "makespan" else name for name in names]


def as_latex(records: Sequence[Record]) -> str:
    """Return two tables for a paper with booktabs: the classes, and the instances."""
    rows = [row_of(record) for record in records if record.attempts]
    instances = [tuple(row[name] for name in PRINTED) for row in rows]
    heads = [name.replace("_", " ") for name in _heads(PRINTED, records)]
    tables = _tabular(CLASS_COLUMNS, classes(records)), _tabular(heads, instances)
    return "% \\usepackage{booktabs}\n" + "\n".join(tables)


def _tabular(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a ``tabular``; its first column is of names."""
    lines = [
        rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
        r"\toprule",
        " & ".join(columns) + r" \\",
        r"\midrule",
        *(" & ".join(_escaped(_cell(value)) for value in row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return re.sub(r"[&%$#_{}]", lambda found: "\\" + found.group(), text)


def as_news(records: Sequence[Record]) -> str:
    """Return what is better than the published bounds, to send to their keepers.

    A line an instance: name, what is new, the permutation (jobs from 1) of a new upper
    bound, and the file that proves a lower bound.
    """
    lines = []
    for record in records:
        if not record.news:
            continue
        parts = [f"- {record.instance}: {record.news}"]
        if "upper" in record.news and record.permutation:
            order = " ".join(str(job + 1) for job in record.permutation)
            parts.append(f"permutation (jobs from 1) {order}")
        if record.certificate:
            parts.append(f"certificate {record.certificate}")
        lines.append("; ".join(parts))
    return "\n".join(lines) + "\n" if lines else ""


FORMS: dict[str, Callable[[Sequence[Record]], str]] = {
    ".csv": as_csv,
    ".md": as_markdown,
    ".tex": as_latex,
}
"""Forms of a report by the suffix of its file; for ``.json`` see ``table``."""


def run_of_record(record: Record) -> Run:
    """Return what a page shows of a record."""
    steps: list[tuple[float, int]] = [step[:2] for step in record.trajectory]
    if not steps and record.makespan is not None:
        steps = [(0.0, record.makespan)]
    bound, seconds = record.lower_bound, record.totals.seconds
    ended = ", ".join(filter(None, (record.status, record.termination)))
    return Run(
        name=record.instance,
        source=record.source,
        incumbents=tuple(steps),
        bounds=() if bound is None else ((0.0, bound),),
        end_s=max([seconds, *(at for at, _ in steps)]),
        objective=record.aim,
        ended=ended.replace("_", " "),
        workers=crew(len(record.seats), record.engine),
        nodes=record.totals.nodes,
    )


def draw(records: Sequence[Record]) -> Figure:
    """Draw how many instances were proved within which time each, one curve a class.

    OptionError: nothing was proved yet.
    """
    style.require_matplotlib()
    from matplotlib.figure import Figure

    proved = [record for record in records if record.proved]
    if not proved:
        raise OptionError("report: expected a proved instance to draw, got none")
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    ax = figure.subplots()
    for name, group in _groups(proved).items():
        times = sorted(max(record.totals.seconds, 1e-3) for record in group)
        count = range(1, len(times) + 1)
        ax.step(times, count, marker=".", where="post", label=name)
    style.dress(ax, x="seconds for an instance", y="instances proved")
    ax.set_xscale("log")
    ax.set_ylim(bottom=0)
    ax.locator_params("y", integer=True)
    style.legend_above(ax)
    style.title(ax, "campaign", f": {len(proved)} of {len(records)} instances proved")
    return figure


def as_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table whose columns stand below each other."""
    lines = [columns, *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["| " + " | ".join(map(str.rjust, line, widths)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|")
    return "\n".join(text) + "\n"


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
