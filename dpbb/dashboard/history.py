"""The past of a run: the few series over time that a snapshot does not hold.

Kept on the scheduler, so that a browser that opens late sees the run from its start.
Memory is bounded: when ``MAX_SAMPLES`` are full every second one is dropped, and from
then on they are taken half as often.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.coordination.span_map import states_of

MAX_SAMPLES = 960
FIRST_STEP_S = 0.5
WINDOW_S = 5.0
"""Rates are averages over so long at least: reports come every second or so."""


class History:
    """Samples of one run, oldest first.

    Attributes
    ----------
    version
        Another number whenever there is something new.
    seconds, lower_bound, cells
        A value a sample; None where no lower bound is known.
    nodes
        What each engine has explored, a value a sample.
    """

    def __init__(self) -> None:
        self.version = 0
        self.step_s = FIRST_STEP_S
        self.complete = False
        self.seconds: list[float] = []
        self.lower_bound: list[int | None] = []
        self.nodes: dict[str, list[int]] = {}
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
        nodes = dict(snapshot.engine_nodes)
        for engine in nodes:
            self.nodes.setdefault(engine, [0] * len(self.seconds))
        for engine, series in self.nodes.items():
            series.append(nodes.get(engine, 0))
        self.seconds.append(snapshot.seconds)
        self.lower_bound.append(snapshot.lower_bound)
        self.cells.append(states_of(snapshot.spans))
        self.version += 1

    def rates(self) -> dict[str, NDArray[np.float64]]:
        """Nodes a second of each engine, a value a sample; they add up to the run's.

        From the counts alone, so it does not matter whether the run has a seat at the
        moment of a sample. The window begins at a sample ``WINDOW_S`` before, or at the
        first one; what was lost with a lease leaves a rate of 0.
        """
        if len(self.seconds) < 2:
            return {engine: np.zeros(len(self.seconds)) for engine in self.nodes}
        seconds = np.array(self.seconds)
        begins = np.searchsorted(seconds, seconds[1:] - WINDOW_S, side="right") - 1
        begins = np.clip(begins, 0, np.arange(len(begins)))
        spans = np.maximum(seconds[1:] - seconds[begins], 1e-9)
        rates = {}
        for engine, series in self.nodes.items():
            counts = np.array(series, float)
            rate = np.maximum(counts[1:] - counts[begins], 0.0) / spans
            # nothing is known of the time before
            rates[engine] = np.concatenate([rate[:1], rate])
        return rates

    def _thin_out(self) -> None:
        self.step_s *= 2
        # in place: nobody else holds these lists; the first sample tells a resumed run
        all_series: tuple[list[Any], ...] = (
            self.seconds,
            self.lower_bound,
            self.cells,
            *self.nodes.values(),
        )
        for series in all_series:
            del series[1:-1:2]
