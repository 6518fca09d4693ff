"""Charts over time, depths, seats and leaves. Each has ``root`` and ``update``."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    DataRange1d,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    NumeralTickFormatter,
    Range1d,
    Span,
)
from bokeh.palettes import Viridis256

from dpbb.coordination.snapshot import SeatSnapshot, Snapshot
from dpbb.coordination.span_map import N_CELLS, states_of
from dpbb.dashboard.feed import RunView
from dpbb.dashboard.look import (
    FONT,
    Look,
    follow,
    legend,
    plot,
    si_axis,
    time_axis,
    whole_axis,
)
from dpbb.problem import Problem, Scheduled, objective_of
from dpbb.text.labels import names_of
from dpbb.text.names import plural


def empty(*columns: str) -> ColumnDataSource:
    """Return a source of data that has none yet."""
    return ColumnDataSource({column: [] for column in columns})


def show(into: ColumnDataSource, /, **data: list[Any]) -> None:
    """Set the data of a source, unless it has them: each time is a message."""
    if into.data != data:
        into.data = data


def tell(chart: Any, glyph: Any, tips: Any) -> None:
    """Tell under the pointer what a glyph is."""
    chart.add_tools(HoverTool(renderers=[glyph], tooltips=tips))


class Incumbent:
    """Incumbent and lower bound over time, as steps; an upper bound below them."""

    def __init__(self, look: Look) -> None:
        chart = plot(look, x="time", y="cost", y_range=DataRange1d(range_padding=0.1))
        chart.x_range.range_padding = 0.04  # the first dot is whole
        time_axis(chart.xaxis)
        whole_axis(chart.yaxis)
        self._found = empty("x", "y", "source")
        self._incumbent, self._bound, self._given = (empty("x", "y") for _ in range(3))
        step: dict[str, Any] = {"mode": "after", "line_width": 2}
        step |= {"source": self._incumbent, "legend_label": "incumbent"}
        chart.step("x", "y", color=look.incumbent, **step)
        dots = chart.scatter("x", "y", source=self._found, color=look.incumbent, size=6)
        step |= {"source": self._bound, "legend_label": "lower bound"}
        chart.step("x", "y", color=look.bound, **step)
        chart.line(
            "x", "y", source=self._given, color=look.total, line_dash=[4, 3],
            legend_label="upper bound",
        )  # fmt: skip
        tell(chart, dots, [("incumbent", "@y"), ("at", "@x{0.0} s"), ("by", "@source")])
        self._legend = legend(chart, look)
        self._legend.items[-1].visible = self._legend.visible = False
        self._before = follow(chart)
        self.root = chart

    def update(self, view: RunView) -> None:
        """Show a run."""
        snapshot, history = view.snapshot, view.history
        steps, now = snapshot.trajectory, snapshot.seconds
        self._before.visible, self._legend.visible = False, True
        if view.problem is not None:
            self.root.yaxis.axis_label = objective_of(view.problem)
        x = [max(0.0, step.seconds) for step in steps]
        y = [step.value for step in steps]
        show(self._found, x=x, y=y, source=[step.source for step in steps])
        show(self._incumbent, x=[*x, now] if x else [], y=[*y, *y[-1:]])
        # nobody has a permutation of that value, and perhaps there is none
        given = snapshot.value is None or snapshot.ub < snapshot.value
        show(self._given, x=[0.0, now] if given else [], y=[snapshot.ub] * (2 * given))
        self._legend.items[0].visible = bool(y)
        self._legend.items[-1].visible = given
        known: list[tuple[float, int]] = []  # where it changes, and now
        for seconds, bound in zip(history.seconds, history.lower_bound, strict=True):
            if bound is not None and (not known or bound != known[-1][1]):
                known.append((seconds, bound))
        if known and snapshot.lower_bound is not None:
            known.append((now, snapshot.lower_bound))
        show(self._bound, x=[at for at, _ in known], y=[bound for _, bound in known])


class Rates:
    """Nodes a second over time, of each engine and in total."""

    def __init__(self, look: Look) -> None:
        self._look = look
        chart = plot(look, x="time", y="nodes/s", y_range=DataRange1d(start=0))
        chart.x_range.start = 0
        chart.x_range.range_padding = 0.02
        time_axis(chart.xaxis)
        si_axis(chart.yaxis)
        self._engines = empty("xs", "ys", "color", "engine")
        self._total = empty("x", "y")
        lines = chart.multi_line(
            "xs", "ys", source=self._engines, color="color", line_width=5,
            line_alpha=0.55, legend_field="engine",
        )  # fmt: skip
        chart.line(
            "x", "y", source=self._total, color=look.total, line_width=1.5,
            legend_label="total",
        )  # fmt: skip
        tell(chart, lines, [("engine", "@engine")])
        self._legend = legend(chart, look)
        self._legend.visible = False
        self._before = follow(chart)
        self.root = chart
        self._seen: tuple[object, int] | None = None

    def update(self, view: RunView) -> None:
        """Show a run."""
        history = view.history
        if self._seen == (history, history.version):
            return
        self._seen = (history, history.version)
        self._before.visible, self._legend.visible = False, True
        rates = history.rates()
        seconds = np.array(history.seconds)  # arrays are sent as they are
        # that nobody has reported is a rate, too
        total = sum(rates.values(), start=np.zeros(len(seconds)))
        self._total.data = {"x": seconds, "y": total}
        self._engines.data = {
            "xs": [seconds for _ in rates],
            "ys": [*rates.values()],
            "color": [self._look.engine(name) for name in rates],
            "engine": [*rates],
        }


class Depths:
    """How many subtrees were closed (pruned, or visited as a leaf) at each depth."""

    def __init__(self, look: Look) -> None:
        ranges = {"x_range": Range1d(-0.6, 1.6), "y_range": Range1d(0.5, 10)}
        chart = plot(look, x="depth", y="closed subtrees", y_axis_type="log", **ranges)
        si_axis(chart.yaxis)
        chart.yaxis.ticker.desired_num_ticks = 5
        chart.xaxis.ticker.min_interval = 1
        self._source = empty("depth", "count", "text")
        bars = chart.vbar(
            x="depth", top="count", bottom=0.5, width=0.8, source=self._source,
            color=look.bars,
        )  # fmt: skip
        tell(chart, bars, [("depth", "@depth"), ("closed", "@text")])
        self.root = chart

    def update(self, view: RunView) -> None:
        """Show a run."""
        closed = view.snapshot.closed
        some = {depth: count for depth, count in enumerate(closed) if count}
        show(
            self._source,
            depth=[*some],
            count=[float(count) for count in some.values()],
            text=[f"{count:,}" for count in some.values()],
        )
        self.root.x_range.end = len(closed) - 0.4
        self.root.y_range.end = 2.0 * max([5, *closed])


MAX_SEATS = 200
"""Above so many seats a chart shows how many there are of a kind, not each of them."""

N_BINS = 24


class Seats:
    """Nodes a second of each seat; of many, how many are how fast."""

    def __init__(self, look: Look) -> None:
        self._look = look
        ranges = {"x_range": Range1d(0, 1), "y_range": Range1d(0, 1)}
        chart = plot(look, x="worker", y="nodes/s", **ranges)
        chart.xgrid.grid_line_color = None
        chart.xaxis.ticker.desired_num_ticks = chart.yaxis.ticker.desired_num_ticks = 5
        si_axis(chart.axis)
        self._source = empty("left", "right", "top", "color", "text")
        bars = chart.quad(
            left="left", right="right", top="top", bottom=0, source=self._source,
            fill_color="color", line_color=None,
        )  # fmt: skip
        tell(chart, bars, "@text")
        self.root = chart

    def update(self, view: RunView) -> None:
        """Show a run."""
        seats = view.snapshot.seats
        many = len(seats) > MAX_SEATS
        data = self._histogram(seats) if many else self._bars(seats)
        x, y = self.root.xaxis[0], self.root.yaxis[0]
        x.axis_label = "nodes/s of a busy worker" if many else "worker"
        y.axis_label = "workers" if many else "nodes/s"
        x.ticker.min_interval, y.ticker.min_interval = int(not many), int(many)
        self.root.y_range.end = 1.1 * max([1.0, *data["top"]])
        show(self._source, **data)

    def _bars(self, seats: Sequence[SeatSnapshot]) -> dict[str, list[Any]]:
        self.root.x_range.start = 0.4
        self.root.x_range.end = max(1, len(seats)) + 0.6
        return {
            "left": [number + 0.6 for number in range(len(seats))],
            "right": [number + 1.4 for number in range(len(seats))],
            "top": [seat.nodes_per_second for seat in seats],
            "color": [self._look.engine(seat.engine) for seat in seats],
            "text": [_text(seat) for seat in seats],
        }

    def _histogram(self, seats: Sequence[SeatSnapshot]) -> dict[str, list[Any]]:
        rates = np.array([seat.nodes_per_second for seat in seats if seat.busy])
        highest = float(rates.max()) if rates.size else 0.0
        end = 10.0 ** math.ceil(math.log10(highest)) if highest > 0 else 1.0
        ends = (end * part for part in (0.2, 0.5, 1))
        end = next((end for end in ends if highest <= end), highest)
        counts, edges = np.histogram(rates, np.linspace(0.0, end, N_BINS + 1))
        self.root.x_range.start, self.root.x_range.end = 0.0, end
        return {
            "left": edges[:-1].tolist(),
            "right": edges[1:].tolist(),
            "top": counts.tolist(),
            "color": [self._look.bars] * len(counts),
            "text": [f"{count:,} workers" for count in counts.tolist()],
        }


def _text(seat: SeatSnapshot) -> str:
    does = (
        f"part {seat.unit}, {seat.decomposed:,} nodes, {seat.open_roots:,} open roots"
        if seat.busy
        else seat.state
    )
    gave = f"shared work {seat.donations:,} times, {seat.donated_roots:,} roots"
    return f"{seat.seat} on {seat.device}: {does}; {gave}"


class Space:
    """The n! permutations in the order of the tree: finished, explored now, waiting."""

    def __init__(self, look: Look) -> None:
        ranges = {"x_range": Range1d(0, 1), "y_range": Range1d(0, 1)}
        chart = plot(look, x="", y="", tools="", toolbar_location=None, **ranges)
        chart.min_height = 30
        chart.min_border_left = chart.min_border_right = 18
        chart.yaxis.visible = chart.grid.visible = False
        chart.xaxis.ticker = FixedTicker(ticks=[0, 0.25, 0.5, 0.75, 1])
        chart.xaxis.formatter = NumeralTickFormatter(format="0%")
        self._source = empty("image")
        colors = [look.finished, look.waiting, look.leased]
        chart.image(
            "image", x=0, y=0, dw=1, dh=1, source=self._source,
            color_mapper=LinearColorMapper(palette=colors, low=-0.5, high=2.5),
        )  # fmt: skip
        self.root = chart
        self._shown: object = None

    def update(self, view: RunView) -> None:
        """Show a run."""
        spans = view.snapshot.spans
        if spans != self._shown:
            self._shown = spans
            self._source.data = {"image": [states_of(spans).reshape(1, N_CELLS)]}


MAX_OUTLINED = 3000
"""Operations: of more, the outlines would be all that one sees."""


class Gantt:
    """The incumbent's schedule; machines from the top, a color for each job.

    Of a problem that has no schedules: which job is at which position.
    """

    def __init__(self, look: Look) -> None:
        self._look = look
        ranges = {"x_range": Range1d(0, 1), "y_range": Range1d(1.5, -0.5)}
        chart = plot(look, x="time in the instance's units", y="machine", **ranges)
        chart.ygrid.grid_line_color = None
        whole_axis(chart.xaxis)
        whole_axis(chart.yaxis)
        self._source = empty(
            "left", "right", "machine", "name", "job", "place", "color", "line"
        )
        bars = chart.hbar(
            y="machine", left="left", right="right", height=0.86, source=self._source,
            fill_color="color", line_color="line", line_width=0.5,
        )  # fmt: skip
        tips = [
            ("job", "@job, position @place"),
            ("machine", "@name"),
            ("time", "@left to @right"),
        ]
        tell(chart, bars, tips)
        dashed = {"line_color": look.incumbent, "line_dash": [4, 3]}
        self._end = Span(location=0, dimension="height", **dashed)
        chart.add_layout(self._end)
        chart.title.text_font, chart.title.text_font_size = FONT, "11px"
        chart.title.text_font_style = "normal"
        chart.title.text_color = look.muted
        self.root = chart
        self._shown: object = None
        self._nothing("no run yet")

    def update(self, view: RunView) -> None:
        """Show a run."""
        snapshot, problem = view.snapshot, view.problem
        shown = (snapshot.run_id, snapshot.permutation, snapshot.termination)
        if shown == self._shown:
            return
        self._shown = shown
        if problem is None or snapshot.permutation is None:
            self._nothing(_why_none(snapshot))
        else:
            cost = f"{objective_of(problem)} {snapshot.value}"
            self._draw(problem, snapshot.permutation, cost)

    def _nothing(self, why: str) -> None:
        self.root.title.text = why
        self._source.data = {column: [] for column in self._source.data}
        self._axes(visible=False)

    def _axes(self, *, visible: bool) -> None:
        """Show the axes and the line at the end, or hide them without a schedule."""
        for part in (*self.root.axis, *self.root.grid, self._end):
            part.visible = visible

    def _draw(
        self, problem: Problem[Any], permutation: tuple[int, ...], cost: str
    ) -> None:
        n_jobs = len(permutation)
        place = np.empty(n_jobs, np.int64)
        place[list(permutation)] = np.arange(n_jobs)
        size = plural(n_jobs, "job")
        if isinstance(problem, Scheduled):
            schedule = problem.schedule(permutation)
            start, end = schedule.start, schedule.end
            size += f", {plural(start.shape[1], 'machine')}"
            labels = "time in the instance's units", "machine"
        else:  # a row of positions
            start, end = place[:, None], place[:, None] + 1
            labels = "position", ""
        self.root.xaxis.axis_label, self.root.yaxis.axis_label = labels
        n_machines = start.shape[1]
        palette = np.array(Viridis256[slice(*self._look.jobs)])
        # neighbors in the order must differ, so the colors go up and down in steps
        color = palette[place * 101 % len(palette)]
        line = self._look.card if start.size <= MAX_OUTLINED else None
        names = names_of(problem)
        jobs, machines = np.divmod(np.arange(start.size), n_machines)
        self.root.title.text = f"{cost}: {size}"
        self._source.data = {
            "left": start.ravel(),
            "right": end.ravel(),
            "machine": machines,
            "name": [names.machine(machine) for machine in machines],
            "job": [names.job(job) for job in jobs],
            "place": place[jobs],
            "color": color[jobs].tolist(),
            "line": [line] * start.size,
        }
        self._end.location = int(end.max())
        self.root.x_range.end = max(1, int(end.max())) * 1.01
        self.root.y_range.start = n_machines - 0.5
        self._axes(visible=True)


def _why_none(snapshot: Snapshot) -> str:
    if snapshot.exhausted:
        return f"there is no schedule below {snapshot.ub:,}"
    over = snapshot.termination is not None
    return "no schedule was found" if over else "no incumbent yet"
