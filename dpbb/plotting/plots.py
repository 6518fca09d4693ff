"""Convergence, the search space, and the speed-up by the number of GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.snapshot import Snapshot
from dpbb.coordination.span_map import STATES, cells_of, spans_of
from dpbb.errors import DpbbError
from dpbb.plotting import style
from dpbb.plotting.runs import Run, run_of
from dpbb.progress.words import time_unit
from dpbb.result import Result
from dpbb.text.names import percent, plural
from dpbb.tree.counters import closed_leaves
from dpbb.tree.factoradic import n_leaves

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


COLORS = {"finished": "#33715a", "waiting": "#9ecae1", "leased": "#eaaa6d"}
"""Those of the page: a dark one and two light ones that everybody tells apart."""


def interval_map(data: Snapshot | Checkpoint, ax: Axes | None = None) -> Axes:
    """Draw which parts of [0, n!) are finished, being explored, or waiting.

    Permutations lie in the order of the tree. A cell of the map is finished when no
    open root touches it.

    Parameters
    ----------
    data
        A snapshot or a checkpoint. In a checkpoint, whatever an engine has begun counts
        as being explored.
    ax
        Where to draw; default: a new pyplot figure.

    Raises
    ------
    DpbbError
        Matplotlib is not installed.
    """
    ax = style.axes_for(ax, 7.0, 1.7)
    from matplotlib.patches import Patch

    if isinstance(data, Checkpoint):
        name, explored, units, spans = _of_checkpoint(data)
        seconds, begun = data.totals.seconds, "begun"
    else:
        name, explored, spans = data.instance, data.explored, data.spans
        units = {"waiting": data.waiting, "leased": data.leased}
        seconds, begun = data.seconds, "being explored"
    style.dress(
        ax,
        x="share of the n! permutations, in the order of the tree",
        y="",
        grid="none",
    )
    for state in STATES:
        ax.broken_barh(
            [
                (begin, end - begin)
                for begin, end, kind in [(0.0, 1.0, "finished"), *spans]
                if kind == state
            ],
            (0.0, 1.0),
            facecolors=COLORS[state],
            linewidth=0,
            gid=state,
        )
    ax.set(xlim=(0, 1), ylim=(0, 1), yticks=[])
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    ax.spines["left"].set_visible(False)
    labels = {"finished": "finished"}
    for state, label in (("leased", begun), ("waiting", "waiting")):
        labels[state] = f"{label} ({plural(units[state], 'part')})"
    key = [Patch(color=COLORS[state], label=label) for state, label in labels.items()]
    style.legend_above(ax, key)
    unit_s, unit = time_unit(seconds)
    after = f"{seconds / unit_s:.3g} {unit}"
    style.title(ax, name, f": {percent(explored)} of n! finished after {after}")
    return ax


def _of_checkpoint(
    saved: Checkpoint,
) -> tuple[str, float, dict[str, int], Sequence[tuple[float, float, str]]]:
    """Return the instance's name, the share that is finished, units, and spans."""
    fresh, begun = (
        [cells_of(unit.open_roots) for unit in saved.units if unit.fresh == is_fresh]
        for is_fresh in (True, False)
    )
    units = {"waiting": len(fresh), "leased": len(begun)}
    leaves = n_leaves(saved.spec.problem.n_jobs)
    explored = closed_leaves(saved.counters.closed) / leaves
    return saved.spec.instance, explored, units, spans_of(fresh, begun)


HEADROOM = 0.45
"""Share of the left axis kept free: else both lines would end in the same place."""

ROWS = "rows of dpbb bench multigpu"


def speedup(rows: Mapping[str, Any] | Sequence[Any], ax: Axes | None = None) -> Axes:
    """Draw the speed-up (left axis) and the efficiency (right axis).

    The smallest number of each tree has an efficiency of 100 %. Of repetitions the
    mean is drawn.

    Parameters
    ----------
    rows
        What ``dpbb bench multigpu --json`` wrote; or mappings with ``gpus`` and
        ``nodes_per_s``, and perhaps a ``tree``.
    ax
        Where to draw; default: a new pyplot figure.

    Raises
    ------
    DpbbError
        Rows that are none of these; Matplotlib is not installed.
    """
    found = rows_of(rows)
    curves = efficiencies(found)
    # the suite is tried out without GPUs
    unit = "worker" if found[0].engine == "cpu" else "GPU"
    counts = sorted({count for curve in curves.values() for count in curve})
    ax = style.axes_for(ax, 6.4, 4.2)
    right = ax.twinx()
    style.dress(ax, x=f"{unit}s", y=f"speed-up over one {unit}", grid="x")
    style.dress(right, x="", y="efficiency (%), dashed", grid="none")
    for side in ("left", "bottom"):
        right.spines[side].set_visible(False)
    right.spines["right"].set(visible=True, color=style.MUTED)
    dots: dict[str, Any] = {"color": style.MUTED, "lw": 1.0, "ls": ":"}
    handles = ax.plot(counts, counts, label="linear", **dots)
    for index, (name, curve) in enumerate(curves.items()):
        look: dict[str, Any] = {
            "color": style.SERIES[index % len(style.SERIES)],
            "marker": style.MARKERS[index % len(style.MARKERS)],
            "ms": 5,
            "lw": 1.6,
        }
        speeds = [count * share for count, share in curve.items()]
        handles += ax.plot([*curve], speeds, label=name, **look)
        shares = [100 * share for share in curve.values()]
        right.plot([*curve], shares, ls="--", mfc="white", **look)
    best = max(1.0, *(share for curve in curves.values() for share in curve.values()))
    right.set_ylim(0, best * 105)
    ax.set_xlim(0, counts[-1] * 1.06)
    ax.set_ylim(0, best * counts[-1] * (1 + HEADROOM))
    ax.set_xticks(counts)
    style.legend_above(ax, handles)
    return ax


class Row(msgspec.Struct):
    """What is read of a measurement."""

    gpus: Annotated[int, msgspec.Meta(ge=1)]
    nodes_per_s: Annotated[float, msgspec.Meta(gt=0)]
    tree: str = "measured"
    engine: str = "gpu"


def rows_of(data: Any) -> list[Row]:
    """Return the measurements; DpbbError: there are none, or it is something else."""
    rows = data.get("rows") if isinstance(data, dict) else data
    try:
        found = msgspec.convert(rows, list[Row])
    except msgspec.ValidationError as error:
        raise DpbbError(f"speedup: expected {ROWS}, got: {error}") from error
    if not found:
        raise DpbbError(f"speedup: expected {ROWS}, got none")
    return found


def efficiencies(rows: Iterable[Row]) -> dict[str, dict[int, float]]:
    """Return the mean efficiency by tree and number of GPUs."""
    speeds: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        of = speeds.setdefault(row.tree, {})
        of.setdefault(row.gpus, []).append(row.nodes_per_s)
    curves = {}
    for name, of in speeds.items():
        base = mean(of[min(of)]) / min(of)
        curves[name] = {count: mean(of[count]) / count / base for count in sorted(of)}
    return curves
