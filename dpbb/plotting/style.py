"""What all plots share: axes, colors, ticks, legends. Nothing global is changed.

Colors can be told apart by people who see few, and by their lightness in print.
Matplotlib is imported when a plot is made, and pyplot only where a figure of its own
is asked for, so that it appears in notebooks and with ``plt.show()``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpbb.errors import DpbbError
from dpbb.text.names import clean, middle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

# Wong, Nature Methods 8, 441 (2011), without its yellow, which is lost on white
BLACK = "#000000"
ORANGE = "#e69f00"
SKY = "#56b4e9"
GREEN = "#009e73"
BLUE = "#0072b2"
VERMILLION = "#d55e00"
PURPLE = "#cc79a7"
SERIES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = "osD^vPX"

MUTED = "#5f666d"
GRID = "#e3e6e9"

SMALL, NORMAL = 8.0, 9.0
"""Sizes of text, in points."""

TITLE_PAD = 10.0
"""Points between the legend above the axes and the title."""

TITLE_SHARE = 0.88
"""Part of the width of a figure that a title or a legend may have, from the axes on."""

CHARACTER = 0.6
"""Width of a character of Matplotlib's own font, as a share of its size."""

KEY = 4.0
"""Width of a legend's line and gaps beside its text, as a share of its size."""

LEAST_NAME = 16
"""Characters of a name that are shown in any case."""


def require_matplotlib() -> None:
    """Raise DpbbError if Matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise DpbbError(
            "plots: expected matplotlib to be installed, got "
            f"{error}; pip install 'dpbb[plot]'"
        ) from error


def axes_for(ax: Axes | Figure | None, width: float, height: float) -> Axes:
    """Return the axes to draw in: those given, or those of a new pyplot figure.

    An empty figure is made as many inches wide and high as that would be.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    if isinstance(ax, Figure):
        ax.set_size_inches(width, height)
        return ax.subplots()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def dress(ax: Axes, *, x: str, y: str, grid: str = "both") -> None:
    """Label the axes, with calm lines; ``grid`` is x, y, both or none."""
    ax.set_xlabel(x, fontsize=NORMAL)
    ax.set_ylabel(y, fontsize=NORMAL)
    ax.tick_params(labelsize=SMALL, color=MUTED)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(MUTED)
    ax.set_axisbelow(True)
    ax.grid(visible=False)
    if grid != "none":
        which: Any = grid
        ax.grid(visible=True, axis=which, color=GRID, linewidth=0.8)


def title(ax: Axes, name: str, text: str) -> None:
    """Put a title above the legend, which is there: a name, and what is said of it.

    A name that the figure has no room for is shortened in the middle. It is somebody
    else's: no formula, though it may have dollar signs.
    """
    room = int(_room(ax) / (CHARACTER * NORMAL)) - len(text)
    name = shortened(name, max(LEAST_NAME, room))
    legend: Any = ax.get_legend()  # of one row or more
    high = legend.get_window_extent().height * 72 / ax.figure.dpi + TITLE_PAD
    shown = ax.set_title(f"{name}{text}", loc="left", fontsize=NORMAL, pad=high)
    shown.set_parse_math(False)


def _room(ax: Axes) -> float:
    """Points that text above the axes may take in width."""
    return float(TITLE_SHARE * 72 * ax.figure.bbox.width / ax.figure.dpi)


def shortened(name: str, most: int) -> str:
    """Return a name of at most ``most`` characters, in one line."""
    return middle(clean(name, " "), most)


def legend_above(ax: Axes, handles: Sequence[Any] | None = None) -> Legend:
    """Put the legend above the axes, where it covers nothing; up to four in a row."""
    entries: Any = ax.get_legend_handles_labels()[0] if handles is None else handles
    longest = max((len(str(entry.get_label())) for entry in entries), default=0)
    fit = int(_room(ax) / (SMALL * (KEY + CHARACTER * longest)))
    legend = ax.legend(
        handles=entries,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=max(1, min(4, len(entries), fit)),
        fontsize=SMALL,
        frameon=False,
        borderaxespad=0.2,
        borderpad=0.2,
        handlelength=1.8,
        columnspacing=1.4,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # series have names of others
    return legend
