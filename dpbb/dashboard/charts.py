"""Charts over time, depths, seats and leaves. Each has ``root`` and ``update``."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    CustomJSTickFormatter,
    DataRange1d,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    NumeralTickFormatter,
    Range1d,
)
from numpy.typing import NDArray

from dpbb.coordination.snapshot import SeatSnapshot
from dpbb.coordination.span_map import N_CELLS, states_of
from dpbb.dashboard.feed import FIRST_STEP_S, RunView
from dpbb.dashboard.look import Look, follow, legend, plot, si_axis, time_axis
from dpbb.problem import objective_of


def show(source: ColumnDataSource, data: dict[str, list[Any]]) -> None:
    """Set the data of a source, unless it has them: each time is a message."""
    if source.data != data:
        source.data = data


class Incumbent:
    """Incumbent and lower bound over time, as steps; an upper bound below them."""

    def __init__(self, look: Look) -> None:
        chart = plot(look, x="time", y="cost", y_range=DataRange1d(range_padding=0.1))
        chart.x_range.range_padding = 0.04  # the first dot is whole
        time_axis(chart.xaxis)
        chart.yaxis.ticker.min_interval = 1
        chart.yaxis.formatter = CustomJSTickFormatter(code="return String(tick);")
        self._incumbent = ColumnDataSource({"x": [], "y": []})
        self._found = ColumnDataSource({"x": [], "y": [], "source": []})
        self._bound = ColumnDataSource({"x": [], "y": []})
        self._upper_bound = ColumnDataSource({"x": [], "y": []})
        step: dict[str, Any] = {"mode": "after", "line_width": 2}
        chart.step(
            "x", "y", source=self._incumbent, color=look.incumbent, **step,
            legend_label="incumbent",
        )  # fmt: skip
        dots = chart.scatter("x", "y", source=self._found, color=look.incumbent, size=6)
        chart.step(
            "x", "y", source=self._bound, color=look.bound, **step,
            legend_label="lower bound",
        )  # fmt: skip
        chart.line(
            "x", "y", source=self._upper_bound, color=look.total, line_dash=[4, 3],
            legend_label="upper bound",
        )  # fmt: skip
        chart.add_tools(
            HoverTool(
                renderers=[dots],
                tooltips=[("incumbent", "@y"), ("at", "@x{0.0} s"), ("by", "@source")],
            )
        )
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
        by = [step.source for step in steps]
        show(self._found, {"x": x, "y": y, "source": by})
        if y:
            x, y = [*x, now], [*y, y[-1]]
        show(self._incumbent, {"x": x, "y": y})
        # nobody has a permutation of that value, and perhaps there is none
        given = snapshot.value is None or snapshot.ub < snapshot.value
        ends = [snapshot.ub, snapshot.ub] if given else []
        show(self._upper_bound, {"x": [0.0, now] if given else [], "y": ends})
        self._legend.items[0].visible = bool(y)
        self._legend.items[-1].visible = given
        known: list[tuple[float, int]] = []  # where it changes, and now
        for seconds, bound in zip(history.seconds, history.lower_bound, strict=True):
            if bound is not None and (not known or bound != known[-1][1]):
                known.append((seconds, bound))
        if known and snapshot.lower_bound is not None:
            known.append((now, snapshot.lower_bound))
        x, y = map(list, zip(*known, strict=True)) if known else ([], [])
        show(self._bound, {"x": x, "y": y})


class Rates:
    """Nodes a second over time, of each engine and in total."""

    def __init__(self, look: Look) -> None:
        self._look = look
        chart = plot(look, x="time", y="nodes/s", y_range=DataRange1d(start=0))
        chart.x_range.start = 0
        chart.x_range.range_padding = 0.02
        time_axis(chart.xaxis)
        si_axis(chart.yaxis)
        self._engines = ColumnDataSource(
            {"xs": [], "ys": [], "color": [], "engine": []}
        )
        self._total = ColumnDataSource({"x": [], "y": []})
        lines = chart.multi_line(
            "xs", "ys", source=self._engines, color="color", line_width=5,
            line_alpha=0.55, legend_field="engine",
        )  # fmt: skip
        chart.line(
            "x", "y", source=self._total, color=look.total, line_width=1.5,
            legend_label="total",
        )  # fmt: skip
        chart.add_tools(HoverTool(renderers=[lines], tooltips=[("engine", "@engine")]))
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
        names = list(rates)
        self._engines.data = {
            "xs": [seconds for _ in names],
            "ys": [rates[name] for name in names],
            "color": [self._look.engine(name) for name in names],
            "engine": names,
        }


class Depths:
    """How many subtrees were closed (pruned, or visited as a leaf) at each depth."""

    def __init__(self, look: Look) -> None:
        chart = plot(
            look,
            x="depth",
            y="closed subtrees",
            y_axis_type="log",
            x_range=Range1d(-0.6, 1.6),
            y_range=Range1d(0.5, 10),
        )
        si_axis(chart.yaxis)
        chart.yaxis.ticker.desired_num_ticks = 5
        chart.xaxis.ticker.min_interval = 1
        self._source = ColumnDataSource({"depth": [], "count": [], "text": []})
        bars = chart.vbar(
            x="depth", top="count", bottom=0.5, width=0.8, source=self._source,
            color=look.bars,
        )  # fmt: skip
        chart.add_tools(
            HoverTool(
                renderers=[bars], tooltips=[("depth", "@depth"), ("closed", "@text")]
            )
        )
        self.root = chart
        self._shown: tuple[int, ...] | None = None

    def update(self, view: RunView) -> None:
        """Show a run."""
        closed = view.snapshot.closed
        if closed == self._shown:
            return
        self._shown = closed
        some = [(depth, count) for depth, count in enumerate(closed) if count]
        self._source.data = {
            "depth": [depth for depth, _ in some],
            "count": [float(count) for _, count in some],
            "text": [f"{count:,}" for _, count in some],
        }
        self.root.x_range.end = len(closed) - 0.4
        self.root.y_range.end = 2.0 * max([5, *closed])


MAX_SEATS = 200
"""Above so many seats a chart shows how many there are of a kind, not each of them."""

N_BINS = 24


class _SeatChart:
    """A bar for each seat, or a histogram of many."""

    per_seat = ""  # what the bars are
    in_bins = ""  # what the bins are
    whole = False  # whether these are whole numbers

    def __init__(self, look: Look) -> None:
        self._look = look
        ranges = {"x_range": Range1d(0, 1), "y_range": Range1d(0, 1)}
        chart = plot(look, x="seat", y=self.per_seat, **ranges)
        chart.xgrid.grid_line_color = None
        chart.xaxis.ticker.desired_num_ticks = chart.yaxis.ticker.desired_num_ticks = 5
        si_axis(chart.axis)
        self._source = ColumnDataSource(
            {"left": [], "right": [], "top": [], "color": [], "text": []}
        )
        bars = chart.quad(
            left="left", right="right", top="top", bottom=0, source=self._source,
            fill_color="color", line_color=None,
        )  # fmt: skip
        chart.add_tools(HoverTool(renderers=[bars], tooltips="@text"))
        self.root = chart
        self._aggregate = False
        self._label(aggregate=False)
        self._shown: object = None

    def update(self, view: RunView) -> None:
        """Show a run."""
        seats = view.snapshot.seats
        if seats == self._shown:
            return
        self._shown = seats
        aggregate = len(seats) > MAX_SEATS
        if aggregate != self._aggregate:
            self._aggregate = aggregate
            self._label(aggregate=aggregate)
        data = self._histogram(seats) if aggregate else self._bars(seats)
        self.root.y_range.end = 1.1 * max([self._least_top(), *data["top"]])
        self._source.data = data

    def _label(self, *, aggregate: bool) -> None:
        x, y = self.root.xaxis[0], self.root.yaxis[0]
        x.axis_label, y.axis_label = (
            (self.in_bins, "seats") if aggregate else ("seat", self.per_seat)
        )
        x.ticker.min_interval = 0 if aggregate and not self.whole else 1
        y.ticker.min_interval = 1 if aggregate or self.whole else 0

    def _least_top(self) -> float:
        return 1.0

    def _height(self, seat: SeatSnapshot) -> float:
        raise NotImplementedError

    def _edges(self, seats: Sequence[SeatSnapshot]) -> tuple[NDArray[Any], Any]:
        """Values to count, and the edges of the bins."""
        raise NotImplementedError

    def _bars(self, seats: Sequence[SeatSnapshot]) -> dict[str, list[Any]]:
        self.root.x_range.start = 0.4
        self.root.x_range.end = max(1, len(seats)) + 0.6
        return {
            "left": [number + 0.6 for number in range(len(seats))],
            "right": [number + 1.4 for number in range(len(seats))],
            "top": [self._height(seat) for seat in seats],
            "color": [self._look.engine(seat.engine) for seat in seats],
            "text": [_text(seat) for seat in seats],
        }

    def _histogram(self, seats: Sequence[SeatSnapshot]) -> dict[str, list[Any]]:
        values, edges = self._edges(seats)
        counts, edges = np.histogram(values, edges)
        first, *_, last = edges.tolist()
        self.root.x_range.start, self.root.x_range.end = first, last
        return {
            "left": edges[:-1].tolist(),
            "right": edges[1:].tolist(),
            "top": counts.tolist(),
            "color": [self._look.bars] * len(counts),
            "text": [f"{count:,} seats" for count in counts.tolist()],
        }


class Seats(_SeatChart):
    """Nodes a second of each seat; of many, how many are how fast."""

    per_seat = "nodes/s"
    in_bins = "nodes/s of a busy seat"

    def _height(self, seat: SeatSnapshot) -> float:
        return seat.nodes_per_second

    def _edges(self, seats: Sequence[SeatSnapshot]) -> tuple[NDArray[Any], Any]:
        rates = np.array([seat.nodes_per_second for seat in seats if seat.busy])
        highest = float(rates.max()) if rates.size else 0.0
        end = 10.0 ** math.ceil(math.log10(highest)) if highest > 0 else 1.0
        ends = (end * part for part in (0.2, 0.5, 1))
        end = next((end for end in ends if highest <= end), highest)
        return rates, np.linspace(0.0, end, N_BINS + 1)


class Donated(_SeatChart):
    """Donations of each seat since it joined; of many, how many gave how often."""

    per_seat = "donations"
    in_bins = "donations of a seat"
    whole = True

    def _least_top(self) -> float:
        return 4.0  # else a run's first donation fills the chart

    def _height(self, seat: SeatSnapshot) -> float:
        return seat.donations

    def _edges(self, seats: Sequence[SeatSnapshot]) -> tuple[NDArray[Any], Any]:
        given = np.array([seat.donations for seat in seats])
        width = int(given.max()) // N_BINS + 1
        n_bins = max(4, int(given.max()) // width + 1)
        # a bar of whole numbers stands above them
        return given, np.arange(n_bins + 1) * width - 0.5


def _text(seat: SeatSnapshot) -> str:
    does = (
        f"unit {seat.unit}, {seat.decomposed:,} nodes, {seat.open_roots:,} open roots"
        if seat.busy
        else seat.state
    )
    gave = f"gave {seat.donations:,} donations, {seat.donated_roots:,} roots"
    return f"{seat.seat} on {seat.device}: {does}; {gave}"


N_ROWS = 120
"""Moments that the map over time shows at most."""

UNKNOWN = 255
"""A state that nobody knows: the map stays blank."""


def _mapper(look: Look) -> Any:
    colors = [look.finished, look.waiting, look.leased]
    return LinearColorMapper(
        palette=colors, low=-0.5, high=2.5, high_color="rgba(0, 0, 0, 0)"
    )


def _share_axis(axis: Any) -> None:
    axis.ticker = FixedTicker(ticks=[0, 0.25, 0.5, 0.75, 1])
    axis.formatter = NumeralTickFormatter(format="0%")


class Strip:
    """The map now: one band."""

    def __init__(self, look: Look, *, alone: bool = False) -> None:
        title = "share of the n! permutations, in the order of the tree"
        chart = plot(
            look,
            x=title if alone else "",  # the page says it in the heading
            y="",
            x_range=Range1d(0, 1),
            y_range=Range1d(0, 1),
            tools="",
            toolbar_location=None,
        )
        chart.min_height = 30
        chart.min_border_left = chart.min_border_right = 18
        chart.yaxis.visible = False
        chart.grid.visible = False
        _share_axis(chart.xaxis)
        self._source = ColumnDataSource({"image": []})
        chart.image(
            "image", x=0, y=0, dw=1, dh=1, source=self._source,
            color_mapper=_mapper(look),
        )  # fmt: skip
        self.root = chart
        self._shown: object = None

    def update(self, view: RunView) -> None:
        """Show a run."""
        spans = view.snapshot.spans
        if spans != self._shown:
            self._shown = spans
            self._source.data = {"image": [states_of(spans).reshape(1, N_CELLS)]}


class Eaten:
    """The map over time: a row a moment, the latest on top.

    A cell is finished when no open root touches it, so the open work of a run shrinks
    to ever fewer cells: one sees the tree being eaten.
    """

    def __init__(self, look: Look) -> None:
        chart = plot(
            look,
            x="share of the n! permutations",
            y="time",
            x_range=Range1d(0, 1),
            y_range=Range1d(0, 1),
        )
        chart.grid.visible = False
        _share_axis(chart.xaxis)
        time_axis(chart.yaxis)
        self._source = ColumnDataSource({"image": [], "height": []})
        chart.image(
            "image", x=0, y=0, dw=1, dh="height", source=self._source,
            color_mapper=_mapper(look),
        )  # fmt: skip
        self.root = chart
        self._seen: tuple[object, int] | None = None

    def update(self, view: RunView) -> None:
        """Show a run."""
        history = view.history
        if self._seen == (history, history.version) or not history.seconds:
            return
        self._seen = (history, history.version)
        seconds = np.array(history.seconds)
        height = max(float(seconds[-1]), 0.1)
        rows = np.linspace(0.0, height, min(N_ROWS, max(2, len(seconds))))
        which = np.searchsorted(seconds, rows, side="right") - 1
        cells = [*history.cells, np.full(N_CELLS, UNKNOWN, np.uint8)]
        if seconds[0] <= FIRST_STEP_S:  # else the run was resumed then
            which = np.maximum(which, 0)
        image = np.stack([cells[row] for row in which])  # the last one before the first
        self._source.data = {"image": [image], "height": [height]}
        self.root.y_range.end = height
