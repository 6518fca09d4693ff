"""Heuristics while the tree is explored: threads of a worker that improve schedules.

The threads are the worker plugin's own and no Dask tasks: a worker with a GPU has one
thread for tasks, and a CPU seat uses all of them. How many there are is decided by the
scheduler (``dpbb.cluster.scheduler.heuristics``). Most of them work together; each of
the others takes one method after the other. All start from the best schedule known, and
what is better is offered to the run. Nothing waits for a thread: one that is to end is
told so and looks every few milliseconds.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from dpbb.cluster.worker.exploration import SeatClosedError
from dpbb.cluster.worker.link import WorkerLink
from dpbb.coordination.messages import RunSpec
from dpbb.errors import ClusterError, StaleLeaseError
from dpbb.options import Heuristics
from dpbb.problem import (
    ImprovesSchedules,
    Incumbent,
    StartSearch,
    proving_bound,
    whole_of,
)

logger = logging.getLogger(__name__)

AUTO = str(Heuristics.AUTO)
"""Method of those that work together."""

ALONE = 4
"""One of so many threads searches alone, at least one where there are two."""

SEARCH_SHARE = 0.25
LEAST_SEARCH_S, MOST_SEARCH_S = 5.0, 300.0
"""A search takes this part of the searching so far, within limits."""

REST_S = 0.01
"""Pause after a search in vain: a method may be done with a start at once."""

NICENESS = 5
"""Where cores are short, those who explore and report go first."""


GONE = (ClusterError, SeatClosedError, StaleLeaseError)
"""What is raised when the run is over, or the way to it is closed."""


class Channel:
    """The way from a worker's heuristics to a run.

    ``spec_of``: returns the run, fetched by a link if it is not known yet.
    """

    def __init__(
        self, link: WorkerLink, address: str, spec_of: Callable[[WorkerLink], RunSpec]
    ) -> None:
        self._link, self._address, self._spec_of = link, address, spec_of

    def spec(self) -> RunSpec:
        """Return the run."""
        return self._spec_of(self._link)

    def offer(self, incumbent: Incumbent) -> None:
        """Offer a schedule."""
        jobs = whole_of(self.spec().problem, incumbent.permutation.tolist())
        source = f"{incumbent.source}, {self._address}"
        self._call("dpbb_offer", permutation=jobs, source=source)

    def note(self, text: str) -> None:
        """Tell whoever watches the run."""
        text = f"{text} (worker {self._address})"
        self._call("dpbb_note", kind="heuristics", text=text)

    def _call(self, op: str, **message: Any) -> None:
        self._link.call(op, run_id=self._link.run_id, **message)


class RunHeuristics:
    """The threads of one run on one worker.

    Parameters
    ----------
    channel
        The way to the run; in its methods, which block, one of ``GONE`` may be raised.
    name
        What the worker is called: its seeds differ from those of others.

    Attributes
    ----------
    explorers
        Threads that a CPU seat explores with; None: all of its own.
    """

    def __init__(
        self, channel: Channel, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.explorers: int | None = None
        self._channel = channel
        self._clock = clock
        self._began = clock()
        self._threads = 0
        self._stop = threading.Event()  # of all threads that there are
        self._changed = threading.Condition()  # guards what follows
        self._best: Incumbent | None = None
        self._failed: set[str] = set()  # methods
        self._proved = -math.inf  # nothing is below, as a search has found
        self._turn = 0
        self._seeds = random.Random(name)  # noqa: S311 - no secret

    def resize(self, threads: int) -> None:
        """Search with so many threads from now on; returns at once."""
        if threads == self._threads:
            return
        self._threads = threads
        self._stop.set()
        stop = self._stop = threading.Event()
        alone = max(threads // ALONE, int(threads > 1))
        team = [(threads - alone, True, not alone)] * (threads > 0)
        for task in [*team, *[(1, False, True)] * alone]:
            threading.Thread(
                target=self._run,
                args=(stop, *task),
                name="dpbb-heuristics",
                daemon=True,
            ).start()
        with self._changed:
            self._changed.notify_all()

    def know(self, incumbent: Incumbent) -> None:
        """Take the run's incumbent: what is not better is not offered any more."""
        with self._changed:
            if self._best is None or incumbent.value < self._best.value:
                self._best = incumbent
                self._changed.notify_all()

    # -- in the threads ----------------------------------------------------------------

    def _run(
        self, stop: threading.Event, threads: int, auto: bool, others: bool
    ) -> None:
        """Search until told to stop, by ``auto``, by the other methods, or by both."""
        with contextlib.suppress(OSError):  # Linux has it of a thread
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        try:
            spec = self._channel.spec()
            problem = spec.problem
            if isinstance(problem, ImprovesSchedules):
                bound = proving_bound(problem)
                methods = [AUTO] * auto + list(problem.improving_methods) * others
                while self._search_once(stop, threads, spec, methods, bound):
                    pass
        except GONE as error:
            logger.debug("heuristics end: %s", error)

    def _search_once(
        self,
        stop: threading.Event,
        threads: int,
        spec: RunSpec,
        methods: list[str],
        bound: int,
    ) -> bool:
        """Search from the best schedule; False: the thread is to end."""
        with self._changed:
            while self._best is None and not stop.is_set():
                self._changed.wait()
            best, now = self._best, self._clock()
            methods = [method for method in methods if method not in self._failed]
            if best is None or stop.is_set() or not methods:
                return False
            if best.value <= max(bound, self._proved):
                return False
            method = methods[self._turn % len(methods)]
            self._turn += len(methods) > 1
            seed = self._seeds.getrandbits(32)
        share = min(
            max(SEARCH_SHARE * (now - self._began), LEAST_SEARCH_S), MOST_SEARCH_S
        )
        search = StartSearch(
            method,
            time_limit_s=share,
            lower_bound=bound,
            threads=threads,
            seed=seed,
            on_improvement=self._found,
            should_stop=stop.is_set,
        )
        try:
            problem: Any = spec.problem
            found = problem.improve(best, search)
        except GONE:
            raise
        except Exception as error:
            logger.exception("heuristic %s fails", method)
            with self._changed:
                is_news = method not in self._failed
                self._failed.add(method)
            if is_news:
                why = f"{type(error).__name__}: {error}"
                self._channel.note(f"heuristic {method} is left out, it fails: {why}")
            return True
        if found.proved:  # nothing is left to search for; the proof is the tree's
            self._proved = found.value
        if found.value >= best.value:
            stop.wait(REST_S)
        return True

    def _found(self, incumbent: Incumbent) -> None:
        """Offer a schedule if it is better than what the run has."""
        with self._changed:
            if self._best is not None and incumbent.value >= self._best.value:
                return
            self._best = incumbent
            self._changed.notify_all()
        self._channel.offer(incumbent)
