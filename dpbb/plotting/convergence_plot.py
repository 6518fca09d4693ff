"""Convergence: how incumbents and lower bound came closer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import DpbbError
from dpbb.plotting import style
from dpbb.problem import objective_of
from dpbb.result import Improvement, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

T = TypeVar("T")

SIZE = (7.0, 3.6)
"""Inches."""

GAP_SHARE = 0.3
"""Part of the height that the gap has."""

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
    """Draw incumbents, lower bound and gap over time, as steps.

    The gap, (incumbent - lower bound) / incumbent, has the lower part of the axes for
    itself, and the scale on the right.

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
    end_s = max([curve.end_s, *(x for x, _ in curve.incumbents), LEAST_S])
    steps, bounds = (
        _until(points, end_s, log_time) for points in (curve.incumbents, curve.bounds)
    )
    x, y = _columns(steps)
    if x:
        ax.step(x, y, where="post", color=style.VERMILLION, lw=1.8, label="incumbent")
        ax.plot(x[:-1], y[:-1], "o", color=style.VERMILLION, ms=4, clip_on=False)
    if bounds:
        steady = len(curve.bounds) == 1 and len(steps) > 0
        below, under = _columns(bounds)
        ax.step(
            below,
            under,
            where="post",
            color=style.BLUE,
            lw=1.8,
            linestyle="--" if steady else "-",
            label="lower bound at the end" if steady else "lower bound",
        )
    gaps = gaps_of(curve)
    unit = " (time units)" if curve.objective == "makespan" else ""
    style.dress(ax, x="", y=curve.objective + unit)
    _value_axis(ax, [value for _, value in steps + bounds], room=bool(gaps))
    _time(ax, end_s, x or [end_s], log_time=log_time)
    handles = ax.get_legend_handles_labels()[0]
    if gaps:
        handles.append(_gap(ax, _until(gaps, end_s, log_time)))
    style.legend_above(ax, handles)
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
    before_s = float(saved.spec.request.get("seconds", 0.0))
    steps = [Improvement(*step) for step in saved.spec.request.get("trajectory", ())]
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


def _until(
    points: Sequence[tuple[float, T]], end_s: float, log_time: bool
) -> list[tuple[float, T]]:
    """Extend the last step to the end; a logarithmic axis has no 0."""
    if not points:
        return []
    least = LEAST_S if log_time else 0.0
    known = [(max(least, x), y) for x, y in points]
    return [*known, (end_s, points[-1][1])]


def _columns(points: Sequence[tuple[float, T]]) -> tuple[list[float], list[T]]:
    return [x for x, _ in points], [y for _, y in points]


def _time(ax: Axes, end_s: float, x: Sequence[float], *, log_time: bool) -> None:
    if not log_time:
        ax.set_xlabel(style.time_axis(ax.xaxis, end_s))
        ax.set_xlim(0, end_s * 1.02)
        return
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.set_xscale("log")
    ax.set_xlabel("time (s)")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlim(max(LEAST_S, 0.7 * min(x)), max(end_s, 10 * LEAST_S) * 1.1)


def _value_axis(ax: Axes, values: Sequence[int], *, room: bool) -> None:
    """Set limits and ticks of the makespans; with ``room`` for the gap below them."""
    from matplotlib.ticker import MaxNLocator

    margin = max(0.06 * (max(values) - min(values)), 0.002 * max(values), 1.0)
    low, high = min(values) - margin, max(values) + margin
    locator = MaxNLocator(nbins=6, integer=True, min_n_ticks=1)
    ticks = sorted({round(tick) for tick in locator.tick_values(low, high)})
    ax.set_yticks(
        (shown := [tick for tick in ticks if low <= tick <= high]),
        [f"{tick}" for tick in shown],
    )
    share = GAP_SHARE if room else 0.0
    ax.set_ylim(low - (high - low) * share / (1 - share), high)
    ax.yaxis.label.set(y=(1 + share) / 2)


def gaps_of(curve: Curve) -> list[tuple[float, float]]:
    """Return (second, gap in percent) wherever incumbent or lower bound are new."""
    found = []
    for at in sorted({x for x, _ in curve.incumbents + curve.bounds}):
        value = [y for x, y in curve.incumbents if x <= at][-1:]
        bound = [y for x, y in curve.bounds if x <= at][-1:]
        if value and bound:
            gap = 100.0 * (value[0] - bound[0]) / max(value[0], 1)
            found.append((at, max(0.0, gap)))
    return found


def _gap(ax: Axes, gaps: Sequence[tuple[float, float]]) -> Any:
    """Draw the gap below the bounds; returns what the legend shows."""
    from matplotlib.ticker import MaxNLocator

    right = ax.twinx()
    x, y = _columns(gaps)
    highest = max(y) or 1.0  # a gap that is closed from the start has a scale, too
    area = right.fill_between(
        x, y, step="post", color=style.MUTED, alpha=0.35, lw=0, label="gap"
    )
    style.dress(right, x="", y="gap (%)", grid="none")
    right.yaxis.label.set(y=GAP_SHARE / 2)
    for side in ("left", "bottom"):
        right.spines[side].set_visible(False)
    right.spines["right"].set(visible=True, color=style.MUTED)
    right.set_ylim(0, highest / GAP_SHARE * 1.1)
    ticks = MaxNLocator(nbins=3).tick_values(0, highest) if any(y) else [0.0]
    shown = [tick for tick in ticks if 0 <= tick <= highest * 1.05]
    right.set_yticks(shown, [f"{tick:g}" for tick in shown])
    return area


def _title(curve: Curve) -> str:
    if not curve.incumbents:
        return f": no schedule; lower bound {curve.bound}"
    value = curve.incumbents[-1][1]
    if curve.bound is None:
        return f": {curve.objective} {value}"
    gap = (value - curve.bound) / max(value, 1)
    return f": {curve.objective} {value}, lower bound {curve.bound}, gap {gap:.2%}"
