"""Plots by their name, and as figures of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from dpbb.options.kinds import one_of
from dpbb.plotting import convergence_plot, gantt_chart, interval_plot, speedup_plot
from dpbb.plotting.style import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["gantt", "convergence", "intervals", "speedup"]

KINDS: dict[Kind, Callable[..., Axes]] = {
    "gantt": gantt_chart.gantt,
    "convergence": convergence_plot.convergence,
    "intervals": interval_plot.interval_map,
    "speedup": speedup_plot.speedup,
}
"""Kinds of plots, and the functions that draw them."""

SIZES = {
    "convergence": convergence_plot.SIZE,
    "intervals": interval_plot.SIZE,
    "speedup": speedup_plot.SIZE,
}
"""Width and height in inches."""


def draw(data: Any, kind: Kind, ax: Axes | None = None) -> Axes:
    """Call the function of a kind; OptionError if there is no such kind."""
    one_of(*KINDS).check(kind, "kind")
    return KINDS[kind](data, ax)


def figure_of(data: Any, kind: Kind) -> Figure:
    """Return a figure of a plot, as ``draw`` takes it; pyplot knows nothing of it."""
    require_matplotlib()
    from matplotlib.figure import Figure

    size = SIZES[kind] if kind in SIZES else gantt_chart.gantt_size(data)
    figure = Figure(figsize=size, layout="constrained")
    draw(data, kind, figure.subplots())
    return figure
