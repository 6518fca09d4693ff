"""Gantt chart of the incumbent: when which job is on which machine.

Of a problem that has no schedules: which job is at which position.
"""

from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    CustomJSTickFormatter,
    HoverTool,
    Range1d,
    Span,
)
from bokeh.palettes import Viridis256

from dpbb.coordination.snapshot import Snapshot
from dpbb.dashboard.feed import RunView
from dpbb.dashboard.look import FONT, Look, plot, plural
from dpbb.problem import Problem, Scheduled, objective_of

MAX_OUTLINED = 3000
"""Operations: of more, the outlines would be all that one sees."""

_EMPTY: dict[str, list[float]] = {
    name: [] for name in ("left", "right", "machine", "job", "place", "color", "line")
}


class Gantt:
    """The incumbent's schedule; machines from the top, a color for each job."""

    def __init__(self, look: Look) -> None:
        self._look = look
        chart = plot(
            look,
            x="time in the instance's units",
            y="machine",
            x_range=Range1d(0, 1),
            y_range=Range1d(1.5, -0.5),
        )
        chart.ygrid.grid_line_color = None
        chart.xaxis.ticker.min_interval = chart.yaxis.ticker.min_interval = 1
        chart.yaxis.formatter = CustomJSTickFormatter(code="return String(tick);")
        chart.xaxis.formatter = CustomJSTickFormatter(code="return String(tick);")
        self._source = ColumnDataSource(_EMPTY)
        bars = chart.hbar(
            y="machine", left="left", right="right", height=0.86, source=self._source,
            fill_color="color", line_color="line", line_width=0.5,
        )  # fmt: skip
        chart.add_tools(
            HoverTool(
                renderers=[bars],
                tooltips=[
                    ("job", "@job, position @place"),
                    ("machine", "@machine"),
                    ("time", "@left to @right"),
                ],
            )
        )
        self._end = Span(
            location=0, dimension="height", line_color=look.incumbent, line_dash=[4, 3]
        )
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
        self._source.data = _EMPTY
        self._axes(visible=False)

    def _axes(self, *, visible: bool) -> None:
        """Show the axes and the line at the end, or hide them without a schedule."""
        for part in (*self.root.axis, *self.root.grid, self._end):
            part.visible = visible

    def _name_axes(self, x: str, y: str) -> None:
        self.root.xaxis.axis_label, self.root.yaxis.axis_label = x, y

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
            self._name_axes("time in the instance's units", "machine")
        else:  # a row of positions
            start, end = place[:, None], place[:, None] + 1
            self._name_axes("position", "")
        n_machines = start.shape[1]
        palette = Viridis256[slice(*self._look.jobs)]
        # neighbors in the order must differ, so the colors go up and down in steps
        shade = place * 101 % len(palette)
        color = [palette[index] for index in shade.tolist()]
        line = self._look.card if start.size <= MAX_OUTLINED else None
        jobs, machines = np.divmod(np.arange(start.size), n_machines)
        last = int(end.max())
        self.root.title.text = f"{cost}: {size}"
        self._source.data = {
            "left": start.ravel(),
            "right": end.ravel(),
            "machine": machines,
            "job": jobs,
            "place": place[jobs],
            "color": [color[job] for job in jobs.tolist()],
            "line": [line] * start.size,
        }
        self._end.location = last
        self.root.x_range.end = max(1, last) * 1.01
        self.root.y_range.start = n_machines - 0.5
        self._axes(visible=True)


def _why_none(snapshot: Snapshot) -> str:
    if snapshot.exhausted:
        return f"there is no schedule below {snapshot.ub:,}"
    over = snapshot.termination is not None
    return "no schedule was found" if over else "no incumbent yet"
