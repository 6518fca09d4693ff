"""A page of runs: one file of HTML and plain SVG, for which no server is needed.

Text follows the reader's theme; charts of runs of one instance have the same axes. Its
HTML is ``templates/runs.html``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader

from dpbb.plotting.runs import COLUMNS, Points, Run
from dpbb.plotting.style import BLUE, GREEN, MUTED, VERMILLION
from dpbb.progress.words import format_count, time_unit
from dpbb.text.names import middle, percent

PLACES = {
    **{"WIDTH": 440, "HEIGHT": 230},
    **{"LEFT": 64, "RIGHT": 430, "TOP": 12, "BOTTOM": 196},
}
"""A chart and the place of its curves in it, in pixels of a narrow page."""

MOST_POINTS = 500
"""Of a curve of nodes: more cannot be told apart."""


def runs_page(runs: Sequence[Run]) -> str:
    """Return the page as HTML: a table of all runs, and below it each with its charts.

    ValueError: there are no runs.
    """
    if not runs:
        raise ValueError("runs: expected at least one, got none")
    names = list(dict.fromkeys(run.name for run in runs))
    here = Environment(
        loader=PackageLoader("dpbb.plotting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    here.filters |= {"cell": _cell, "percent": percent}
    return here.get_template("runs.html").render(
        title=names[0] if len(names) == 1 else f"{len(runs):,} runs",
        runs=runs,
        charts=partial(_charts, runs),
        heading=_heading,
        COLUMNS=COLUMNS,
        MUTED=MUTED,
        **PLACES,
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else middle(str(value), 60)


def _heading(run: Run) -> str:
    aim = "" if run.objective == "makespan" else f", {run.objective}"
    where = f", {run.source}" if run.source != run.name else ""
    return f"{run.name}{aim}: {run.ended}{where}"


@dataclass(frozen=True, slots=True)
class Line:
    """A curve of a chart: (second, value)."""

    name: str
    color: str
    points: Points
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over time; ``write`` makes labels of values from ``low`` to ``high``."""

    lines: Sequence[Line]
    end_s: float
    low: float
    high: float
    write: Callable[[float], str]

    def across(self, seconds: float) -> float:
        """Pixels from the left."""
        left, right = PLACES["LEFT"], PLACES["RIGHT"]
        return round(left + (right - left) * seconds / self.end_s, 1)

    def up(self, value: float) -> float:
        """Pixels from the top."""
        share = (value - self.low) / (self.high - self.low)
        return round(PLACES["BOTTOM"] - (PLACES["BOTTOM"] - PLACES["TOP"]) * share, 1)

    def corners(self, line: Line) -> str:
        """Return a curve as SVG has it."""
        return "L".join(f"{self.across(at)} {self.up(y)}" for at, y in line.points)

    @property
    def unit(self) -> str:
        """Of the time axis."""
        return time_unit(self.end_s)[1]

    @property
    def times(self) -> list[tuple[float, str]]:
        """Ticks of the time axis: seconds, and what is written there."""
        unit_s, _ = time_unit(self.end_s)
        return [(at * unit_s, f"{at:g}") for at in _ticks(0.0, self.end_s / unit_s)]

    @property
    def values(self) -> list[float]:
        """Ticks of the values."""
        return _ticks(self.low, self.high, least=1.0)


def _charts(runs: Sequence[Run], run: Run) -> Iterator[Chart]:
    """Yield the charts of a run, on the axes of all of its instance and objective."""
    key = run.name, run.objective
    alike = [one for one in runs if (one.name, one.objective) == key]
    end_s = max(1e-3, *(one.end_s for one in alike))
    steps = [step for one in alike for step in (*one.incumbents, *one.bounds)]
    values = [value for _, value in steps]
    if values:
        steady = len(run.bounds) == 1
        bound = f"lower bound{' at the end' if steady else ''}"
        lines = [
            Line("best", VERMILLION, _until(run.incumbents, run.end_s)),
            Line(bound, BLUE, _until(run.bounds, run.end_s), dashed=steady),
        ]
        drawn = [line for line in lines if line.points]
        margin = max(2.0, 0.05 * (max(values) - min(values)))
        ends = min(values) - margin, max(values) + margin
        yield Chart(drawn, end_s, *ends, "{:,.0f}".format)
    if len(run.growth) > 1:
        every = -(-len(run.growth) // MOST_POINTS)
        nodes = Line("nodes", GREEN, [*run.growth[::every], run.growth[-1]])
        most = max(5, *(one.nodes for one in alike))
        yield Chart([nodes], end_s, 0, 1.05 * most, format_count)


def _until(steps: Points, end_s: float) -> Points:
    """Return the corners of a curve of steps, which holds its last value."""
    found: list[tuple[float, float]] = []
    for at, value in steps:
        if found:
            found.append((at, found[-1][1]))
        found.append((at, value))
    return [*found, (end_s, found[-1][1])] if found else found


def _ticks(low: float, high: float, least: float = 0.0) -> list[float]:
    """Return up to six round numbers from ``low`` to ``high``, ``least`` apart."""
    size = 10.0 ** math.floor(math.log10((high - low) / 5))
    steps = (size * by for by in (1, 2, 5, 10))
    step = max(least, next(step for step in steps if step >= (high - low) / 5))
    first = math.ceil(low / step)
    return [step * place for place in range(first, math.floor(high / step) + 1)]
