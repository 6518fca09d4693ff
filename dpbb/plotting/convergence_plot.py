"""Convergence: how incumbents and lower bound came closer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.messages import Request
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import DpbbError
from dpbb.plotting import style
from dpbb.problem import objective_of
from dpbb.progress.words import time_unit
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
    data: Result | Checkpoint | Snapshot | Sequence[Snapshot] | Mapping[str, Any],
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
        oldest first: the lower bound as it rose. Of several runs by their names the
        gaps are drawn, in percent.
    ax
        Where to draw; default: a new pyplot figure.
    log_time
        Have a logarithmic time axis, on which the first seconds can be read, too.

    Raises
    ------
    DpbbError
        Nothing to draw; Matplotlib is not installed.
    """
    if isinstance(data, Mapping):
        return _gaps({name: curve_of(one) for name, one in data.items()}, ax, log_time)
    curve = curve_of(data)
    ax = style.axes_for(ax, SIZE)
    end_s = max([curve.end_s, *(at for at, _ in curve.incumbents), LEAST_S])
    unit_s, unit = (1.0, "s") if log_time else time_unit(end_s)
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
        every, low, high = _together((below, under), (x, y))
        shade: dict[str, Any] = {"color": style.GRID, "alpha": 0.6, "lw": 0}
        ax.fill_between(every, low, high, step="post", label="gap", **shade)
    units = " (time units)" if curve.objective == "makespan" else ""
    style.dress(ax, x=f"time ({unit})", y=curve.objective + units)
    _value_axis(ax, [*y.tolist(), *under.tolist()])
    _time_axis(ax, end_s, unit_s, float(min(x, default=end_s)) if log_time else None)
    style.legend_above(ax)
    style.title(ax, curve.name, _title(curve))
    return ax


def _gaps(curves: Mapping[str, Curve], ax: Axes | None, log_time: bool) -> Axes:
    """Draw the gaps of several runs over time."""
    ax = style.axes_for(ax, SIZE)
    end_s = max([LEAST_S, *(curve.end_s for curve in curves.values())])
    unit_s, unit = (1.0, "s") if log_time else time_unit(end_s)
    least_s = LEAST_S if log_time else 0.0
    looks = cycle(product(("-", "--", ":"), style.SERIES))
    first_s = end_s
    for (name, curve), (dash, color) in zip(curves.items(), looks, strict=False):
        if not (curve.incumbents and curve.bounds):
            raise DpbbError(f"convergence: expected a gap of {name}, got none")
        x, low, high = _together(
            *(
                _steps(steps, least_s, curve.end_s, unit_s)
                for steps in (curve.bounds, curve.incumbents)
            )
        )
        gap = 100 * (high - low) / np.maximum(high, 1)
        ax.step(x, gap, dash, color=color, label=name, where="post", lw=1.8)
        first_s = min(first_s, float(x[0]))
    style.dress(ax, x=f"time ({unit})", y="gap (%)")
    ax.set_ylim(bottom=0)
    _time_axis(ax, end_s, unit_s, first_s if log_time else None)
    style.legend_above(ax)
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


def _together(
    below: Any, above: Any
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return when either of two ``_steps`` changes, and both values then."""
    every = np.unique([*below[0], *above[0]])
    every = every[every >= max(below[0][0], above[0][0])]
    low, high = (
        values[np.searchsorted(ends, every, side="right") - 1]
        for ends, values in (below, above)
    )
    return every, low, high


def _time_axis(ax: Axes, end_s: float, unit_s: float, first_s: float | None) -> None:
    """Set its limits; ``first_s``: of a logarithmic one, else None."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    if first_s is None:
        ax.set_xlim(0, 1.02 * end_s / unit_s)
        return
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
