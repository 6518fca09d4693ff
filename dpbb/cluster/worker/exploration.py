"""A seat's work on one lease: slices, reports, orders.

Knows an engine's session and a ``Link`` to the coordinator, nothing of Dask, so that
tests drive it without a cluster.
"""

import math
import random
import time
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Protocol

import numpy as np

from dpbb.coordination.messages import (
    FullReport,
    Lease,
    LeaseId,
    Order,
    OrderKind,
    Report,
    RunSpec,
)
from dpbb.engines.base import Candidate, Session, Slice
from dpbb.tree.counters import Counters
from dpbb.tree.work_unit import WorkUnit

FIRST_REPORT_S = 0.2
"""The first light report comes soon: it says how much there is to donate."""

FULL_REPORT_SHARE = 0.05
"""Full reports that nobody asked for take at most about this share of a seat's time."""

FEW_ROOTS = 100_000
"""A seat with more open roots works for a moment to have fewer before it lists them."""

SHRINKING_SHARE = 0.05
"""Of the checkpoint interval: as long as that moment lasts, but for its limit."""

MOST_SHRINKING_S = 1.0
"""Its limit."""

FIRST_SLICE_S = 0.001
"""With a node limit a lease begins with such a slice; each is twice the one before."""

ROOT_S = 5e-6
"""Seconds of a full report for each open root, until a large one has been timed."""

TIMED_ROOTS = 10_000
"""A full report of fewer roots says nothing of the cost of a root."""

MAX_OPTIMA = 4096
"""So many optimal permutations make a full report due: bounds memory and message."""


class SeatStatus(StrEnum):
    """Whether the process that holds the seat is there to stay."""

    OPEN = "open"
    LEAVING = "leaving"  # there is time for a last report
    CLOSED = "closed"  # nothing can be sent any more


class SeatClosedError(Exception):
    """The seat's process is closing: nobody is there to report to."""


def _nothing() -> None:
    """Wake nobody."""


class SeatControl:
    """Hints to a seat, written by the event loop, read between slices.

    ``wake``: ends the slice under way; to be called from any thread.
    """

    __slots__ = ("full_now", "gift", "report_now", "ub", "wake")

    def __init__(self) -> None:
        self.wake: Callable[[], None] = _nothing
        self.report_now = False
        self.full_now = False
        self.ub: int | None = None
        self.gift: tuple[LeaseId, int] | None = None

    def hint(
        self,
        *,
        ub: int | None = None,
        report: bool = False,
        full: bool = False,
        lease: LeaseId | None = None,
        max_roots: int = 0,
        **_: object,
    ) -> None:
        """Take a hint; a worse UB than the last changes nothing.

        ``lease``, ``max_roots``: give so many roots, if that is still the lease.
        """
        if lease is not None:
            self.gift = lease, max_roots
        if ub is not None and (self.ub is None or ub < self.ub):
            self.ub = ub
        if report:
            self.report_now = True
        if full:
            self.full_now = True
        self.wake()


class Link(Protocol):
    """What an exploration needs of the world."""

    control: SeatControl

    def status(self) -> SeatStatus:
        """Whether the seat's process stays."""

    def report(self, report: Report) -> Order:
        """Deliver a report and return its answer.

        Blocks until *this* report is answered, however often it has to be sent;
        raises SeatClosedError when it never will be.
        """


def jittered(seconds: float) -> float:
    """Return the interval changed by up to half: reports of seats must not bunch up."""
    return seconds * random.uniform(0.5, 1.5)  # noqa: S311 - no secret


class Exploration:
    """One lease on one session.

    Parameters
    ----------
    spec, lease
        The run and the right to explore one of its units.
    session
        An empty session of the run.
    energy
        Joules of the device so far; None if it does not say.
    explorers
        CPU threads that the seat is to explore with; None: all of its own, always.
    """

    def __init__(
        self,
        spec: RunSpec,
        lease: Lease,
        session: Session,
        link: Link,
        clock: Callable[[], float] = time.monotonic,
        energy: Callable[[], float | None] = lambda: None,
        explorers: Callable[[], int | None] | None = None,
    ) -> None:
        self._spec = spec
        self._lease = lease
        self._session = session
        self._link = link
        self._clock = clock
        self._ub = lease.ub
        self._counters = Counters.zero(spec.problem.n_jobs)
        self._last: Slice  # from the first one on
        self._seq = 0
        self._explore_s = 0.0
        self._explorers = explorers
        self._energy = energy
        self._energy_at_start = energy()
        self._best: Candidate | None = None  # not yet acknowledged
        self._best_value: int | None = None
        self._optima: list[Candidate] = []
        self._root_s = ROOT_S
        self._report_s = spec.options.report_interval_s
        self._full_s = spec.options.checkpoint_interval_s
        self._full_share = jittered(1.0)
        self._full_since = clock()
        self._slice_s = spec.tuning.slice_s
        # Decomposed nodes after which the lease alone has reached the run's limit
        self._node_limit = spec.options.node_limit
        # When the run's time is over at the latest: a slice ends then
        self._until = math.inf
        if spec.time_limit_s is not None:
            self._until = clock() + spec.time_limit_s
        self._most_s = FIRST_SLICE_S

    def run(self) -> bool:
        """Explore until the unit is finished, taken away, or the seat closes.

        Returns whether the session is empty, so that it can take another unit.
        """
        self._link.control.wake = self._session.interrupt
        try:
            return self._run()
        finally:
            self._link.control.wake = _nothing

    def _run(self) -> bool:
        self._session.load(self._lease.roots)
        spec, now = self._spec, self._clock()
        light_at = now + jittered(min(FIRST_REPORT_S, spec.options.report_interval_s))
        while True:
            status = self._link.status()
            if status is SeatStatus.CLOSED:
                return False
            if self._explorers is not None:
                self._session.use_threads(self._explorers())
            self._advance()
            try:
                if self._last.exhausted or status is SeatStatus.LEAVING:
                    self._report_full(last=True)
                    return self._last.exhausted
                now = self._clock()
                most = self._gift_wanted()
                if most is not None:
                    order = self._donate(most)
                elif (
                    self._link.control.full_now
                    or self._full_due(now)
                    or len(self._optima) >= MAX_OPTIMA
                ):
                    order = self._save()
                elif (
                    self._link.control.report_now
                    or self._best is not None
                    or now >= light_at
                    or self._reached_limit(now)
                ):
                    order = self._report()
                else:
                    continue
                if not self._obey(order):
                    return self._last.exhausted
            except SeatClosedError:
                return False
            light_at = self._clock() + jittered(self._report_s)

    def _full_due(self, now: float) -> bool:
        """Whether a periodic full report is due and not too dear (see the share)."""
        rest = self._last.open_roots * self._root_s / FULL_REPORT_SHARE
        interval = self._full_share * self._full_s
        return now >= self._full_since + max(interval, rest)

    def _reached_limit(self, now: float) -> bool:
        """Whether a limit of nodes or of time has to be told of; once."""
        limit = self._node_limit
        nodes = limit is not None and self._counters.decomposed >= limit
        late = now >= self._until
        if nodes:
            self._node_limit = None
        if late:
            self._until = math.inf
        return nodes or late

    def _gift_wanted(self) -> int | None:
        """How many roots a hint asks this lease for; cleared by looking."""
        gift = self._link.control.gift
        if gift is None:  # nothing to clear: a hint may come at this moment
            return None
        self._link.control.gift = None
        lease, max_roots = gift
        return max_roots if lease == self._lease.id else None

    def _advance(self, most_roots: int | None = None) -> None:
        """Explore one slice, perhaps so that few roots are left open."""
        hinted = self._link.control.ub
        if hinted is not None and hinted < self._ub:
            self._ub = hinted
        begin = self._clock()
        slice_s = self._session.slice_s if self._slice_s is None else self._slice_s
        slice_s = min(slice_s, max(FIRST_SLICE_S, self._until - begin))
        if self._node_limit is not None:
            slice_s = min(slice_s, self._most_s)
            self._most_s *= 2
        if most_roots is None:
            part = self._session.advance(self._ub, slice_s)
        else:
            interval_s = self._spec.options.checkpoint_interval_s
            shrinking_s = min(SHRINKING_SHARE * interval_s, MOST_SHRINKING_S)
            part = self._session.advance(self._ub, shrinking_s, most_roots)
        self._explore_s += self._clock() - begin
        self._counters = self._counters.plus(part.decomposed, part.leaves, part.closed)
        self._last = part
        self._note(part)

    def _note(self, part: Slice) -> None:
        """Keep what the slice found until it has been reported."""
        best = part.best
        if best is not None and (
            self._best_value is None or best.value < self._best_value
        ):
            self._best, self._best_value = best, best.value
            # with all optima the incumbent's equals stay in the tree
            self._ub = min(self._ub, best.value + self._spec.options.all_optima)
        if part.optima:
            found = [*self._optima, *part.optima]
            least = min(leaf.value for leaf in found)
            self._optima = [leaf for leaf in found if leaf.value == least]

    def _obey(self, order: Order) -> bool:
        """Do what the answers say until one says to go on; False: the lease is over."""
        while True:
            self._ub = min(self._ub, order.ub)
            self._report_s = order.report_s or self._spec.options.report_interval_s
            self._full_s = order.full_s or self._spec.options.checkpoint_interval_s
            match order.kind:
                case OrderKind.CONTINUE:
                    return True
                case OrderKind.DONATE:
                    order = self._donate(order.max_roots)
                case OrderKind.SAVE:
                    order = self._save()
                case OrderKind.STOP:
                    self._save(last=True)
                    return False
                case OrderKind.DRAIN:
                    self._report_full(last=True)
                    return False
                case OrderKind.DROP:
                    return False

    def _used_energy(self) -> float | None:
        now = self._energy()
        if now is None or self._energy_at_start is None:
            return None
        return max(0.0, now - self._energy_at_start)

    def _donate(self, max_roots: int) -> Order:
        self._link.control.gift = None  # one answer to both order and hint
        gift = self._session.donate(max_roots)
        order = self._report(gift=gift)
        left = self._last.open_roots - len(gift)  # until a slice counts them again
        self._last = replace(self._last, open_roots=left)
        return order

    def _save(self, *, last: bool = False) -> Order:
        """Report in full what is to be kept for long: of few roots, if that is soon."""
        self._link.control.full_now = False  # one answer to both order and hint
        if self._last.open_roots > FEW_ROOTS:
            self._advance(FEW_ROOTS)
        return self._report_full(last=last or self._last.exhausted)

    def _report_full(self, *, last: bool = False) -> Order:
        optima, self._optima = tuple(self._optima), []
        begin = self._clock()
        remaining = self._session.remaining()
        age_s = self._clock() - begin
        order = self._report(
            FullReport(
                closed=np.array(self._counters.closed, np.int64),
                remaining=remaining,
                last=last,
                optima=optima,
            ),
            age_s=age_s,
        )
        self._full_since = self._clock()
        self._full_share = jittered(1.0)
        if len(remaining) >= TIMED_ROOTS:
            self._root_s = (self._full_since - begin) / len(remaining)
        return order

    def _report(
        self,
        full: FullReport | None = None,
        gift: WorkUnit | None = None,
        age_s: float = 0.0,
    ) -> Order:
        self._link.control.report_now = False  # it is answered by any report
        self._seq += 1
        report = Report(
            lease=self._lease.id,
            seq=self._seq,
            decomposed=self._counters.decomposed,
            leaves=self._counters.leaves,
            open_roots=self._last.open_roots,
            least_lb=self._last.least_lb,
            best=self._best,
            explore_s=self._explore_s,
            energy_j=self._used_energy(),
            full=full,
            gift=gift,
            age_s=age_s,
        )
        order = self._link.report(report)
        self._best = None
        return order
