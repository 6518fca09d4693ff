"""Plots by their name, and as figures of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpbb.options.kinds import one_of
from dpbb.plotting import convergence_plot, gantt_chart, interval_plot, speedup_plot
from dpbb.plotting.convergence_plot import convergence
from dpbb.plotting.gantt_chart import gantt
from dpbb.plotting.interval_plot import interval_map
from dpbb.plotting.speedup_plot import speedup
from dpbb.plotting.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS: dict[str, Callable[..., Axes]] = {
    "gantt": gantt,
    "convergence": convergence,
    "intervals": interval_map,
    "speedup": speedup,
}
"""Kinds of plots, and the functions that draw them."""


def draw(
    data: Any,  # each kind has its own
    kind: str,
    ax: Axes | None = None,
    **how: Any,
) -> Axes:
    """Call the function of a kind; OptionError if there is no such kind."""
    one_of(*KINDS).check(kind, "kind")
    return KINDS[kind](data, ax, **how)


def figure_of(
    data: Any, kind: str, *, size: tuple[float, float] | None = None, **how: Any
) -> Figure:
    """Return a figure of a plot; pyplot knows nothing of it.

    Parameters
    ----------
    data, kind
        As of ``draw``.
    size
        Width and height in inches; default: what suits the data.
    """
    figure, ax = new_figure(size or size_of(data, kind))
    draw(data, kind, ax, **how)
    return figure


def size_of(data: Any, kind: str) -> tuple[float, float]:
    """Width and height in inches that suit some data."""
    if kind == "gantt":
        return gantt_chart.gantt_size(data)
    sizes = {"intervals": interval_plot.SIZE, "convergence": convergence_plot.SIZE}
    return sizes.get(kind, speedup_plot.SIZE)
