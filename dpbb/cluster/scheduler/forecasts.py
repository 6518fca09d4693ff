"""What the open runs have left: estimated now and then, far from the event loop.

The roots that the ledger holds are sampled by a process of its own
(``dpbb.estimation.background``). A run gets its first estimate when it has gone on for
a while, so that short ones never pay, and the next ones, of low priority, at intervals
that grow with its age.
"""

import asyncio
import logging
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dpbb.cluster.scheduler.hub import Hub
from dpbb.cluster.scheduler.open_run import OpenRun
from dpbb.cluster.scheduler.outlook import Estimate
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.estimation.background import Remainder, encode, estimate_apart
from dpbb.estimation.result import MOST_NODES
from dpbb.estimation.roots import RootSample
from dpbb.options import Estimates
from dpbb.problem import Encodable, Problem

logger = logging.getLogger(__name__)

NICENESS = 10
"""Of estimates after a run's first: a tenth of a core, or more, where all are busy."""

AT_A_TIME = 2
"""A run without an estimate seldom waits for what only refines another's."""

GROWTH, SOONER = 2.0, 1.25
"""Age at an estimate over that at the one before; where that has failed, the second."""

SHARE = 0.0025
"""Of the run's age on all cores of this machine: processor time for the sampling.

With the start of the process and all estimates before, 1 % of four cores.
"""

LEAST_S, MOST_S = 0.3, 120.0

MOST_ROOTS = 4096
"""Roots of each depth that are given to the process."""


class Forecaster:
    """Estimates what the open runs of a hub have left."""

    def __init__(self, hub: Hub, clock: Callable[[], float]) -> None:
        self._hub = hub
        self._clock = clock
        self._threads = ThreadPoolExecutor(
            AT_A_TIME, thread_name_prefix="dpbb-forecast"
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def tick(self) -> None:
        """Begin the estimates that are due."""
        for run in self._hub.runs.values():
            outlook, spec = run.outlook, run.coordinator.spec
            age = run.coordinator.seconds(self._clock())
            if outlook.busy or spec.tuning.estimates is Estimates.OFF:
                continue
            if age < outlook.due_s and not self._failed(run, age):
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

    def _failed(self, run: OpenRun, age: float) -> bool:
        """Whether the latest estimate is worth nothing any more."""
        latest, nodes = run.outlook.latest, run.coordinator.nodes
        if latest is None:
            return False
        left = run.outlook.left(nodes, run.coordinator.ub)
        if left is None:  # the UB is one that it had not foreseen
            return run.outlook.due_s < math.inf
        outgrown = not left[0] and nodes - latest.explored >= left[2]
        return outgrown and age >= SOONER * latest.seconds

    def _give_up(self, run: OpenRun, why: str) -> None:
        """Say that there will be no estimates."""
        run.outlook.due_s = float("inf")
        run.coordinator.note_event("estimate", f"no estimate: {why}", self._clock())

    async def _estimate(self, run: OpenRun, problem: Problem[Any]) -> None:
        coordinator, outlook = run.coordinator, run.outlook
        saved = coordinator.checkpoint(self._clock())

        def is_wanted() -> bool:
            return not self._closing and run.id in self._hub.runs

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
        outlook.latest = Estimate(
            saved.totals.seconds,
            saved.counters.nodes,
            saved.ub,
            (found.low, found.nodes, found.high),
            found.by_ub,
        )
        outlook.due_s = GROWTH * saved.totals.seconds
        coordinator.note_event("estimate", text_of(found), self._clock())


def estimate_saved(
    saved: Checkpoint, problem: Problem[Any], seed: int, is_wanted: Callable[[], bool]
) -> Remainder | None:
    """Estimate what a run has left; blocks. None if not wanted any more.

    ``seed``: how many estimates there were. The first one takes seconds; behind
    everybody else it would take minutes on a busy machine.
    """
    units = [unit.open_roots for unit in saved.units]
    roots = RootSample.drawn_from(units, MOST_ROOTS, np.random.default_rng(seed))
    share = SHARE * saved.totals.seconds * (os.cpu_count() or 1)
    seconds = min(MOST_S, max(LEAST_S, share))
    request = encode(problem, saved.spec.tree, saved.ub, roots, seconds, seed)
    return estimate_apart(request, is_wanted, NICENESS if seed else 0)


def text_of(found: Remainder) -> str:
    """Text of an event."""
    between = f"{found.low:.2g} to {found.high:.2g}"
    text = f"about {found.nodes:.3g} nodes left ({between})"
    if found.nodes >= MOST_NODES:
        text = "more than 10^300 nodes left"
    if found.reasons:
        return f"{text}, rough: {found.reasons[0]}"
    return text
