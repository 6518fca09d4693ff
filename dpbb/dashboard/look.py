"""How the page looks: two palettes, figures that follow them, numbers and times.

Colors are told apart by lightness too, and none stands for two things.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bokeh.models import (
    AdaptiveTicker,
    CompositeTicker,
    CustomJSTickFormatter,
    WheelZoomTool,
)
from bokeh.plotting import figure

FONT = "Helvetica, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Look:
    """Colors of one theme."""

    name: str
    text: str
    muted: str
    grid: str
    card: str
    incumbent: str
    bound: str
    total: str
    leased: str
    waiting: str
    finished: str
    bars: str
    jobs: tuple[int, int]  # part of Viridis that can be told from the card

    def engine(self, name: str) -> str:
        """Color of an engine's line."""
        return {"gpu": "#2ca25f", "cpu": "#d98a1f"}.get(name, "#8c6bb1")


LIGHT = Look(
    name="light",
    text="#2b2f33",
    muted="#6b737b",
    grid="#e3e6e9",
    card="#ffffff",
    incumbent="#c4532d",
    bound="#2f6fa7",
    total="#3d444b",
    leased="#eaaa6d",
    waiting="#9ecae1",
    finished="#33715a",
    bars="#5b8db8",
    jobs=(0, 250),
)
DARK = Look(
    name="dark",
    text="#dfe3e6",
    muted="#98a1a9",
    grid="#343a40",
    card="#1f2428",
    incumbent="#f08a5d",
    bound="#6fb1e4",
    total="#c5ccd2",
    leased="#d9934f",
    waiting="#3f6f8c",
    finished="#3f8f72",
    bars="#6d9dc5",
    jobs=(80, 256),
)


@cache
def asset(name: str) -> str:
    """Return the text of a style sheet or a script beside the templates."""
    return (Path(__file__).parent / "templates" / name).read_text("utf-8")


def plot(look: Look, *, x: str, y: str, **options: Any) -> Any:
    """Return an empty figure that fills its place, with labeled axes."""
    options.setdefault("tools", "xpan,xwheel_zoom,box_zoom,reset,save")
    options.setdefault("toolbar_location", "above")
    chart = figure(
        sizing_mode="stretch_both", min_height=120, output_backend="canvas", **options
    )
    # where a browser has them is of no interest here, and told at every turn
    for part in (chart, chart.x_range, chart.y_range):
        part.syncable = False
    chart.xaxis.axis_label, chart.yaxis.axis_label = x, y
    chart.toolbar.logo = None
    chart.toolbar.autohide = chart.toolbar_inner = True
    # a page that scrolls must not zoom what passes under the wheel
    for tool in chart.select({"type": WheelZoomTool}):
        if chart.toolbar.active_scroll is tool:
            chart.toolbar.active_scroll = None
    chart.background_fill_color = chart.border_fill_color = None
    chart.outline_line_color = None
    chart.min_border_left = chart.min_border_right = 8
    chart.min_border_top, chart.min_border_bottom = 6, 2
    chart.grid.grid_line_color = look.grid
    for axis in chart.axis:
        axis.axis_label_text_color = look.muted
        axis.axis_label_text_font = axis.major_label_text_font = FONT
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "11px"
        axis.axis_label_standoff = 4
        axis.major_label_text_color = look.text
        axis.axis_line_color = axis.major_tick_line_color = look.muted
        axis.minor_tick_line_color = None
        axis.major_tick_in = 0
    return chart


def follow(chart: Any) -> Any:
    """Let the axes follow the data; return a glyph for the time before there is any.

    Without a glyph that has data they would have no range, and so no axes. To be made
    invisible when there is some.
    """
    chart.x_range.only_visible = chart.y_range.only_visible = True
    return chart.scatter([0, 1], [0, 1], alpha=0)


def time_axis(axis: Any) -> None:
    """Label an axis of seconds with the unit that fits."""
    decimal = AdaptiveTicker(
        base=10, mantissas=[1, 2, 5], max_interval=0.5, desired_num_ticks=5
    )
    clock = AdaptiveTicker(
        base=60, mantissas=[1, 2, 5, 10, 15, 30], min_interval=1, desired_num_ticks=5
    )
    axis.ticker = CompositeTicker(tickers=[decimal, clock], desired_num_ticks=5)
    axis.formatter = CustomJSTickFormatter(code=asset("duration_tick.js"))


def whole_axis(axis: Any) -> None:
    """Label an axis with whole numbers as they are."""
    axis.ticker.min_interval = 1
    axis.formatter = CustomJSTickFormatter(code="return String(tick);")


def si_axis(axis: Any) -> None:
    """Label an axis with k, M, G."""
    axis.formatter = CustomJSTickFormatter(code=asset("si_tick.js"))


def legend(chart: Any, look: Look) -> Any:
    """Make the legend small and calm, and put it where it hides no line."""
    (box,) = chart.legend
    chart.add_layout(box, "above")
    box.orientation, box.location = "horizontal", "left"
    box.label_text_font, box.label_text_font_size = FONT, "11px"
    box.label_text_color = look.text
    box.background_fill_color = box.border_line_color = None
    box.padding, box.spacing, box.margin = 0, 10, 0
    box.glyph_height = box.label_height = 14
    box.glyph_width = 16
    return box
