"""What plots and pages show of runs, from whatever they left behind.

A page of runs is one file of HTML and plain SVG, for which no server is needed. Text
follows the reader's theme; charts of runs of one instance have the same axes. Its HTML
is ``templates/runs.html``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from jinja2 import Environment, PackageLoader

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.messages import Request
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import DpbbError
from dpbb.plotting.style import BLUE, GREEN, MUTED, VERMILLION
from dpbb.problem import objective_of
from dpbb.progress.words import (
    format_count,
    format_seconds,
    goes_on,
    state_word,
    time_unit,
)
from dpbb.result import Improvement, Result
from dpbb.text.names import middle, percent, plural

Points = Sequence[tuple[float, float]]

COLUMNS = (
    *("instance", "ended", "objective", "best", "lower bound", "gap", "nodes"),
    *("time", "explored by", "from"),
)
"""Columns of the table of runs."""

LESS = ("explored by", "objective", "lower bound", "nodes", "time", "gap")
"""Those of them that a narrow terminal does without, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a run went.

    Parameters
    ----------
    name
        Of the instance.
    incumbents, bounds
        (second, value) as steps, until ``end_s``.
    ended, workers
        How it ended, and what explored.
    nodes
        How many it has explored.
    source
        The file, or what was asked for.
    growth
        (second, nodes); empty where only the end is known.
    shares
        (worker, share of the nodes), the largest first.
    """

    name: str
    incumbents: tuple[tuple[float, int], ...]
    bounds: tuple[tuple[float, int], ...]
    end_s: float
    ended: str
    workers: str
    nodes: int
    objective: str = "makespan"
    source: str = ""
    growth: Points = ()
    shares: Sequence[tuple[str, float]] = ()

    @property
    def value(self) -> int | None:
        """The last incumbent."""
        return self.incumbents[-1][1] if self.incumbents else None

    @property
    def bound(self) -> int | None:
        """The last lower bound."""
        return self.bounds[-1][1] if self.bounds else None

    @property
    def gap(self) -> float | None:
        """(value - bound) / value; None where one of them is not known."""
        if self.value is None or self.bound is None:
            return None
        return (self.value - self.bound) / max(self.value, 1)

    @property
    def row(self) -> tuple[Any, ...]:
        """Values of ``COLUMNS``."""
        gap = None if self.gap is None else percent(max(0.0, self.gap))
        return (
            *(self.name, self.ended, self.objective, self.value, self.bound, gap),
            *(self.nodes, format_seconds(self.end_s), self.workers, self.source),
        )


def run_of(
    data: Result | Checkpoint | Snapshot | Sequence[Snapshot], source: str = ""
) -> Run:
    """Return how the run of a result, a checkpoint, or snapshots of it went.

    DpbbError: there is neither an incumbent nor a lower bound.
    """
    if isinstance(data, Result):
        run = _of_result(data)
    elif isinstance(data, Checkpoint):
        run = _of_checkpoint(data)
    else:
        run = _of_snapshots([data] if isinstance(data, Snapshot) else list(data))
    if not run.incumbents and not run.bounds:
        raise DpbbError("convergence: expected incumbents or a lower bound, got none")
    return replace(run, source=source)


def _of_result(data: Result) -> Run:
    bounds = [(bound.seconds, bound.value) for bound in data.bounds]
    if not bounds or bounds[-1][1] < data.lower_bound:
        bounds.append((data.seconds if bounds else 0.0, data.lower_bound))
    return Run(
        name=data.instance,
        incumbents=_incumbents(data.trajectory, data.makespan),
        bounds=tuple(bounds),
        end_s=data.seconds,
        objective=data.objective,
        ended=f"{data.status}, {data.termination}".replace("_", " "),
        workers=crew(len(data.seats), data.engine),
        nodes=data.nodes,
    )


def _of_checkpoint(data: Checkpoint) -> Run:
    """Heuristics came before the run: their incumbents are in what was asked for."""
    value = data.value
    known = [data.cutoff, *(unit.least_lb for unit in data.units)]
    request = data.spec.request or Request()
    steps = list(request.known.trajectory)
    for step in data.trajectory:
        if not steps or step.value < steps[-1].value:
            steps.append(replace(step, seconds=request.seconds + step.seconds))
    spec = data.spec
    bound = min(known if value is None else [*known, value])
    bound = max(bound, spec.proved_bound or 0, spec.root_bound or 0)
    optimal = value is not None and value <= data.cutoff
    ended = "proved optimal" if optimal else f"nothing below {data.ub:,}, proved"
    if data.units:
        ended = f"a checkpoint with {plural(len(data.units), 'part')} left"
    return Run(
        name=data.spec.instance,
        incumbents=_incumbents(steps, value),
        bounds=((0.0, bound),),
        end_s=request.seconds + data.totals.seconds,
        objective=objective_of(data.spec.problem),
        ended=ended,
        workers=_counted(data.seats.values()),
        nodes=data.totals.nodes,
    )


def _of_snapshots(shots: Sequence[Snapshot]) -> Run:
    if not shots:
        raise DpbbError("convergence: expected snapshots, got none")
    # how it ended is told also where the root proved all, and no run was opened
    last = replace(shots[-1], run_id="")
    bounds: list[tuple[float, int]] = []
    for shot in shots:
        bound = shot.lower_bound
        if bound is not None and (not bounds or bounds[-1][1] != bound):
            bounds.append((shot.seconds if bounds else 0.0, bound))
    most = max((shot.seats for shot in shots), key=len)
    devices = _counted(f"{seat.device} ({seat.engine})" for seat in most)
    return Run(
        name=last.instance,
        incumbents=_incumbents(last.trajectory, last.value),
        bounds=tuple(bounds),
        end_s=last.seconds,
        objective=str(last.objective),
        ended=f"{last.state} at the last row" if goes_on(last) else state_word(last),
        workers="; ".join(filter(None, (devices, last.submitter))),
        nodes=last.nodes,
        growth=[(shot.seconds, shot.nodes) for shot in shots],
        shares=_shares(shots),
    )


def _incumbents(
    steps: Iterable[Improvement], value: int | None
) -> tuple[tuple[float, int], ...]:
    """Return (second, value); what was known before the clock ran counts from 0."""
    if value is None:
        return ()  # a result that proves nothing of its incumbents has none
    known = tuple((max(0.0, step.seconds), step.value) for step in steps)
    return known or ((0.0, value),)


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
