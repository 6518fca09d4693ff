"""A page of runs: one file of HTML and plain SVG, for which no server is needed.

Text follows the reader's theme; charts of runs of one instance have the same axes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from markupsafe import escape

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.snapshot import Snapshot
from dpbb.plotting.convergence_plot import Curve, curve_of
from dpbb.plotting.style import BLUE, GREEN, MUTED, VERMILLION
from dpbb.progress.words import (
    format_count,
    format_seconds,
    goes_on,
    state_word,
    time_unit,
)
from dpbb.result import Result
from dpbb.text.names import middle, percent, plural

Points = Sequence[tuple[float, float]]

COLUMNS = (
    *("instance", "ended", "objective", "best", "lower bound", "gap", "nodes"),
    *("time", "explored by", "from"),
)
"""Columns of the table of runs."""

LESS = ("explored by", "objective", "lower bound", "nodes", "time", "gap")
"""Those of them that a narrow terminal does without, in this order."""

WIDTH, HEIGHT = 440, 230
LEFT, RIGHT, TOP, BOTTOM = 64, 430, 12, 196
"""A chart and the place of its curves in it, in pixels of a narrow page."""

MOST_POINTS = 500
"""Of a curve of nodes: more cannot be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a page shows of a run.

    Parameters
    ----------
    source
        The file, or what was asked for.
    curve
        Incumbents and lower bounds over time.
    ended, workers
        How it ended, and what explored.
    nodes
        How many it has explored.
    growth
        (second, nodes); empty where only the end is known.
    shares
        (worker, share of the nodes), the largest first.
    """

    source: str
    curve: Curve
    ended: str
    workers: str
    nodes: int
    growth: Points = ()
    shares: Sequence[tuple[str, float]] = ()

    @property
    def row(self) -> tuple[Any, ...]:
        """Values of ``COLUMNS``."""
        curve = self.curve
        value, bound = (steps[-1][1] if steps else None for steps in _both(curve))
        gap = None
        if value is not None and bound is not None:
            gap = percent(max(0.0, (value - bound) / max(value, 1)))
        return (
            *(curve.name, self.ended, curve.objective, value, bound, gap),
            *(self.nodes, format_seconds(curve.end_s), self.workers, self.source),
        )


def run_of(source: str, data: Result | Checkpoint | Sequence[Snapshot]) -> Run:
    """Return what a page shows of a result, a checkpoint, or rows of one run.

    DpbbError: there is neither an incumbent nor a lower bound.
    """
    curve = curve_of(data)
    if isinstance(data, Result):
        ended = f"{data.status}, {data.termination}".replace("_", " ")
        return Run(
            source=source,
            curve=curve,
            ended=ended,
            workers=crew(len(data.seats), data.engine),
            nodes=data.nodes,
        )
    if isinstance(data, Checkpoint):
        optimal = data.value is not None and data.value <= data.cutoff
        ended = "proved optimal" if optimal else f"nothing below {data.ub:,}, proved"
        if data.units:
            ended = f"a checkpoint with {plural(len(data.units), 'part')} left"
        return Run(
            source=source,
            curve=curve,
            ended=ended,
            workers=_counted(data.seats.values()),
            nodes=data.totals.nodes,
        )
    last = replace(data[-1], run_id="")  # that is no run where the root proved all
    most = max((row.seats for row in data), key=len)
    devices = _counted(f"{seat.device} ({seat.engine})" for seat in most)
    return Run(
        source=source,
        curve=curve,
        ended=f"{last.state} at the last row" if goes_on(last) else state_word(last),
        workers="; ".join(filter(None, (devices, last.submitter))),
        nodes=last.nodes,
        growth=[(row.seconds, row.nodes) for row in data],
        shares=_shares(data),
    )


def _both(curve: Curve) -> tuple[Sequence[tuple[float, int]], ...]:
    return curve.incumbents, curve.bounds


def crew(count: int, engine: str) -> str:
    """Write what explored: ``2 x cpu``."""
    return f"{count:,} x {engine}" if count else "no tree"


def _counted(names: Iterable[str]) -> str:
    """Write what there is of each kind: ``2 x cpu, 1 x gpu``."""
    counts = Counter(names)
    return ", ".join(f"{count:,} x {name}" for name, count in sorted(counts.items()))


def _shares(rows: Sequence[Snapshot]) -> list[tuple[str, float]]:
    """Return what part each worker has of the nodes, by the rates that rows report."""
    done: dict[str, float] = {}
    for before, row in pairwise(rows):
        passed = max(0.0, row.seconds - before.seconds)
        for seat in row.seats:
            name = f"{seat.label}, {seat.device}"
            done[name] = done.get(name, 0.0) + seat.nodes_per_second * passed
    whole = sum(done.values())
    shares = [(name, nodes / whole) for name, nodes in done.items() if whole]
    return sorted(shares, key=lambda share: -share[1])


def runs_page(runs: Sequence[Run]) -> str:
    """Return the page as HTML: a table of all runs, and below it each with its charts.

    ValueError: there are no runs.
    """
    if not runs:
        raise ValueError("runs: expected at least one, got none")
    names = list(dict.fromkeys(run.curve.name for run in runs))
    title = names[0] if len(names) == 1 else f"{len(runs):,} runs"
    heads = "".join(f"<th>{name}</th>" for name in COLUMNS)
    rows = "".join(f"<tr>{_cells(run)}</tr>" for run in runs)
    cards = "".join(
        _card(run, [one for one in runs if _alike(one, run)]) for run in runs
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · dpbb</title>\n<style>{STYLE}</style></head>\n<body>"
        f'<h1>{escape(title)}</h1>\n<div class="wide"><table><tr>{heads}</tr>{rows}'
        f'</table></div>\n<div class="runs">{cards}</div></body></html>\n'
    )


STYLE = f"""
:root {{ color-scheme: light dark }}
body {{ font: 14px/1.4 Helvetica, Arial, sans-serif; margin: 0; padding: 8px 12px }}
h1 {{ font-size: 20px; overflow-wrap: anywhere }}
h2 {{ font-size: 15px; margin: 0 0 4px; overflow-wrap: anywhere }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse }}
th, td {{ padding: 2px 12px 2px 0; text-align: left; white-space: nowrap }}
th, figcaption {{ font-weight: normal; opacity: 0.7 }}
.runs, .charts {{ display: grid; gap: 12px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)) }}
.runs {{ margin-top: 12px }}
.runs > section {{ border: 1px solid {MUTED}80; border-radius: 5px; padding: 8px;
  min-width: 0 }}
figure {{ margin: 0; max-width: 900px; min-width: 0 }}
svg {{ width: 100%; height: auto; display: block }}
text {{ font: 11px Helvetica, Arial, sans-serif; fill: currentColor }}
path {{ fill: none; stroke-width: 2 }}
@media (max-width: 700px) {{  /* no room for a table: each run is a paragraph */
  tr:has(th) {{ display: none }}
  tr:has([title]) {{ display: block; padding-bottom: 6px }}
  td[title] {{ display: inline-block; white-space: normal; overflow-wrap: anywhere }}
  td[title]::before {{ content: attr(title) " "; opacity: 0.7 }}
}}
.grid {{ stroke: {MUTED}; stroke-opacity: 0.3; stroke-width: 1 }}
"""


def _alike(one: Run, other: Run) -> bool:
    """Whether two runs are compared: of one instance and objective."""
    mine, its = one.curve, other.curve
    return (mine.name, mine.objective) == (its.name, its.objective)


def _cells(run: Run) -> str:
    return "".join(
        f'<td title="{name}">{_cell(value)}</td>'
        for name, value in zip(COLUMNS, run.row, strict=True)
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else escape(middle(str(value), 60))


def _card(run: Run, alike: Sequence[Run]) -> str:
    """Return a run with its charts; ``alike``: runs on the same axes, itself too."""
    curve = run.curve
    end_s = max(1e-3, *(one.curve.end_s for one in alike))
    steps = [steps for one in alike for steps in _both(one.curve)]
    values = [value for some in steps for _, value in some]
    parts = []
    if values:
        steady = len(curve.bounds) == 1
        bound = f"lower bound{' at the end' if steady else ''}"
        lines = [
            Line("best", VERMILLION, _until(curve.incumbents, curve.end_s)),
            Line(bound, BLUE, _until(curve.bounds, curve.end_s), dashed=steady),
        ]
        margin = max(2.0, 0.05 * (max(values) - min(values)))
        ends = min(values) - margin, max(values) + margin
        parts.append(_chart(lines, end_s, ends, "{:,.0f}".format))
    if len(run.growth) > 1:
        every = -(-len(run.growth) // MOST_POINTS)
        points = [*run.growth[::every], run.growth[-1]]
        nodes = Line("nodes", GREEN, points)
        most = max(5, *(one.nodes for one in alike))
        parts.append(_chart([nodes], end_s, (0, 1.05 * most), format_count))
    if run.shares:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td><meter value='{share:.4f}'></meter></td>"
            f"<td>{percent(share)}</td></tr>"
            for name, share in run.shares
        )
        parts.append(
            "<figure><figcaption>share of the nodes by worker, from the rates in the "
            f'rows</figcaption><div class="wide"><table>{rows}</table></div></figure>'
        )
    aim = "" if curve.objective == "makespan" else f", {curve.objective}"
    title = f"{curve.name}{aim}: {run.ended}"
    if run.source != curve.name:
        title += f", {run.source}"
    charts = f'<div class="charts">{"".join(parts)}</div>'
    return f"<section><h2>{escape(title)}</h2>{charts}</section>\n"


@dataclass(frozen=True, slots=True)
class Line:
    """A curve of a chart: (second, value)."""

    name: str
    color: str
    points: Points
    dashed: bool = False


def _until(steps: Points, end_s: float) -> Points:
    """Return the corners of a curve of steps, which holds its last value."""
    found: list[tuple[float, float]] = []
    for at, value in steps:
        if found:
            found.append((at, found[-1][1]))
        found.append((at, value))
    return [*found, (end_s, found[-1][1])] if found else found


def _chart(
    lines: Sequence[Line],
    end_s: float,
    ends: tuple[float, float],
    write: Callable[[float], str],
) -> str:
    """Return curves over time as SVG; ``write`` makes labels of values."""
    unit_s, unit = time_unit(end_s)
    low, high = ends

    def across(seconds: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * seconds / end_s, 1)

    def up(value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low), 1)

    parts = []
    for value in _ticks(low, high, least=1.0):
        y = up(value)
        parts.append(f'<path class="grid" d="M{LEFT} {y}H{RIGHT}"/>')
        parts.append(_text(LEFT - 6, y + 4, write(value), "end"))
    parts += [
        _text(across(at * unit_s), BOTTOM + 16, f"{at:g}", "middle")
        for at in _ticks(0.0, end_s / unit_s)
    ]
    parts.append(_text((LEFT + RIGHT) / 2, HEIGHT - 5, f"time ({unit})", "middle"))
    names = []
    for line in lines:
        if not line.points:
            continue
        corners = "L".join(f"{across(at)} {up(value)}" for at, value in line.points)
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        parts.append(
            f'<path stroke="{line.color}"{dash} d="M{corners}"><title>{line.name}: '
            f"{write(line.points[-1][1])}</title></path>"
        )
        names.append(f'<span style="color:{line.color}">&#9644;</span> {line.name}')
    said = ", ".join(line.name for line in lines)
    return (
        f"<figure><figcaption>{' &ensp; '.join(names)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said} over time">'
        f"{''.join(parts)}</svg></figure>"
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _ticks(low: float, high: float, least: float = 0.0) -> list[float]:
    """Return up to six round numbers from ``low`` to ``high``, ``least`` apart."""
    size = 10.0 ** math.floor(math.log10((high - low) / 5))
    steps = (size * by for by in (1, 2, 5, 10))
    step = max(least, next(step for step in steps if step >= (high - low) / 5))
    first = math.ceil(low / step)
    return [step * place for place in range(first, math.floor(high / step) + 1)]
