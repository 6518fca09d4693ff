"""What the page shows: runs and their past, and devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.pace import WINDOW_S
from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.problem import Problem


@dataclass(frozen=True, slots=True)
class RunView:
    """One run as the page shows it.

    Parameters
    ----------
    problem
        For the Gantt chart.
    parameters
        What the run was asked to do: names and values.
    best_known
        The best published cost of the instance; None where none is known.
    all_runs
        All runs of the cluster, the newest first.
    offset_s
        Seconds that the viewer's clock is ahead of UTC; None: as this host's.
    """

    snapshot: Snapshot
    history: History
    problem: Problem[Any] | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    best_known: int | None = None
    devices: tuple[DeviceRow, ...] = ()
    all_runs: tuple[RunView, ...] = ()
    offset_s: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device of the cluster and how it is.

    Parameters
    ----------
    name, worker, model
        What people call it, the address of its worker, and what it is.
    instance
        What it explores; empty if nothing.
    nodes_per_second
        None if it explores nothing.
    utilization
        In percent; of cores the worker's, where 100 is one core.
    memory
        Bytes that are used, and that there are (0: not known).
    watts, celsius
        Of GPUs, where their driver says.
    heard_ago_s
        Seconds since its last report on a unit.
    """

    name: str
    worker: str
    model: str
    instance: str = ""
    nodes_per_second: float | None = None
    utilization: float | None = None
    memory: tuple[float, float] | None = None
    watts: float | None = None
    celsius: float | None = None
    heard_ago_s: float | None = None


MAX_SAMPLES = 960
FIRST_STEP_S = 0.5


class History:
    """Samples of one run, oldest first: what a snapshot does not hold of its past.

    Kept on the scheduler, so that a browser that opens late sees the run from its
    start. Memory is bounded: when ``MAX_SAMPLES`` are full every second one is dropped,
    and from then on they are taken half as often.

    ``window_s``: rates are averages over so long at least, as reports come in steps.

    Attributes
    ----------
    version
        Another number whenever there is something new.
    seconds, lower_bound
        A value a sample; None where no lower bound is known.
    nodes
        What each engine has explored, a value a sample.
    """

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self.window_s = window_s
        self.version = 0
        self.step_s = FIRST_STEP_S
        self.complete = False
        self.seconds: list[float] = []
        self.lower_bound: list[int | None] = []
        self.nodes: dict[str, list[int]] = {}

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
        self.version += 1

    def rates(self) -> dict[str, NDArray[np.float64]]:
        """Nodes a second of each engine, a value a sample; they add up to the run's.

        From the counts alone, so it does not matter whether the run has a seat at the
        moment of a sample. The window begins at a sample ``window_s`` before, or at the
        first one; what was lost with a lease leaves a rate of 0.
        """
        if len(self.seconds) < 2:
            return {engine: np.zeros(len(self.seconds)) for engine in self.nodes}
        seconds = np.array(self.seconds)
        begins = np.searchsorted(seconds, seconds[1:] - self.window_s, side="right") - 1
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
            *self.nodes.values(),
        )
        for series in all_series:
            del series[1:-1:2]
