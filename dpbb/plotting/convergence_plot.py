"""Convergence: how incumbents and lower bound came closer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.snapshot import Snapshot
from dpbb.plotting import style
from dpbb.plotting.runs import Run, run_of
from dpbb.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_S = 1e-3
"""Where the time axis begins at the earliest."""


def convergence(
    data: Result | Checkpoint | Snapshot | Sequence[Snapshot], ax: Axes | None = None
) -> Axes:
    """Draw incumbents and lower bound over time, as steps; shaded between is the gap.

    Time is logarithmic, so that the first seconds can be read, too. The title has the
    gap at the end: (incumbent - lower bound) / incumbent.

    Parameters
    ----------
    data
        A result, a checkpoint, a snapshot: their last lower bound is drawn over all of
        the time, but of a result from below as it was proved. Or snapshots of one run,
        oldest first: the lower bound as it rose.
    ax
        Where to draw; default: a new pyplot figure.

    Raises
    ------
    DpbbError
        Nothing to draw; Matplotlib is not installed.
    """
    run = run_of(data)
    ax = style.axes_for(ax, 7.0, 3.6)
    end_s = max([run.end_s, *(at for at, _ in run.incumbents), LEAST_S])
    x, y = _steps(run.incumbents, end_s)
    below, under = _steps(run.bounds, end_s)
    look: dict[str, Any] = {"where": "post", "lw": 1.8}
    if x.size:
        ax.step(x, y, color=style.VERMILLION, label="incumbent", **look)
        ax.plot(x[:-1], y[:-1], "o", color=style.VERMILLION, ms=4, clip_on=False)
    if below.size:
        steady = len(run.bounds) == 1 and x.size > 0
        look["linestyle"] = "--" if steady else "-"
        label = "lower bound at the end" if steady else "lower bound"
        ax.step(below, under, color=style.BLUE, label=label, **look)
    if x.size and below.size:
        every, low, high = _together((below, under), (x, y))
        shade: dict[str, Any] = {"color": style.GRID, "alpha": 0.6, "lw": 0}
        ax.fill_between(every, low, high, step="post", label="gap", **shade)
    units = " (time units)" if run.objective == "makespan" else ""
    style.dress(ax, x="time (s)", y=run.objective + units)
    _value_axis(ax, [*y.tolist(), *under.tolist()])
    _time_axis(ax, float(min(x, default=end_s)), end_s)
    style.legend_above(ax)
    style.title(ax, run.name, _title(run))
    return ax


def _steps(
    points: Sequence[tuple[float, int]], end_s: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return seconds and values, the last one until the end, too.

    A logarithmic axis has no 0.
    """
    known = [*points, *((end_s, value) for _, value in points[-1:])]
    times = np.array([at for at, _ in known], np.float64)
    values = np.array([value for _, value in known], np.int64)
    return np.maximum(times, LEAST_S), values


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


def _time_axis(ax: Axes, first_s: float, end_s: float) -> None:
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


def _title(run: Run) -> str:
    if not run.incumbents:
        return f": no schedule; lower bound {run.bound}"
    if run.gap is None:
        return f": {run.objective} {run.value}"
    return f": {run.objective} {run.value}, lower bound {run.bound}, gap {run.gap:.2%}"
