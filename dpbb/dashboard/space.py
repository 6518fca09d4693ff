"""The map of [0, n!): what is open now, and how it came to be so.

A cell is finished when no open root touches it, so the open work of a run shrinks to
ever fewer cells: one sees the tree being eaten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    FixedTicker,
    LinearColorMapper,
    NumeralTickFormatter,
    Range1d,
)

from dpbb.coordination.span_map import N_CELLS, states_of
from dpbb.dashboard.history import FIRST_STEP_S
from dpbb.dashboard.look import Look, plot, time_axis

if TYPE_CHECKING:
    from dpbb.dashboard.feed import RunView

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
    """The map over time: a row a moment, the latest on top."""

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
