"""Convergence: how incumbents and lower bound came closer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.messages import Request
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import DpbbError
from dpbb.plotting import style
from dpbb.problem import objective_of
from dpbb.result import Improvement, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (7.0, 3.6)
"""Inches."""

LEAST_S = 1e-3
"""Where a logarithmic time axis begins at the earliest."""


@dataclass(frozen=True, slots=True)
class Curve:
    """What is drawn: incumbents, and (second, lower bound) as steps, until the end."""

    name: str
    incumbents: tuple[tuple[float, int], ...]
    bounds: tuple[tuple[float, int], ...]
    end_s: float
    objective: str = "makespan"

    @property
    def bound(self) -> int | None:
        """The last lower bound."""
        return self.bounds[-1][1] if self.bounds else None


def convergence(
    data: Result | Checkpoint | Snapshot | Sequence[Snapshot],
    ax: Axes | None = None,
    *,
    log_time: bool = True,
) -> Axes:
    """Draw incumbents and lower bound over time, as steps; shaded between is the gap.

    The title has the gap at the end: (incumbent - lower bound) / incumbent.

    Parameters
    ----------
    data
        A result, a checkpoint, a snapshot: their last lower bound is drawn over all of
        the time, but of a result from below as it was proved. Or snapshots of one run,
        oldest first: the lower bound as it rose.
    ax
        Where to draw; default: a new pyplot figure.
    log_time
        Have a logarithmic time axis, on which the first seconds can be read, too.

    Raises
    ------
    DpbbError
        Nothing to draw; Matplotlib is not installed.
    """
    curve = curve_of(data)
    ax = style.axes_for(ax, SIZE)
    end_s = max([curve.end_s, *(at for at, _ in curve.incumbents), LEAST_S])
    unit_s, unit = (1.0, "s") if log_time else style.time_unit(end_s)
    least_s = LEAST_S if log_time else 0.0
    x, y = _steps(curve.incumbents, least_s, end_s, unit_s)
    below, under = _steps(curve.bounds, least_s, end_s, unit_s)
    look: dict[str, Any] = {"where": "post", "lw": 1.8}
    if x.size:
        ax.step(x, y, color=style.VERMILLION, label="incumbent", **look)
        ax.plot(x[:-1], y[:-1], "o", color=style.VERMILLION, ms=4, clip_on=False)
    if below.size:
        steady = len(curve.bounds) == 1 and x.size > 0
        look["linestyle"] = "--" if steady else "-"
        label = "lower bound at the end" if steady else "lower bound"
        ax.step(below, under, color=style.BLUE, label=label, **look)
    if x.size and below.size:
        every = np.unique([*x, *below])
        every = every[every >= max(x[0], below[0])]
        low, high = (
            values[np.searchsorted(ends, every, side="right") - 1]
            for ends, values in ((below, under), (x, y))
        )
        shade: dict[str, Any] = {"color": style.GRID, "alpha": 0.6, "lw": 0}
        ax.fill_between(every, low, high, step="post", label="gap", **shade)
    units = " (time units)" if curve.objective == "makespan" else ""
    style.dress(ax, x=f"time ({unit})", y=curve.objective + units)
    _value_axis(ax, [*y.tolist(), *under.tolist()])
    if log_time:
        _log_time(ax, end_s, float(min(x, default=end_s)))
    else:
        ax.set_xlim(0, 1.02 * end_s / unit_s)
    style.legend_above(ax)
    style.title(ax, curve.name, _title(curve))
    return ax


def curve_of(data: Any) -> Curve:
    """Return what ``convergence`` draws of its data."""
    steps: Sequence[Improvement]
    if isinstance(data, Result):
        name, end_s, value = data.instance, data.seconds, data.makespan
        bounds = [(bound.seconds, bound.value) for bound in data.bounds]
        if not bounds or bounds[-1][1] < data.lower_bound:
            bounds.append((end_s if bounds else 0.0, data.lower_bound))
        steps, objective = data.trajectory, data.objective
    elif isinstance(data, Checkpoint):
        name, value = data.spec.instance, data.value
        objective = objective_of(data.spec.problem)
        known = [data.cutoff, *(unit.least_lb for unit in data.units)]
        bounds = [(0.0, min(known if value is None else [*known, value]))]
        steps, before_s = _all_steps(data)
        end_s = before_s + data.totals.seconds
    else:
        shots = [data] if isinstance(data, Snapshot) else list(data)
        if not shots:
            raise DpbbError("convergence: expected snapshots, got none")
        last = shots[-1]
        name, end_s, value = last.instance, last.seconds, last.value
        bounds = _rising(shots)
        steps, objective = last.trajectory, str(last.objective)
    incumbents = _incumbents(steps, value)
    if not incumbents and not bounds:
        raise DpbbError("convergence: expected incumbents or a lower bound, got none")
    return Curve(name, incumbents, tuple(bounds), end_s, objective)


def _all_steps(saved: Checkpoint) -> tuple[list[Improvement], float]:
    """Return incumbents from the start of the call, and when it opened the run.

    The heuristics came before the run: their incumbents are in what was asked for.
    """
    request = saved.spec.request or Request()
    before_s, steps = request.seconds, list(request.known.trajectory)
    for step in saved.trajectory:
        if not steps or step.value < steps[-1].value:
            steps.append(replace(step, seconds=before_s + step.seconds))
    return steps, before_s


def _incumbents(
    steps: Sequence[Improvement], value: int | None
) -> tuple[tuple[float, int], ...]:
    """Return (second, value); what was known before the clock ran counts from 0."""
    if value is None:
        return ()  # a result that proves nothing of its incumbents has none
    known = tuple((max(0.0, step.seconds), step.value) for step in steps)
    return known or ((0.0, value),)


def _rising(shots: Sequence[Snapshot]) -> list[tuple[float, int]]:
    """Return (second, lower bound) wherever the bound is another than before."""
    found: list[tuple[float, int]] = []
    for shot in shots:
        bound = shot.lower_bound
        if bound is not None and (not found or found[-1][1] != bound):
            found.append((0.0 if not found else shot.seconds, bound))
    return found


def _steps(
    points: Sequence[tuple[float, int]], least_s: float, end_s: float, unit_s: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return times in some unit and values, the last one until the end, too.

    A logarithmic axis has no 0.
    """
    known = [*points, *((end_s, value) for _, value in points[-1:])]
    times = np.array([at for at, _ in known], np.float64)
    values = np.array([value for _, value in known], np.int64)
    return np.maximum(times, least_s) / unit_s, values


def _log_time(ax: Axes, end_s: float, first_s: float) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlim(max(LEAST_S, 0.7 * first_s), max(end_s, 10 * LEAST_S) * 1.1)


def _value_axis(ax: Axes, values: Sequence[int]) -> None:
    """Set limits and whole ticks of the costs."""
    from matplotlib.ticker import MaxNLocator

    margin = max(0.06 * (max(values) - min(values)), 0.002 * max(values), 1.0)
    ax.set_ylim(min(values) - margin, max(values) + margin)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    ax.ticklabel_format(axis="y", useOffset=False, style="plain")


def _title(curve: Curve) -> str:
    if not curve.incumbents:
        return f": no schedule; lower bound {curve.bound}"
    value = curve.incumbents[-1][1]
    if curve.bound is None:
        return f": {curve.objective} {value}"
    gap = (value - curve.bound) / max(value, 1)
    return f": {curve.objective} {value}, lower bound {curve.bound}, gap {gap:.2%}"
