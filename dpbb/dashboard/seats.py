"""Charts of the seats: how fast each is, and what it gave to others.

Of many seats: how many are how fast, and how many gave how often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, Range1d
from numpy.typing import NDArray

from dpbb.dashboard.look import Look, plot, si_axis

if TYPE_CHECKING:
    from dpbb.coordination.snapshot import SeatSnapshot
    from dpbb.dashboard.feed import RunView

MAX_SEATS = 200
"""Above so many seats a chart shows how many there are of a kind, not each of them."""

N_BINS = 24


class _SeatChart:
    """A bar for each seat, or a histogram of many."""

    per_seat = ""  # what the bars are
    in_bins = ""  # what the bins are
    whole = False  # whether these are whole numbers

    def __init__(self, look: Look) -> None:
        self._look = look
        ranges = {"x_range": Range1d(0, 1), "y_range": Range1d(0, 1)}
        chart = plot(look, x="seat", y=self.per_seat, **ranges)
        chart.xgrid.grid_line_color = None
        chart.xaxis.ticker.desired_num_ticks = chart.yaxis.ticker.desired_num_ticks = 5
        si_axis(chart.axis)
        self._source = ColumnDataSource(
            {"left": [], "right": [], "top": [], "color": [], "text": []}
        )
        bars = chart.quad(
            left="left", right="right", top="top", bottom=0, source=self._source,
            fill_color="color", line_color=None,
        )  # fmt: skip
        chart.add_tools(HoverTool(renderers=[bars], tooltips="@text"))
        self.root = chart
        self._aggregate = False
        self._label(aggregate=False)
        self._shown: object = None

    def update(self, view: RunView) -> None:
        """Show a run."""
        seats = view.snapshot.seats
        if seats == self._shown:
            return
        self._shown = seats
        aggregate = len(seats) > MAX_SEATS
        if aggregate != self._aggregate:
            self._aggregate = aggregate
            self._label(aggregate=aggregate)
        data = self._histogram(seats) if aggregate else self._bars(seats)
        self.root.y_range.end = 1.1 * max([self._least_top(), *data["top"]])
        self._source.data = data

    def _label(self, *, aggregate: bool) -> None:
        x, y = self.root.xaxis[0], self.root.yaxis[0]
        x.axis_label, y.axis_label = (
            (self.in_bins, "seats") if aggregate else ("seat", self.per_seat)
        )
        x.ticker.min_interval = 0 if aggregate and not self.whole else 1
        y.ticker.min_interval = 1 if aggregate or self.whole else 0

    def _least_top(self) -> float:
        return 1.0

    def _height(self, seat: SeatSnapshot) -> float:
        raise NotImplementedError

    def _edges(self, seats: Sequence[SeatSnapshot]) -> tuple[NDArray[Any], Any]:
        """Values to count, and the edges of the bins."""
        raise NotImplementedError

    def _bars(self, seats: Sequence[SeatSnapshot]) -> dict[str, list[Any]]:
        self.root.x_range.start = 0.4
        self.root.x_range.end = max(1, len(seats)) + 0.6
        return {
            "left": [number + 0.6 for number in range(len(seats))],
            "right": [number + 1.4 for number in range(len(seats))],
            "top": [self._height(seat) for seat in seats],
            "color": [self._look.engine(seat.engine) for seat in seats],
            "text": [_text(seat) for seat in seats],
        }

    def _histogram(self, seats: Sequence[SeatSnapshot]) -> dict[str, list[Any]]:
        values, edges = self._edges(seats)
        counts, edges = np.histogram(values, edges)
        first, *_, last = edges.tolist()
        self.root.x_range.start, self.root.x_range.end = first, last
        return {
            "left": edges[:-1].tolist(),
            "right": edges[1:].tolist(),
            "top": counts.tolist(),
            "color": [self._look.bars] * len(counts),
            "text": [f"{count:,} seats" for count in counts.tolist()],
        }


class Seats(_SeatChart):
    """Nodes a second of each seat; of many, how many are how fast."""

    per_seat = "nodes/s"
    in_bins = "nodes/s of a busy seat"

    def _height(self, seat: SeatSnapshot) -> float:
        return seat.nodes_per_second

    def _edges(self, seats: Sequence[SeatSnapshot]) -> tuple[NDArray[Any], Any]:
        rates = np.array([seat.nodes_per_second for seat in seats if seat.busy])
        highest = float(rates.max()) if rates.size else 0.0
        end = 10.0 ** math.ceil(math.log10(highest)) if highest > 0 else 1.0
        ends = (end * part for part in (0.2, 0.5, 1))
        end = next((end for end in ends if highest <= end), highest)
        return rates, np.linspace(0.0, end, N_BINS + 1)


class Donated(_SeatChart):
    """Donations of each seat since it joined; of many, how many gave how often."""

    per_seat = "donations"
    in_bins = "donations of a seat"
    whole = True

    def _least_top(self) -> float:
        return 4.0  # else a run's first donation fills the chart

    def _height(self, seat: SeatSnapshot) -> float:
        return seat.donations

    def _edges(self, seats: Sequence[SeatSnapshot]) -> tuple[NDArray[Any], Any]:
        given = np.array([seat.donations for seat in seats])
        width = int(given.max()) // N_BINS + 1
        n_bins = max(4, int(given.max()) // width + 1)
        # a bar of whole numbers stands above them
        return given, np.arange(n_bins + 1) * width - 0.5


def _text(seat: SeatSnapshot) -> str:
    does = (
        f"unit {seat.unit}, {seat.decomposed:,} nodes, {seat.open_roots:,} open roots"
        if seat.busy
        else seat.state
    )
    gave = f"gave {seat.donations:,} donations, {seat.donated_roots:,} roots"
    return f"{seat.seat} on {seat.device}: {does}; {gave}"
