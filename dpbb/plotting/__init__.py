"""Plots of schedules, runs and measurements, with Matplotlib (``dpbb[plot]``)."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from dpbb.options.kinds import one_of
from dpbb.plotting.gantt_chart import gantt as gantt
from dpbb.plotting.gantt_chart import gantt_figure as gantt_figure
from dpbb.plotting.gantt_chart import gantt_html as gantt_html
from dpbb.plotting.plots import convergence as convergence
from dpbb.plotting.plots import interval_map as interval_map
from dpbb.plotting.plots import speedup as speedup
from dpbb.plotting.style import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["gantt", "convergence", "intervals", "speedup"]

KINDS: dict[Kind, Callable[..., Axes]] = {
    "gantt": gantt,
    "convergence": convergence,
    "intervals": interval_map,
    "speedup": speedup,
}
"""Kinds of plots, and the functions that draw them."""


def draw(data: Any, kind: Kind, ax: Axes | None = None) -> Axes:
    """Call the function of a kind; OptionError if there is no such kind."""
    one_of(*KINDS).check(kind, "kind")
    return KINDS[kind](data, ax)


def figure_of(data: Any, kind: Kind) -> Figure:
    """Return a figure of a plot, as ``draw`` takes it; pyplot knows nothing of it."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    KINDS[kind](data, figure)
    return figure


def drawn(data: Any, kind: Kind, suffix: str) -> bytes:
    """Return a plot as files of a suffix have it; a gantt also as a page, ``.html``."""
    if suffix == ".html":
        return gantt_html(data).encode()
    picture = BytesIO()
    figure_of(data, kind).savefig(picture, dpi=150, format=suffix[1:])
    return picture.getvalue()
