"""How the page looks: two palettes, figures that follow them, numbers and times.

Colors are told apart by lightness too, and none stands for two things.
"""

from dataclasses import dataclass
from typing import Any

from bokeh.models import (
    AdaptiveTicker,
    CompositeTicker,
    CustomJSTickFormatter,
    WheelZoomTool,
)
from bokeh.plotting import figure

from dpbb.progress.text import format_count

FONT = "Helvetica, Arial, sans-serif"

FIELD = """
.bk-input, .bk-btn { font-size: 13px; height: 28px; padding: 0 10px;
  background: var(--card); color: var(--text); border: 1px solid var(--line); }
select.bk-input:not([multiple]) { appearance: none; padding-right: 26px;
  background-image: linear-gradient(45deg, transparent 50%, currentColor 50%),
    linear-gradient(-45deg, transparent 50%, currentColor 50%);
  background-size: 5px 5px; background-repeat: no-repeat;
  background-position: right 15px center, right 10px center; }
.bk-btn:hover:not([disabled]) { border-color: var(--text); }
.bk-btn[disabled], .bk-btn[disabled]:hover { background: var(--card) !important;
  color: var(--muted) !important; opacity: 0.55; }
"""
"""Style of widgets."""


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

_DURATION = """
const size = Math.abs(tick);
const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 0;
const show = (value, unit) => {
    // so many digits that neighbors differ
    const small = step > 0 ? Math.ceil(-Math.log10(step * value / tick)) + 1 : 2;
    return String(Number(value.toFixed(Math.min(9, Math.max(2, small))))) + " " + unit;
};
if (size < 60) return tick === 0 ? "0" : show(tick, "s");
if (size < 3600) return show(tick / 60, "min");
if (size < 172800) return show(tick / 3600, "h");
return show(tick / 86400, "d");
"""

_SI = """
const size = Math.abs(tick);
const steps = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
for (const [unit, name] of steps) {
    if (size >= unit) return String(Math.round(1000 * tick / unit) / 1000) + " " + name;
}
return String(Math.round(1000 * tick) / 1000);
"""


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
    axis.formatter = CustomJSTickFormatter(code=_DURATION)


def si_axis(axis: Any) -> None:
    """Label an axis with k, M, G."""
    axis.formatter = CustomJSTickFormatter(code=_SI)


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


def plural(count: int, name: str) -> str:
    """Write ``1 job``, ``2,000 jobs``."""
    return f"{count:,} {name}{'s' * (count != 1)}"


def size(n_bytes: int) -> str:
    """Write bytes with an SI prefix: ``1.23 MB``."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    return f"{format_count(n_bytes)}B"
