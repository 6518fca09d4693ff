"""What a run was like over time: the few series that a snapshot does not hold.

Kept on the scheduler, so that a browser that opens late sees the run from its start.
Memory is bounded: when ``MAX_SAMPLES`` are full every second one is dropped, and from
then on they are taken half as often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpbb.coordination.snapshot import RunState
from dpbb.coordination.span_map import states_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpbb.coordination.snapshot import Snapshot

MAX_SAMPLES = 240
FIRST_STEP_S = 0.5


def rates_of(snapshot: Snapshot) -> dict[str, float]:
    """Nodes a second of each engine: the total, shared as the seats' reports say.

    Seats that have all begun with new units have not reported yet: they then share it
    in equal parts.
    """
    weights: dict[str, float] = {}
    seats: dict[str, float] = {}
    for seat in snapshot.seats:
        rate = seat.nodes_per_second if seat.busy else 0.0
        weights[seat.engine] = weights.get(seat.engine, 0.0) + rate
        seats[seat.engine] = seats.get(seat.engine, 0.0) + 1
    if not any(weights.values()):
        weights = seats
    together = sum(weights.values())
    return {
        engine: snapshot.nodes_per_second * weight / together
        for engine, weight in weights.items()
    }


class History:
    """Samples of one run, oldest first.

    Attributes
    ----------
    version
        Another number whenever there is something new.
    seconds, lower_bound, total_rate, cells
        A value a sample; None where no lower bound is known.
    rates
        Nodes a second of each engine, a value a sample.
    """

    def __init__(self) -> None:
        self.version = 0
        self.step_s = FIRST_STEP_S
        self.complete = False
        self.seconds: list[float] = []
        self.lower_bound: list[int | None] = []
        self.total_rate: list[float] = []
        self.rates: dict[str, list[float]] = {}
        self.cells: list[NDArray[np.uint8]] = []

    def note(self, snapshot: Snapshot) -> None:
        """Take a sample, unless the last one is too young; the end always counts."""
        ended = snapshot.state in (RunState.FINISHED, RunState.FAILED)
        if self.complete:
            return
        age = snapshot.seconds - self.seconds[-1] if self.seconds else self.step_s
        if age < self.step_s and not ended:
            return
        self.complete = ended
        if len(self.seconds) >= MAX_SAMPLES:
            self._thin_out()
        rates = {} if ended else rates_of(snapshot)
        for engine in rates:
            self.rates.setdefault(engine, [0.0] * len(self.seconds))
        for engine, series in self.rates.items():
            series.append(rates.get(engine, 0.0))
        self.seconds.append(snapshot.seconds)
        self.lower_bound.append(snapshot.lower_bound)
        self.total_rate.append(0.0 if ended else snapshot.nodes_per_second)
        self.cells.append(states_of(snapshot.spans))
        self.version += 1

    def _thin_out(self) -> None:
        self.step_s *= 2
        # in place: nobody else holds these lists, and the newest sample stays
        all_series: tuple[list[Any], ...] = (
            self.seconds,
            self.lower_bound,
            self.total_rate,
            self.cells,
            *self.rates.values(),
        )
        for series in all_series:
            del series[:-1:2]
