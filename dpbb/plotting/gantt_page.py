"""Gantt charts to look into: an HTML file, made with Bokeh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.plotting import style
from dpbb.plotting.gantt_chart import BAR, bars_of

if TYPE_CHECKING:
    from bokeh.plotting import figure


def gantt_figure(data: Any, *, critical: bool = True) -> figure:
    """Draw a schedule that tells under the pointer what each bar is.

    Parameters
    ----------
    data, critical
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
    from bokeh.models import HoverTool, Range1d
    from bokeh.palettes import Viridis256
    from bokeh.plotting import ColumnDataSource, figure

    bars, text = bars_of(data)
    n_jobs, n_machines = len(bars.order), len(bars.machine_names)
    end = max(1, bars.makespan)
    place = np.empty(n_jobs, np.int64)
    place[list(bars.order)] = np.arange(n_jobs)
    palette = Viridis256[30:246]
    shade = place * (len(palette) - 1) // max(1, n_jobs - 1)
    marked = np.isin(np.arange(len(bars.job)), bars.critical) & critical
    source = ColumnDataSource(
        {
            "left": bars.start,
            "right": bars.end,
            "machine": bars.machine,
            "job": [bars.job_name(job) for job in bars.job.tolist()],
            "on": [bars.machine_names[machine] for machine in bars.machine.tolist()],
            "place": place[bars.job],
            "time": bars.end - bars.start,
            "color": [palette[at] for at in shade[bars.job].tolist()],
            "line": np.where(marked, style.VERMILLION, "white").tolist(),
            "width": np.where(marked, 2.0, 0.4 if len(bars.job) <= 3000 else 0.0),
        }
    )
    chart = figure(
        title=bars.name + text,
        x_axis_label="time (in units of the instance)",
        x_range=Range1d(0, end * 1.01, bounds=(0, end * 1.01)),
        y_range=Range1d(n_machines - 0.5, -0.5),
        sizing_mode="stretch_width",
        height=120 + 26 * min(n_machines, 30),
        tools="xpan,xwheel_zoom,xbox_zoom,reset,save",
        active_scroll="xwheel_zoom",
    )
    drawn = chart.hbar(
        y="machine", left="left", right="right", height=BAR, source=source,
        fill_color="color", line_color="line", line_width="width",
    )  # fmt: skip
    tips = [
        ("job", "@job, position @place"),
        ("machine", "@on"),
        ("time", "@left to @right (@time)"),
    ]
    chart.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    chart.yaxis.ticker = list(range(n_machines))
    chart.yaxis.major_label_overrides = dict(enumerate(bars.machine_names))
    chart.ygrid.grid_line_color = None
    return chart


def gantt_html(data: Any, *, critical: bool = True) -> str:
    """Return one HTML file with the chart and all it needs; see ``gantt_figure``."""
    from bokeh.embed import file_html
    from bokeh.resources import INLINE

    chart = gantt_figure(data, critical=critical)
    return str(file_html(chart, INLINE, title=chart.title.text))
