"""Gantt charts: when which job is on which machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.errors import DpbbError, OptionError
from dpbb.flowshop.family import read_problem
from dpbb.options.permutations import check_permutation
from dpbb.plotting import style
from dpbb.plotting.critical import critical_path
from dpbb.problem import Scheduled, cost_of, instance_name_of, objective_of
from dpbb.result import Result, Status
from dpbb.result.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

BAR = 0.84
"""Height of a bar; 1 is the distance of machines."""

LABEL_SIZES = (8.0, 7.0, 6.0)
"""Points of the labels in bars: the first at which most bars have room for theirs."""

_DIGIT = 0.64  # width of a digit of Matplotlib's own font, as a share of its size


def gantt(
    data: Result | Schedule | tuple[Any, Sequence[int]],
    ax: Axes | None = None,
    *,
    critical: bool = True,
) -> Axes:
    """Draw a schedule: machines from the top, a bar for each operation.

    The color tells a job's position in the order. Bars have the number of their job
    where there is room for most of them.

    Parameters
    ----------
    data
        A result with a schedule, a schedule, or a problem (or whatever
        ``read_instance`` takes) and a permutation of its jobs.
    ax
        Where to draw; default: a new pyplot figure.
    critical
        Mark a critical path where there is one that ``dpbb.plotting.critical_path``
        finds.

    Raises
    ------
    DpbbError
        The result has no schedule; Matplotlib is not installed.
    """
    schedule, name, text = _schedule(data)
    n_jobs, n_machines = schedule.start.shape
    ax = style.axes_for(ax, gantt_size(data))
    colors = _colors(n_jobs)
    order = list(schedule.permutation)
    lengths = schedule.end - schedule.start
    # of many operations the edges would be all that one sees
    edge = 0.5 if n_jobs <= 60 else 0.15 if n_jobs <= 250 else 0.0
    for machine in range(n_machines):
        bars = np.column_stack(
            [schedule.start[order, machine], lengths[order, machine]]
        )
        ax.broken_barh(
            [(float(begin), float(length)) for begin, length in bars],
            (machine - BAR / 2, BAR),
            facecolors=colors,
            edgecolors="white",
            linewidth=edge,
        )
    style.dress(ax, x="time (in units of the instance)", y="machine", grid="x")
    _machine_axis(ax, n_machines)
    ax.set_xlim(0, max(1, schedule.makespan, *_makespans_beside(ax)) * 1.01)
    _label_bars(ax, schedule, colors)
    handles = _mark(ax, schedule) if critical else []
    handles.append(
        ax.axvline(
            schedule.makespan,
            color=style.BLACK,
            linewidth=1.2,
            linestyle=(0, (4, 2)),
            label=f"end {schedule.makespan}",
        )
    )
    handles += _color_key(order, colors)
    style.legend_above(ax, handles)
    style.title(ax, name, text)
    return ax


def gantt_size(data: Any) -> tuple[float, float]:  # noqa: ANN401
    """Width and height in inches that suit a schedule."""
    n_machines = _schedule(data)[0].start.shape[1]
    return 8.0, min(8.0, max(2.6, 1.4 + 0.26 * n_machines))


def _schedule(data: Any) -> tuple[Schedule, str, str]:  # noqa: ANN401
    """Return the schedule, the instance's name and what the title says of it."""
    if isinstance(data, Result):
        schedule = data.schedule()
        name = data.instance or "schedule"
        proved = "proved optimal" if data.status is Status.OPTIMAL else "not proved"
        known = f", lower bound {data.lower_bound}" if proved == "not proved" else ""
        text = f": {data.objective} {data.makespan}, {proved}{known}"
    elif isinstance(data, Schedule):
        schedule, name = data, ""
        text = f"makespan {schedule.makespan}"
    else:
        given, permutation = data
        problem = read_problem(given)
        order = check_permutation(permutation, n_jobs=problem.n_jobs)
        if not isinstance(problem, Scheduled):
            raise OptionError(
                f"gantt: expected a problem that has schedules, got one of kind "
                f"{problem.name!r}"
            )
        cost = cost_of(problem, np.array(order, np.intp))
        schedule, name = problem.schedule(order), instance_name_of(problem)
        text = f": {objective_of(problem)} {cost}"
    n_jobs, n_machines = schedule.start.shape
    return schedule, name, f"{text}; {n_jobs} jobs, {n_machines} machines"


def _colors(n_jobs: int) -> Any:  # noqa: ANN401
    """Return a color for each position; shape (n_jobs, 4)."""
    from matplotlib import colormaps

    # the ends of Viridis are too near to black and to white
    return colormaps["viridis"](np.linspace(0.12, 0.96, n_jobs))


def _machine_axis(ax: Axes, n_machines: int) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_ylim(n_machines - 0.5, -0.5)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=25, integer=True, steps=[1, 2, 5, 10]))
    if n_machines <= 25:
        ax.set_yticks(range(n_machines))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _makespans_beside(ax: Axes) -> list[float]:
    """Where charts end that share the time axis: none of them may be cut off."""
    beside = ax.get_shared_x_axes().get_siblings(ax)
    return [
        other.dataLim.x1 for other in beside if other is not ax and other.has_data()
    ]


def _label_bars(ax: Axes, schedule: Schedule, colors: Any) -> None:  # noqa: ANN401
    """Write the number of the job into bars, if most have room for it."""
    n_jobs, n_machines = schedule.start.shape
    in_points = 72.0 / ax.figure.dpi
    box = ax.get_window_extent()
    wide = box.width * in_points / (ax.get_xlim()[1] - ax.get_xlim()[0])
    high = box.height * in_points * BAR / n_machines
    lengths = (schedule.end - schedule.start) * wide
    digits = np.array([len(str(job)) for job in range(n_jobs)])[:, None]
    for size in LABEL_SIZES:
        fits = (lengths >= size * (_DIGIT * digits + 0.3)) & (high >= size * 1.1)
        if fits.mean() >= 0.5:
            break
    else:
        return
    for position, job in enumerate(schedule.permutation):
        red, green, blue, _ = colors[position]
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        for machine in np.flatnonzero(fits[job]).tolist():
            middle = (schedule.start[job, machine] + schedule.end[job, machine]) / 2
            ax.text(
                middle,
                machine,
                str(job),
                fontsize=size,
                color="white" if dark else "black",
                ha="center",
                va="center_baseline",
                clip_on=True,
            )


def _mark(ax: Axes, schedule: Schedule) -> list[Any]:
    """Draw the critical path along the upper edges of its bars, if there is one."""
    from matplotlib.patheffects import Normal, Stroke

    try:
        path = critical_path(schedule)
    except DpbbError:  # of another kind, or operations that wait longer than they must
        return []
    x: list[float] = []
    y: list[float] = []
    for job, machine in path:
        x += [float(schedule.start[job, machine]), float(schedule.end[job, machine])]
        y += [machine - BAR / 2 + 0.06] * 2
    (line,) = ax.plot(
        x,
        y,
        color=style.VERMILLION,
        linewidth=1.8,
        solid_joinstyle="miter",
        solid_capstyle="butt",
        label="critical path",
        gid="critical path",
    )
    line.set_path_effects([Stroke(linewidth=3.2, foreground="white"), Normal()])
    return [line]


def _color_key(order: Sequence[int], colors: Any) -> list[Any]:  # noqa: ANN401
    """Legend entries that say what the colors are."""
    from matplotlib.patches import Patch

    first = Patch(color=colors[0], label=f"first job ({order[0]})")
    last = Patch(color=colors[-1], label=f"last job ({order[-1]})")
    return [first, last] if len(order) > 1 else [first]
