"""What the open runs have left: estimated now and then, far from the event loop.

The roots that the ledger holds are sampled by a process of its own
(``dpbb.estimation.background``). A run gets its first estimate after some seconds, so
that short ones never pay, and the next ones, of low priority, whenever it is twice as
old. In between what was explored is counted down.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.coordination.snapshot import Left, RunState, Snapshot
from dpbb.estimation.background import Remainder, encode, estimate_apart
from dpbb.estimation.result import MOST_NODES
from dpbb.estimation.roots import RootSample
from dpbb.problem import Encodable, Problem
from dpbb.progress.words import format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpbb.cluster.scheduler.open_run import OpenRun
    from dpbb.coordination.checkpoint import Checkpoint
    from dpbb.coordination.messages import RunId

logger = logging.getLogger(__name__)

CORES = os.cpu_count() or 1

FIRST_S = max(2.0, 6.0 / CORES)
"""Age of a run at its first estimate. Its process takes two seconds of one core."""

PAUSE_S = 80.0 / CORES
"""Least time between estimates: they take 2 % of what the cores do in it, or less."""

EARLY = 1.25
"""Where the latest estimate is of no use any more, the next one does not wait until the
run is twice as old, but for this."""

USEFUL = 100.0
"""Where the largest tree that is thought possible has more than so many times the nodes
of the smallest one, people are told nothing."""

AVERAGE_S = 10.0
"""Nodes a second are an average since the estimate, when it is older than this."""

NICENESS = 10
"""Of estimates after a run's first: a tenth of a core, or more, where all are busy."""

AT_A_TIME = 2
"""A run without an estimate seldom waits for what only refines another's."""

GROWTH = 2.0
"""Age at an estimate over that at the one before."""

SHARE = 0.0025
"""Of the run's age on all cores of this machine: processor time for the sampling.

With the start of the process and all estimates before, 1 % of four cores.
"""

LEAST_S, MOST_S = 1.0, 120.0

POINTS = NormalDist(sigma=1 / NormalDist().inv_cdf(0.95))
"""Its 5 % and 95 % points are at -1 and 1."""

SURPRISE = 0.99
"""What had this chance to be too much to explore, and was not, refutes an estimate."""

MOST_LOG = math.log(MOST_NODES)

MOST_ROOTS = 4096
"""Roots of each depth that are given to the process."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Nodes that were left at one moment of a run.

    Parameters
    ----------
    seconds, explored
        Age of the run, and nodes explored until then.
    ub
        Upper bound that it is for.
    found
        What was left.
    """

    seconds: float
    explored: int
    ub: int
    found: Remainder


@dataclass(slots=True)
class Outlook:
    """A run's latest estimate.

    Parameters
    ----------
    due_s
        Age of the run at the next one.
    busy
        Whether one is being made.
    count
        How many were made.
    """

    due_s: float = FIRST_S
    busy: bool = False
    count: int = 0
    latest: Estimate | None = None

    def left(self, explored: int, ub: int) -> tuple[float, float, float] | None:
        """Nodes that are left now: low, middle, high; None where that is not known.

        For a smaller UB than the estimate's by what that said of it. Not known either
        where more was explored than had been thought possible.
        """
        share = self._share(ub)
        if self.latest is None or share is None:
            return None
        found = self.latest.found
        left = share * found.low, share * found.nodes, share * found.high
        return rest(left, explored - self.latest.explored)

    def is_due(self, age: float, explored: int, ub: int) -> bool:
        """Whether another is due: the run is old enough, or the last one is wrong."""
        if self.latest is None or age >= self.due_s or self.due_s == math.inf:
            return age >= self.due_s
        return age >= EARLY * self.latest.seconds and self.left(explored, ub) is None

    def _share(self, ub: int) -> float | None:
        """Nodes for a UB over those of the estimate's; None: it says nothing of it."""
        if self.latest is None or ub == self.latest.ub:
            return 1.0
        fall, by_ub = self.latest.ub - ub, self.latest.found.by_ub
        if not 0 < fall < len(by_ub) or not by_ub[0]:
            return None
        return by_ub[fall] / by_ub[0]

    def shown_on(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with what is left, where that is known."""
        explored = snapshot.nodes
        left = self.left(explored, snapshot.ub)
        if left is None or snapshot.state is not RunState.RUNNING:
            return snapshot
        low, middle, high = left
        if explored + high > USEFUL * (explored + low):
            return snapshot
        rate, latest = snapshot.nodes_per_second, self.latest
        if latest is not None and snapshot.seconds >= latest.seconds + AVERAGE_S:
            rate = (explored - latest.explored) / (snapshot.seconds - latest.seconds)
        seconds = (low / rate, middle / rate, high / rate) if rate > 0 else None
        return replace(snapshot, left=Left(left, seconds))


def rest(
    left: tuple[float, float, float], since: float
) -> tuple[float, float, float] | None:
    """Return what is left of some nodes after more have been explored.

    ``left`` are the 5 %, 50 % and 95 % points of what there was, which is taken as
    log-normal on either side of its middle; returned are those of what there is beyond
    ``since``, as there is something. None: so many were not thought possible.
    """
    low, middle, high = (math.log(max(nodes, 1.0)) for nodes in left)
    below, above = (max(middle - low, 1e-3), max(high - middle, 1e-3))
    at = math.log(max(since, 1.0)) - middle
    gone = POINTS.cdf(at / (below if at < 0 else above)) if since > 0 else 0.0
    if gone > SURPRISE:
        return None
    points = []
    for part in (0.05, 0.5, 0.95):
        z = POINTS.inv_cdf(gone + part * (1 - gone))
        nodes = math.exp(min(middle + z * (below if z < 0 else above), MOST_LOG))
        points.append(max(0.0, nodes - since))
    return points[0], points[1], points[2]


class Forecaster:
    """Estimates what the open runs have left."""

    def __init__(
        self, runs: Mapping[RunId, OpenRun], clock: Callable[[], float]
    ) -> None:
        self._runs = runs
        self._clock = clock
        self._threads = ThreadPoolExecutor(
            AT_A_TIME, thread_name_prefix="dpbb-forecast"
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def tick(self) -> None:
        """Begin the estimates that are due."""
        for run in self._runs.values():
            outlook, spec = run.outlook, run.coordinator.spec
            if outlook.busy or not run.coordinator.nodes:  # there is no rate yet
                continue
            now = run.coordinator.seconds(self._clock()), run.coordinator.nodes
            if not outlook.is_due(*now, run.coordinator.ub):
                continue
            if not isinstance(spec.problem, Encodable):
                kind = spec.problem.name
                self._give_up(run, f"kind {kind!r} has no encode() for its process")
                continue
            outlook.busy = True
            task = asyncio.create_task(self._estimate(run, spec.problem))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End the process that is at work, if any."""
        self._closing = True
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown(wait=False)

    def _give_up(self, run: OpenRun, why: str) -> None:
        """Say that there will be no estimates."""
        run.outlook.due_s = float("inf")
        run.coordinator.events.add(self._clock(), "estimate", f"no estimate: {why}")

    async def _estimate(self, run: OpenRun, problem: Problem[Any]) -> None:
        coordinator, outlook = run.coordinator, run.outlook
        saved = coordinator.checkpoint(self._clock())

        def is_wanted() -> bool:
            return not self._closing and run.id in self._runs

        try:
            found = await asyncio.get_running_loop().run_in_executor(
                self._threads, estimate_saved, saved, problem, outlook.count, is_wanted
            )
        except Exception as error:  # noqa: BLE001 - the run goes on without
            logger.warning("run %s: no estimate: %s", run.id, error)
            self._give_up(run, str(error))
            return
        finally:
            outlook.busy = False
            outlook.count += 1
        if found is None:
            return
        age = saved.totals.seconds
        outlook.latest = Estimate(age, saved.counters.nodes, saved.ub, found)
        outlook.due_s = max(GROWTH * age, age + PAUSE_S)
        coordinator.events.add(self._clock(), "estimate", text_of(found))


def estimate_saved(
    saved: Checkpoint, problem: Problem[Any], seed: int, is_wanted: Callable[[], bool]
) -> Remainder | None:
    """Estimate what a run has left; blocks. None if not wanted any more.

    ``seed``: how many estimates there were. The first one takes seconds; behind
    everybody else it would take minutes on a busy machine.
    """
    units = [unit.open_roots for unit in saved.units]
    roots = RootSample.drawn_from(units, MOST_ROOTS, np.random.default_rng(seed))
    share = SHARE * saved.totals.seconds * CORES
    seconds = min(MOST_S, max(LEAST_S, share))
    request = encode(problem, saved.spec.tree, saved.ub, roots, seconds, seed)
    return estimate_apart(request, is_wanted, NICENESS if seed else 0)


def text_of(found: Remainder) -> str:
    """Text of an event."""
    between = f"{format_count(found.low)} to {format_count(found.high)}"
    text = f"about {format_count(found.nodes)} nodes left ({between})"
    if found.nodes >= MOST_NODES:
        text = "more than 10^300 nodes left"
    if found.reasons:
        return f"{text}, rough: {found.reasons[0]}"
    return text
