"""Heuristics beside the tree: threads of a worker that improve schedules.

The threads are the worker plugin's own and no Dask tasks: a worker with a GPU has one
thread for tasks, and a CPU seat uses all of them. How many there are is decided by the
scheduler (``dpbb.cluster.scheduler.beside``). Most of them work together on the
incumbent. Each of the others takes starts from the pool, which holds incumbents and
schedules promoted from what the explorers have in hand, and searches from each for a
limited time. What is better is offered to the run. Nothing here waits for a thread: one
that is to end is told so and looks every few milliseconds.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from dpbb.cluster.worker.starts import StartPool, Turns
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.errors import DpbbError
from dpbb.options import Heuristics
from dpbb.problem import (
    Beginning,
    BesideSearch,
    ImprovesBeside,
    Incumbent,
    proving_bound,
)

logger = logging.getLogger(__name__)

STARTS_A_THREAD = 2
"""The pool holds so many starts for each thread."""

AUTO = str(Heuristics.AUTO)
"""Method of those that work together."""

ALONE = 4
"""One of so many threads searches alone, at least one where there are two; a single
one does so every so many turns."""

TOGETHER_S = 20.0
"""Seconds of the first search together; each is twice as long as the one before."""

PROMOTION_S = 3.0
"""Seconds between two looks at what the explorers of a seat have in hand."""

START_SHARE = 0.25
LEAST_START_S, MOST_START_S = 5.0, 300.0
"""A search from one start takes this part of the searching so far, within limits: in a
run of seconds many starts have a turn, in one of hours each has five minutes."""

REST_S = 0.01
"""Pause after a search in vain: a method may be done with a start at once."""

NICENESS = 5
"""Where cores are short, those who explore and report go first."""


class Channel(Protocol):
    """The way from a worker's heuristics to the run."""

    def spec(self) -> RunSpec:
        """Return the run; blocks. A DpbbError when it is gone."""

    def offer(self, incumbent: Incumbent) -> None:
        """Offer a schedule; blocks. A DpbbError when the run is gone."""


class RunHeuristics:
    """The threads of one run on one worker.

    ``name``: what the worker is called: its seeds differ from those of others.
    """

    def __init__(
        self, channel: Channel, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._channel = channel
        self._name = name
        self._clock = clock
        self._began = clock()
        self._changed = threading.Condition()  # guards what follows
        self._stops: list[threading.Event] = []  # one for each thread alone
        self._team = 0  # threads that work together
        self._team_stop = threading.Event()
        self._pool = StartPool(most_uses=1)
        self._turns: Turns | None = None  # None: the problem is not there yet
        self._problem: ImprovesBeside | None = None
        self._lower_bound = 0
        self._start_s: float | None = None
        self._best: int | None = None
        self._promoted_at = clock()
        self._seeds = random.Random(name)  # noqa: S311 - no secret

    @property
    def n_threads(self) -> int:
        """Threads that search, or are about to."""
        with self._changed:
            return len(self._stops) + self._team

    @property
    def starts(self) -> list[Beginning]:
        """What is in the pool, the best first."""
        with self._changed:
            return self._pool.beginnings

    def resize(self, threads: int) -> None:
        """Search with so many threads from now on; returns at once."""
        alone = max(threads // ALONE, int(threads > 1))
        with self._changed:
            self._pool.resize(STARTS_A_THREAD * threads)
            for stop in self._stops[alone:]:
                stop.set()
            del self._stops[alone:]
            while len(self._stops) < alone:
                self._stops.append(threading.Event())
                self._start(self._stops[-1], self._search_alone)
            if threads - alone != self._team:
                self._team_stop.set()
                self._team_stop = threading.Event()
                self._team = threads - alone
                if self._team:
                    self._start(self._team_stop, self._search_together)
            self._changed.notify_all()

    def add(self, beginnings: Iterable[Beginning]) -> None:
        """Put promoted starts into the pool, as far as they are among the best."""
        with self._changed:
            for beginning in beginnings:
                self._pool.add(beginning)
            self._changed.notify_all()

    def know(self, incumbent: Beginning) -> None:
        """Take the run's incumbent: what is not better is not offered any more."""
        with self._changed:
            if self._best is None or incumbent.value < self._best:
                self._best = incumbent.value
                self._pool.lead(incumbent)
                self._changed.notify_all()

    def wanted(self) -> int:
        """How many promoted starts are wanted now; 0 until the next are due."""
        now = self._clock()
        with self._changed:
            if now < self._promoted_at + PROMOTION_S or not self._team:
                return 0
            self._promoted_at = now
            return self._pool.capacity

    # -- in the threads ----------------------------------------------------------------

    def _start(
        self, stop: threading.Event, search: Callable[[threading.Event], None]
    ) -> None:
        """Start a thread that searches until it is stopped."""

        def run() -> None:
            with contextlib.suppress(OSError, AttributeError):  # not everywhere
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
            try:
                self._prepare()
                search(stop)
            except DpbbError as error:  # the run, or the way to it, is gone
                logger.debug("heuristics beside the tree end: %s", error)

        threading.Thread(target=run, name="dpbb-beside", daemon=True).start()

    def _search_alone(self, stop: threading.Event) -> None:
        """Search from start to start until told to stop."""
        while self._search_once(stop):
            pass

    def _search_once(self, stop: threading.Event) -> bool:
        """Search from one start; False: there is nothing more to do."""
        task = self._next(stop)
        if task is None:
            return False
        beginning, method, search = task
        self._found(Incumbent(beginning.value, beginning.permutation, "completion"))
        if not self._improves(method, beginning, search):
            stop.wait(REST_S)
        return True

    def _search_together(self, stop: threading.Event) -> None:
        """Search from incumbent to incumbent with several threads."""
        team, seconds, rounds = self._team, TOGETHER_S, 0
        while (best := self._incumbent(stop)) is not None:
            rounds += 1
            if self.n_threads == 1 and rounds % ALONE == 0:
                if not self._search_once(stop):
                    return
                continue
            search = replace(
                self._limits(stop), deadline=self._clock() + seconds, threads=team
            )
            seconds = min(2 * seconds, MOST_START_S)
            better = self._improves(AUTO, best, search)
            if better is None:
                return
            if not better:
                stop.wait(REST_S)

    def _improves(
        self, method: str, beginning: Beginning, search: BesideSearch
    ) -> bool | None:
        """Search; whether something better than the start came; None: it failed."""
        problem = self._problem
        if problem is None:
            raise ValueError("expected a problem before any search")
        try:
            found = problem.improve(method, beginning, search)
        except DpbbError:
            raise
        except Exception:
            logger.exception("heuristic %s fails beside the tree", method)
            with self._changed:
                if self._turns is not None:
                    self._turns.drop(method)
            return None
        if found.proved:  # nothing is left to search for; the proof is the tree's
            with self._changed:
                self._lower_bound = max(self._lower_bound, found.value)
                self._changed.notify_all()
        return found.value < beginning.value

    def _incumbent(self, stop: threading.Event) -> Beginning | None:
        """Wait for the best start; None: the thread is to end."""
        with self._changed:
            while not stop.is_set() and self._turns is not None and not self._proved:
                if self._pool.incumbent is not None:
                    return self._pool.incumbent
                self._changed.wait()
        return None

    @property
    def _proved(self) -> bool:
        """Whether nothing can be better."""
        return self._best is not None and self._best <= self._lower_bound

    def _prepare(self) -> None:
        """Fetch the problem, once."""
        with self._changed:
            if self._turns is not None:
                return
        spec = self._channel.spec()
        problem = spec.problem
        with self._changed:
            if self._turns is not None or not isinstance(problem, ImprovesBeside):
                return
            methods = list(problem.methods_beside)
            pool = StartPool(most_uses=max(1, len(methods)))
            pool.resize(self._pool.capacity)
            if self._pool.incumbent is not None:
                pool.lead(self._pool.incumbent)
            self._pool, self._problem, self._turns = pool, problem, Turns(methods)
            self._lower_bound = proving_bound(problem)
            self._start_s = spec.options.heuristic_start_s

    def _next(
        self, stop: threading.Event
    ) -> tuple[Beginning, str, BesideSearch] | None:
        """Wait for something to start from; None: the thread is to end."""
        with self._changed:
            while not stop.is_set():
                if self._turns is None or not self._turns.methods or self._proved:
                    return None
                if self._pool.beginnings:
                    method = self._turns.take()
                    beginning = self._pool.take(method)
                    if beginning is not None:
                        return beginning, method, self._limits(stop)
                self._changed.wait()
        return None

    def _limits(self, stop: threading.Event) -> BesideSearch:
        now = self._clock()
        seconds = self._start_s
        if seconds is None:
            share = START_SHARE * (now - self._began)
            seconds = min(max(share, LEAST_START_S), MOST_START_S)
        return BesideSearch(
            lower_bound=self._lower_bound,
            deadline=now + seconds,
            seed=self._seeds.getrandbits(32),
            on_improvement=self._found,
            should_stop=stop.is_set,
        )

    def _found(self, incumbent: Incumbent) -> None:
        """Offer a schedule if it is better than what the run has."""
        with self._changed:
            if self._best is not None and incumbent.value >= self._best:
                return
            self._best = incumbent.value
            self._pool.lead(Beginning(incumbent.value, incumbent.permutation))
            if self._turns is not None:
                self._turns.note(incumbent.source)
            self._changed.notify_all()
        self._channel.offer(incumbent)


class WorkerHeuristics:
    """The heuristics of a worker, run by run."""

    def __init__(self, name: str, channel_to: Callable[[RunId], Channel]) -> None:
        self._name = name
        self._channel_to = channel_to
        self._lock = threading.Lock()
        self._runs: dict[RunId, RunHeuristics] = {}
        self._explorers: dict[RunId, int | None] = {}

    def order(
        self,
        run_id: RunId,
        threads: int,
        explorers: int | None,
        incumbent: Beginning | None,
    ) -> None:
        """Do from now on what the scheduler says; returns at once.

        Parameters
        ----------
        threads
            That improve schedules.
        explorers
            That a CPU seat explores with; None: all of its own.
        """
        with self._lock:
            self._explorers[run_id] = explorers
            run = self._runs.get(run_id)
            if run is None:
                if not threads:
                    return
                run = RunHeuristics(self._channel_to(run_id), f"{self._name}/{run_id}")
                self._runs[run_id] = run
        run.resize(threads)
        if incumbent is not None:
            run.know(incumbent)

    def forget(self, run_id: RunId) -> None:
        """End the threads of a run that is over."""
        with self._lock:
            self._explorers.pop(run_id, None)
            run = self._runs.pop(run_id, None)
        if run is not None:
            run.resize(0)

    def close(self) -> None:
        """End all threads: the worker leaves."""
        with self._lock:
            run_ids = list(self._runs)
        for run_id in run_ids:
            self.forget(run_id)

    def of(self, run_id: RunId) -> RunHeuristics | None:
        """Return those of a run, if there are any."""
        with self._lock:
            return self._runs.get(run_id)

    def seat(self, run_id: RunId) -> SeatHeuristics:
        """Return what a seat that explores for the run has to do with them."""
        return SeatHeuristics(self, run_id)

    def explorers(self, run_id: RunId) -> int | None:
        """How many threads a CPU seat is to explore with; None: all of its own."""
        with self._lock:
            return self._explorers.get(run_id)


class SeatHeuristics:
    """See ``dpbb.cluster.worker.exploration.Beside``."""

    def __init__(self, heuristics: WorkerHeuristics, run_id: RunId) -> None:
        self._heuristics = heuristics
        self._run_id = run_id

    def explorers(self) -> int | None:
        """CPU threads that the seat is to explore with."""
        return self._heuristics.explorers(self._run_id)

    def wanted(self) -> int:
        """How many nodes in hand are wanted now."""
        run = self._heuristics.of(self._run_id)
        return 0 if run is None else run.wanted()

    def promote(self, beginnings: Iterable[Beginning]) -> None:
        """Take nodes in hand, completed."""
        run = self._heuristics.of(self._run_id)
        if run is not None:
            run.add(beginnings)
