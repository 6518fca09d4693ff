"""Charts over time and depths. Each has a ``root`` and an ``update``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    CustomJSTickFormatter,
    DataRange1d,
    HoverTool,
    Range1d,
)

from dpbb.dashboard.look import Look, follow, legend, plot, si_axis, time_axis
from dpbb.problem import objective_of

if TYPE_CHECKING:
    from dpbb.dashboard.feed import RunView


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
