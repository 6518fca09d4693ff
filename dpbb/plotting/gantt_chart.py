"""Gantt charts: when which job is on which machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.flowshop.family import read_problem
from dpbb.options.permutations import check_permutation
from dpbb.plotting import style
from dpbb.problem import Scheduled, cost_of, instance_name_of, objective_of
from dpbb.result import Result, Status
from dpbb.result.schedule import NONE, Bars, HasBars, Schedule, critical_path
from dpbb.text.clock import UNITS, Clock

if TYPE_CHECKING:
    from bokeh.plotting import figure
    from matplotlib.axes import Axes

BAR = 0.84
"""Height of a bar; 1 is the distance of machines."""

LABEL_SIZES = (8.0, 7.0, 6.0, 5.0)
"""Points of the labels in bars: the first at which most bars have room for theirs."""

MANY = 3000
"""Bars: of more, white edges would be all that one sees."""

PALE = 0.3
"""Opacity of the time that a job blocks its machine."""

GRAY = (0.62, 0.65, 0.68, 1.0)
"""Color of set-ups."""

FITS = """
const {job, left, right} = source.data, shown = chart.x_range;
const letters = chart.inner_width / (shown.end - shown.start) / 7;
fits.booleans = job.map((name, i) => name.length < letters * (right[i] - left[i]));
"""
"""Which bars of a page have room for their job now: a letter has 7 pixels."""

UNITS_AXIS = "time (in units of the instance)"

_DIGIT = 0.64  # width of a digit of Matplotlib's own font, as a share of its size


def gantt(
    data: Result | Schedule | HasBars | tuple[Any, Sequence[int]],
    ax: Axes | None = None,
) -> Axes:
    """Draw a schedule: machines from the top, a bar for each operation.

    The color tells a job's position in the order. Bars are labeled with their job
    where there is room. A critical path is marked where every operation begins when
    its machine has done the job before, or its job has left the machine before.

    Parameters
    ----------
    data
        A result with a schedule, a schedule (also of a job shop), or a problem (or
        whatever ``read_instance`` takes) and a permutation of its jobs.
    ax
        Where to draw; default: a new pyplot figure.

    Raises
    ------
    DpbbError
        The result has no schedule; Matplotlib is not installed.
    """
    bars, text = bars_of(data)
    n_jobs, n_machines = len(bars.order), len(bars.names.machines)
    ax = style.axes_for(ax, 8.0, min(8.0, max(2.6, 1.4 + 0.26 * n_machines)))
    from matplotlib import colormaps
    from matplotlib.patches import Patch

    colors = np.empty((n_jobs, 4))
    # the ends of Viridis are too near to black and to white
    shades = colormaps["viridis"](np.linspace(0.12, 0.96, n_jobs))
    colors[list(bars.order)] = shades
    # charts that share a time axis: none may be cut off
    beside = ax.get_shared_x_axes().get_siblings(ax)
    ends = [one.dataLim.x1 for one in beside if one is not ax and one.has_data()]
    ax.set_xlim(0, max(1, bars.makespan, *ends) * 1.01)
    low, high = rows_of(bars)
    for row in np.unique(low):
        here = low == row
        for begin, until, shades in _spans(bars, colors):
            drawn = here & ((until > begin) | (until is bars.end))
            ax.broken_barh(
                np.column_stack([begin, until - begin])[drawn].astype(float).tolist(),
                (row, high[here][0]),
                facecolors=shades[drawn],
                edgecolors="white",
                linewidths=0.4 if len(bars.job) <= MANY else 0.0,
            )
    style.dress(ax, x=UNITS_AXIS, y="machine", grid="x")
    _machine_axis(ax, bars.names.machines)
    if bars.names.clock is not None:
        _date_ticks(ax, bars.names.clock)
    _label_bars(ax, bars, colors)
    handles = _mark(ax, bars) if bars.critical else []
    if bars.leave is not None:
        pale = colors[bars.order[0]] * [1, 1, 1, PALE]
        handles.append(Patch(color=pale, label="blocks its machine"))
    if bars.setup is not None:
        handles.append(Patch(color=GRAY, label="set-up"))
    handles += _dates(ax, bars, colors)
    end: dict[str, Any] = {
        "lw": 1.2,
        "ls": (0, (4, 2)),
        "label": f"end {bars.text(bars.makespan)}",
    }
    handles.append(ax.axvline(bars.makespan, color=style.BLACK, **end))
    ends_of_order = [("first", bars.order[0]), ("last", bars.order[-1])]
    handles += [
        Patch(color=colors[job], label=f"{which} job ({bars.names.job(job)})")
        for which, job in ends_of_order[:n_jobs]
    ]
    style.legend_above(ax, handles)
    style.title(ax, bars.name, text)
    return ax


def _date_ticks(ax: Axes, clock: Clock) -> None:
    """Write dates below the time axis."""
    import matplotlib.dates

    dates: Any = matplotlib.dates  # without types
    low, high = map(int, ax.get_xlim())
    locator = dates.AutoDateLocator(maxticks=8)
    days = np.asarray(locator.tick_values(clock.at(low), clock.at(high)))
    times = (days - dates.date2num(clock.origin)) * UNITS["d"] / UNITS[clock.unit]
    shown = (times >= low) & (times <= high)
    form = dates.ConciseDateFormatter(locator)
    ax.set_xticks(times[shown], form.format_ticks(days[shown]))
    ax.set_xlabel(form.get_offset())


def rows_of(bars: Bars) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return upper edge and height of each bar; what overlaps shares a machine's."""
    low, high = bars.machine - BAR / 2, np.full(len(bars.machine), BAR)
    for machine in range(len(bars.names.machines)):
        here = np.flatnonzero(bars.machine == machine)
        here = here[np.argsort(bars.start[here], kind="stable")]
        ends: list[int] = []
        for bar in here.tolist():
            free = [at for at, end in enumerate(ends) if end <= bars.start[bar]]
            at = free[0] if free else len(ends)
            ends[at : at + 1] = [int(bars.end[bar])]
            low[bar] = at
        if len(ends) > 1:
            high[here] /= len(ends)
        low[here] = machine - BAR / 2 + low[here] * high[here]
    return low, high


def _spans(bars: Bars, colors: Any) -> list[tuple[Any, Any, Any]]:
    """Begin, end and colors of what is drawn of the operations."""
    own = colors[bars.job]
    spans = [(bars.start, bars.end, own)]
    if bars.leave is not None:
        spans.append((bars.end, bars.leave, own * [1, 1, 1, PALE]))
    if bars.setup is not None:
        spans.append((bars.start - bars.setup, bars.start, np.full_like(own, GRAY)))
    return spans


def _dates(ax: Axes, bars: Bars, colors: Any) -> list[Any]:
    """Mark release dates above, due dates below, and what ends after its due date."""
    from matplotlib.patches import Rectangle

    handles: list[Any] = []
    bottom, top = ax.get_ylim()
    for what, dates, at, marker in (
        ("release date", bars.release, top, "v"),
        ("due date", bars.due, bottom, "^"),
    ):
        if dates is not None:
            shown = dates <= ax.get_xlim()[1]
            look: dict[str, Any] = {"s": 22, "marker": marker, "clip_on": False}
            where = dates[shown], np.full(shown.sum(), at)
            handles.append(ax.scatter(*where, c=colors[shown], label=what, **look))
    low, high = rows_of(bars)
    wide = bars.end - bars.start
    frames = [
        Rectangle(
            (bars.start[at], low[at]), wide[at], high[at], fill=False, label="late"
        )
        for at in np.flatnonzero(bars.late).tolist()
    ]
    for frame in frames:
        ax.add_patch(frame)
    return handles + frames[:1]


def bars_of(data: Any) -> tuple[Bars, str]:
    """Return the operations of a schedule, and what a title says after the name."""
    if isinstance(data, HasBars):
        bars = data.bars()
        name, text = bars.name, f": makespan {bars.makespan}"
    else:
        schedule, name, text = _schedule(data)
        bars = _of_schedule(schedule, name)
    text += f"; {len(bars.order)} jobs, {len(bars.names.machines)} machines"
    return bars, text


def _of_schedule(schedule: Schedule, name: str) -> Bars:
    """Return the operations of a schedule by their positions."""
    order, (n_jobs, n_machines) = list(schedule.permutation), schedule.start.shape
    names = schedule.names
    start, end = schedule.start[order].reshape(-1), schedule.end[order].reshape(-1)
    places = np.arange(start.size).reshape(n_jobs, n_machines)
    waits = np.full((2, n_jobs, n_machines), NONE)
    # the job first: a machine that takes any number of jobs waits for none
    waits[0, :, 1:], waits[1, 1:] = places[:, :-1], places[:-1]
    before = waits.reshape(2, -1)
    soonest = np.where(before == NONE, 0, end[before]).max(axis=0)
    return Bars(
        name,
        schedule.permutation,
        replace(names, machines=tuple(map(names.machine, range(n_machines)))),
        np.repeat(np.array(order, np.int64), n_machines),
        np.tile(np.arange(n_machines), n_jobs),
        start,
        end,
        critical_path(start, end, before) if (start == soonest).all() else (),
        None if schedule.leave is None else schedule.leave[order].reshape(-1),
        None if schedule.setup is None else schedule.setup[order].reshape(-1),
        schedule.release,
        schedule.due,
    )


def _schedule(data: Any) -> tuple[Schedule, str, str]:
    """Return the schedule, the instance's name and what the title says of it."""
    if isinstance(data, Result):
        schedule = data.schedule()
        name = data.instance or "schedule"
        proved = "proved optimal" if data.status is Status.OPTIMAL else "not proved"
        known = f", lower bound {data.lower_bound}" if proved == "not proved" else ""
        text = f": {data.objective} {data.makespan}, {proved}{known}"
    elif isinstance(data, Schedule):
        schedule, name = data, ""
        clock, end = schedule.names.clock, schedule.makespan
        text = f"makespan {end}" if clock is None else f"until {clock.text(end)}"
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
    return schedule, name, text


def _machine_axis(ax: Axes, names: Sequence[str]) -> None:
    from matplotlib.ticker import MaxNLocator

    n_machines = len(names)
    ax.set_ylim(n_machines - 0.5, -0.5)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=25, integer=True, steps=[1, 2, 5, 10]))
    if n_machines <= 25:
        ax.set_yticks(range(n_machines))
        if list(names) != [str(machine) for machine in range(n_machines)]:
            shown = [style.shortened(name, style.LEAST_NAME) for name in names]
            ax.set_yticks(range(n_machines), shown, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _label_bars(ax: Axes, bars: Bars, colors: Any) -> None:
    """Write the job into the bars that have room for it: most, or a few in small."""
    in_points = 72.0 / ax.figure.dpi
    low, high = rows_of(bars)
    tall = high * ax.get_window_extent().height * in_points / len(bars.names.machines)
    begin, end = ax.get_xlim()
    wide = ax.get_window_extent().width * in_points / (end - begin)
    lengths = (bars.end - bars.start) * wide
    names = [bars.names.job(job) for job in range(len(bars.order))]
    digits = np.array([len(name) for name in names])[bars.job]
    for size in LABEL_SIZES:
        fits = (lengths >= size * (_DIGIT * digits + 0.3)) & (tall >= size * 1.1)
        if fits.mean() >= 0.5:
            break
    for bar in np.flatnonzero(fits).tolist():
        red, green, blue, _ = colors[bars.job[bar]]
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        ax.text(
            (bars.start[bar] + bars.end[bar]) / 2,
            low[bar] + high[bar] / 2,
            names[bars.job[bar]],
            fontsize=size,
            parse_math=False,
            color="white" if dark else "black",
            ha="center",
            va="center_baseline",
            clip_on=True,
        )


def _mark(ax: Axes, bars: Bars) -> list[Any]:
    """Draw the critical path along the upper edges of its bars."""
    from matplotlib.patheffects import Normal, Stroke

    x: list[float] = []
    y: list[float] = []
    for bar in bars.critical:
        x += [float(bars.start[bar]), float(bars.end[bar])]
        y += [float(bars.machine[bar]) - BAR / 2 + 0.06] * 2
    look: dict[str, Any] = {"color": style.VERMILLION, "linewidth": 1.8}
    (line,) = ax.plot(x, y, label="critical path", gid="critical path", **look)
    line.set_path_effects([Stroke(linewidth=3.2, foreground="white"), Normal()])
    return [line]


def gantt_figure(data: Any) -> figure:
    """Draw a schedule that tells under the pointer what each bar is.

    Parameters
    ----------
    data
        As of ``gantt``.

    Returns
    -------
    bokeh.plotting.figure
        Machines from the top; the wheel zooms time, dragging moves it.

    Raises
    ------
    DpbbError
        There is no schedule.
    """
    from bokeh.models import BooleanFilter, CDSView, CustomJS, HoverTool, Range1d
    from bokeh.palettes import Viridis256
    from bokeh.plotting import ColumnDataSource, figure

    bars, text = bars_of(data)
    n_jobs, n_machines = len(bars.order), len(bars.names.machines)
    clock = bars.names.clock

    def at(time: Any) -> Any:
        return time if clock is None else clock.milliseconds(time)

    begin, end = at(0), at(1.01 * max(1, bars.makespan))
    place = np.empty(n_jobs, np.int64)
    place[list(bars.order)] = np.arange(n_jobs)
    palette = Viridis256[30:246]
    shade = place * (len(palette) - 1) // max(1, n_jobs - 1)
    marked = np.isin(np.arange(len(bars.job)), bars.critical)
    dates = {"release": bars.release, "due": bars.due}
    low, high = rows_of(bars)
    source = ColumnDataSource(
        {
            "left": at(bars.start),
            "right": at(bars.end),
            "row": low + high / 2,
            "high": high,
            "job": [bars.names.job(job) for job in bars.job.tolist()],
            "on": [bars.names.machine(machine) for machine in bars.machine.tolist()],
            "leave": at(bars.end if bars.leave is None else bars.leave),
            "ready": at(bars.start - (0 if bars.setup is None else bars.setup)),
            **{k: at(one[bars.job]) for k, one in dates.items() if one is not None},
            "place": place[bars.job],
            "time": bars.end - bars.start,
            "color": [palette[at] for at in shade[bars.job].tolist()],
            "line": np.select(
                [marked, bars.late > 0], [style.VERMILLION, style.BLACK], "white"
            ).tolist(),
            "late": bars.late,
            "middle": at((bars.start + bars.end) / 2),
            "ink": np.where(2 * place < n_jobs, "white", "black")[bars.job].tolist(),
            "width": np.where(marked, 2.0, 0.4 if len(bars.job) <= MANY else 0.0),
        }
    )
    chart = figure(
        title=bars.name + text,
        x_axis_label=UNITS_AXIS if clock is None else None,
        x_axis_type="linear" if clock is None else "datetime",
        x_range=Range1d(begin, end, bounds=(begin, end)),
        y_range=Range1d(n_machines - 0.5, -0.5),
        sizing_mode="stretch_width",
        height=120 + 26 * min(n_machines, 30),
        tools="xpan,xwheel_zoom,xbox_zoom,reset,save",
        active_scroll="xwheel_zoom",
    )
    form = "" if clock is None else "{%F %H:%M}"
    tips = [
        ("job", "@job, position @place"),
        ("machine", "@on"),
        ("time", f"@left{form} to @right{form} (@time)"),
    ]
    if bars.leave is not None:
        chart.hbar(
            y="row", left="right", right="leave", height="high", source=source,
            fill_color="color", fill_alpha=PALE, line_alpha=0.0,
        )  # fmt: skip
        tips.append(("leaves at", f"@leave{form}"))
    if bars.setup is not None:
        chart.hbar(
            y="row", left="ready", right="left", height="high", source=source,
            fill_color=style.MUTED, line_alpha=0.0,
        )  # fmt: skip
        tips.append(("set-up from", f"@ready{form}"))
    tips += [(k, f"@{k}{form}") for k, one in dates.items() if one is not None]
    if bars.due is not None:
        tips.append(("late by", "@late"))
    drawn = chart.hbar(
        y="row", left="left", right="right", height="high", source=source,
        fill_color="color", line_color="line", line_width="width",
    )  # fmt: skip
    fits = BooleanFilter([False] * len(bars.job))  # until its width is known
    look = CustomJS(args={"fits": fits, "source": source, "chart": chart}, code=FITS)
    chart.js_on_change("inner_width", look)
    chart.x_range.js_on_change("start", look)
    chart.x_range.js_on_change("end", look)
    chart.text(
        x="middle", y="row", text="job", text_color="ink", source=source,
        view=CDSView(filter=fits), text_align="center",
        text_baseline="middle", text_font_size="8pt",
    )  # fmt: skip
    if bars.due is not None:
        jobs = np.flatnonzero(bars.due <= 1.01 * bars.makespan)
        chart.scatter(
            x=at(bars.due[jobs]), y=n_machines - 0.5, size=9, marker="triangle",
            color=[palette[one] for one in shade[jobs].tolist()], level="overlay",
            legend_label="due date",
        )  # fmt: skip
        legend = chart.legend[0]  # where it covers nothing
        legend.update(border_line_alpha=0.0, margin=0, padding=2)
        chart.add_layout(legend, "below")
        chart.height += 26
    dated = ("left", "right", "leave", "ready", *dates)
    forms = {f"@{name}": "datetime" for name in dated if form}
    chart.add_tools(HoverTool(renderers=[drawn], tooltips=tips, formatters=forms))
    chart.yaxis.ticker = list(range(n_machines))
    chart.yaxis.major_label_overrides = dict(enumerate(bars.names.machines))
    chart.ygrid.grid_line_color = None
    return chart


def gantt_html(data: Any) -> str:
    """Return one HTML file with the chart and all it needs; see ``gantt_figure``."""
    from bokeh.embed import file_html
    from bokeh.resources import INLINE

    chart = gantt_figure(data)
    return str(file_html(chart, INLINE, title=chart.title.text))
