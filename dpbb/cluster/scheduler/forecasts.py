"""What the open runs have left: estimated now and then, far from the event loop.

The roots that the ledger holds are sampled by a process of its own
(``dpbb.estimation.background``). What is left is then that range less what has been
explored since, refined by all estimates together (``outlook``). A run gets its first
estimate when it has gone on for a while, so that short ones never pay, and the next
ones, of low priority, at intervals that grow with its age.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dpbb.cluster.scheduler.hub import Hub
from dpbb.cluster.scheduler.open_run import OpenRun
from dpbb.cluster.scheduler.outlook import Prospect, Remaining, Sample
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.snapshot import RunState
from dpbb.estimation.background import Remainder, encode, estimate_apart
from dpbb.estimation.result import MOST_NODES
from dpbb.estimation.roots import RootSample
from dpbb.options import Estimates
from dpbb.problem import Encodable, Problem

logger = logging.getLogger(__name__)

PATIENCE_S = 15.0
"""After this the events say that the first estimate is under way: its process shares
the cores with all others, and the first one on a machine compiles."""

NICENESS = 10
"""Of estimates after a run's first: a tenth of a core, or more, where all are busy."""

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
        # a run without an estimate does not wait for what only refines another's
        self._first, self._later = (
            ThreadPoolExecutor(1, thread_name_prefix="dpbb-forecast") for _ in range(2)
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def tick(self) -> None:
        """Begin the estimates that are due."""
        now = self._clock()
        for run in self._hub.runs.values():
            outlook, spec = run.outlook, run.coordinator.spec
            self._follow(run)
            age = run.coordinator.seconds(now)
            if outlook.busy_s is not None:
                self._await(run, age - outlook.busy_s)
                continue
            if spec.options.estimates is Estimates.OFF or age < outlook.due_s:
                continue
            if not isinstance(spec.problem, Encodable):
                kind = spec.problem.name
                self._give_up(run, f"kind {kind!r} has no encode() for its process")
                continue
            outlook.busy_s = age
            task = asyncio.create_task(self._estimate(run, spec.problem))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End the process that is at work, if any."""
        self._closing = True
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._first.shutdown(wait=False)
        self._later.shutdown(wait=False)

    def _await(self, run: OpenRun, waited_s: float) -> None:
        """Say once that the first estimate has not come yet."""
        outlook = run.outlook
        if outlook.count or outlook.awaited or waited_s < PATIENCE_S:
            return
        outlook.awaited = True
        text = (
            f"no estimate yet, after {waited_s:.0f} s: its process shares the cores "
            "with all others, and the first one on a machine compiles, too"
        )
        run.coordinator.note_event("estimate", text, self._clock())

    def _give_up(self, run: OpenRun, why: str) -> None:
        """Say that there will be no estimates."""
        run.outlook.due_s = float("inf")
        run.coordinator.note_event("estimate", f"no estimate: {why}", self._clock())

    def _follow(self, run: OpenRun) -> None:
        """Scale a run's estimates when its UB has fallen; ask again if they failed."""
        outlook, coordinator = run.outlook, run.coordinator
        prospect = outlook.prospect
        if prospect is None or coordinator.state is not RunState.RUNNING:
            return
        explored = coordinator.nodes
        age = coordinator.seconds(self._clock())
        if coordinator.ub != prospect.ub:
            outlook.prospect = prospect.follow(explored, coordinator.ub)
            if outlook.prospect is None:
                outlook.due_s = min(outlook.due_s, age)
        elif prospect.outgrown(explored):
            least = SOONER * outlook.asked_s
            outlook.due_s = min(outlook.due_s, max(age, least))

    async def _estimate(self, run: OpenRun, problem: Problem[Any]) -> None:
        coordinator, outlook = run.coordinator, run.outlook
        saved = coordinator.checkpoint(self._clock())
        age, first = saved.totals.seconds, outlook.prospect is None
        # of seconds; behind everybody else these take minutes on a busy machine
        niceness, threads = (0, self._first) if first else (NICENESS, self._later)

        def is_wanted() -> bool:
            return not self._closing and run.id in self._hub.runs

        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(
                threads,
                estimate_saved,
                saved,
                problem,
                outlook.count,
                niceness,
                is_wanted,
            )
        except Exception as error:  # noqa: BLE001 - the run goes on without
            logger.warning("run %s: no estimate: %s", run.id, error)
            self._give_up(run, str(error))
            return
        finally:
            outlook.busy_s = None
            outlook.count += 1
        if found is None:
            return
        counters, reliable = saved.counters, not found.reasons
        explored = counters.decomposed + counters.leaves
        outlook.remaining = Remaining(found.low, found.high, explored, reliable)
        sample = Sample.of(explored, found.low, found.high, found.spread)
        if outlook.prospect is None or outlook.prospect.ub != saved.ub:
            outlook.prospect = Prospect([sample], saved.ub, found.by_ub)
        else:
            outlook.prospect = outlook.prospect.join(sample, found.by_ub)
        outlook.asked_s, outlook.due_s = age, age * GROWTH
        self._follow(run)
        coordinator.note_event("estimate", text_of(found), self._clock())


def estimate_saved(
    saved: Checkpoint,
    problem: Problem[Any],
    seed: int,
    niceness: int,
    is_wanted: Callable[[], bool],
) -> Remainder | None:
    """Estimate what a run has left; blocks. None if not wanted any more."""
    units = [unit.open_roots for unit in saved.units]
    random = np.random.default_rng(seed)
    roots = RootSample.drawn_from(units, MOST_ROOTS, random)
    share = SHARE * saved.totals.seconds * (os.cpu_count() or 1)
    seconds = min(MOST_S, max(LEAST_S, share))
    request = encode(problem, saved.spec.tree, saved.ub, roots, seconds, seed)
    return estimate_apart(request, is_wanted, niceness)


def text_of(found: Remainder) -> str:
    """Text of an event."""
    between = f"{found.low:.2g} to {found.high:.2g}"
    text = f"about {found.nodes:.3g} nodes left ({between})"
    if found.nodes >= MOST_NODES:
        text = "more than 10^300 nodes left"
    if found.reasons:
        return f"{text}, rough: {found.reasons[0]}"
    return text
