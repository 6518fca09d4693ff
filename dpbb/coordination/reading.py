"""The read side of a run: events, rate, limits, lower bound, snapshot, outcome.

``RunRecord`` holds what the coordinator changes; all else here reads it, and decides
nothing.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpbb.coordination.checkpoint import Checkpoint, SavedUnit
from dpbb.coordination.outcome import Outcome
from dpbb.coordination.snapshot import RunState, SeatSnapshot, Snapshot
from dpbb.result import Termination
from dpbb.tree.counters import Counters
from dpbb.tree.factoradic import n_leaves

if TYPE_CHECKING:
    from dpbb.coordination.dispatch import Dispatcher
    from dpbb.coordination.events import EventLog
    from dpbb.coordination.incumbent import Incumbent
    from dpbb.coordination.messages import RunSpec, SeatId
    from dpbb.coordination.records import LeaseRecord, SeatRecord

WINDOW_S = 5.0
"""Nodes a second are an average over about this long."""

MANY_SEATS = 256
"""With more seats, snapshots may show them as they were a moment ago."""

SEATS_AGE_S = 2.0

_STEP_S = 0.25  # between two samples


class RateMeter:
    """Nodes a second over the last few seconds."""

    def __init__(self, now: float, nodes: int = 0) -> None:
        self._samples: deque[tuple[float, int]] = deque([(now, nodes)])

    def note(self, now: float, nodes: int) -> None:
        """Take a sample, if the last one is not too young."""
        if now - self._samples[-1][0] < _STEP_S:
            return
        self._samples.append((now, nodes))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW_S:
            self._samples.popleft()

    def rate(self, now: float, nodes: int) -> float:
        """Nodes a second until now; 0 if nodes were lost with a lease."""
        then, before = self._samples[0]
        return max(0.0, (nodes - before) / (now - then)) if now > then else 0.0


@dataclass(slots=True, eq=False)
class RunRecord:
    """A run: its parts, and where it is in its life.

    ``opened`` is when it would have been opened had it never been interrupted;
    ``started`` when it was opened, or resumed for the last time.
    """

    spec: RunSpec
    opened: float
    started: float
    incumbent: Incumbent
    work: Dispatcher
    events: EventLog
    meter: RateMeter
    state: RunState = RunState.RUNNING
    termination: Termination | None = None
    ended: float | None = None
    error: str | None = None
    donations: int = 0
    abandoned_decomposed: int = 0  # of leases given up at a stop, beyond the ledger
    abandoned_leaves: int = 0

    @property
    def lower_bound(self) -> int:
        """See ``RunReading.lower_bound``."""
        units = self.work.book.units.values()
        best = self.incumbent.optimum_if_exhausted
        return min([best, *(unit.least_lb for unit in units)])

    @property
    def gap(self) -> float | None:
        """(value - lower_bound) / value; None without an incumbent."""
        value = self.incumbent.value
        if value is None:
            return None
        return (value - self.lower_bound) / max(value, 1)  # all times may be zero

    @property
    def decomposed(self) -> int:
        """Decomposed nodes, light reports included."""
        book = self.work.book
        ahead = book.ahead_decomposed + self.abandoned_decomposed
        return max(0, book.counters.decomposed + ahead)

    @property
    def leaves(self) -> int:
        """Leaves, light reports included."""
        book = self.work.book
        return book.counters.leaves + book.ahead_leaves + self.abandoned_leaves

    def abandon(self, lease: LeaseRecord) -> None:
        """End a lease without a list of what remains; its nodes were explored."""
        self.abandoned_decomposed += lease.decomposed_since_full
        self.abandoned_leaves += lease.leaves_since_full
        self.work.book.count_nodes(lease, lease.nodes_since_full)
        self.work.requeue(lease.unit)

    @property
    def explored(self) -> Counters:
        """The ledger's counters and the nodes of leases that were given up."""
        ledger = self.work.book.counters
        return Counters(
            ledger.decomposed + self.abandoned_decomposed,
            ledger.leaves + self.abandoned_leaves,
            ledger.closed,
        )


def reached_limit(run: RunRecord, now: float) -> Termination | None:
    """Return the limit that ends the run now, if one does."""
    spec = run.spec
    if spec.time_limit_s is not None and now - run.started >= spec.time_limit_s:
        return Termination.TIME_LIMIT
    if spec.node_limit is not None and run.decomposed >= spec.node_limit:
        return Termination.NODE_LIMIT
    if spec.gap_limit is not None:
        gap = run.gap
        # at 0 nothing is left but to prune the open roots: let them be exhausted
        if gap is not None and 0 < gap <= spec.gap_limit:
            return Termination.GAP_LIMIT
    return None


def seat_snapshot(record: SeatRecord) -> SeatSnapshot:
    """Return one seat and what it does."""
    seat, unit = record.seat, record.unit
    lease = None if unit is None else unit.lease
    return SeatSnapshot(
        seat=seat.id,
        worker=seat.worker,
        device=seat.device.name or seat.device.kind,
        engine=seat.engine,
        busy=unit is not None,
        unit=None if unit is None else unit.id,
        decomposed=0 if lease is None else max(0, lease.shown_decomposed),
        nodes_per_second=0.0 if lease is None else lease.rate,
        open_roots=0 if lease is None else lease.open_roots,
        silent=record.silent is not None,
        donations=record.donations,
        donated_roots=record.donated_roots,
    )


def _share(part: int, whole: int) -> float:
    """Return part / whole; 0 and 1 only where it is that, not by rounding."""
    if part in (0, whole):
        return float(part > 0)
    return min(max(part / whole, sys.float_info.min), 1 - sys.float_info.epsilon)


class RunReading:
    """What can be read of a run at any time; nothing here changes it."""

    def __init__(self, run: RunRecord) -> None:
        self._run = run
        self._seats: tuple[SeatSnapshot, ...] = ()
        self._seats_from = -math.inf  # when they were taken

    @property
    def spec(self) -> RunSpec:
        """What the run is."""
        return self._run.spec

    @property
    def state(self) -> RunState:
        """Where the run is in its life."""
        return self._run.state

    @property
    def finished(self) -> bool:
        """Whether the run is over, in whatever way; then it has an ``outcome``."""
        return self._run.ended is not None

    @property
    def error(self) -> str | None:
        """Why the run failed; None if it did not."""
        return self._run.error

    @property
    def ub(self) -> int:
        """Pruning threshold: prune LB >= ub."""
        return self._run.incumbent.ub

    @property
    def value(self) -> int | None:
        """The incumbent's cost; None when there is no permutation."""
        return self._run.incumbent.value

    @property
    def permutation(self) -> tuple[int, ...] | None:
        """The incumbent."""
        return self._run.incumbent.permutation

    @property
    def lower_bound(self) -> int:
        """A value that no permutation costs less than.

        The least LB of the open roots as of the last full reports; roots that no
        engine has bounded stand with the bound of the tree's root. Never above the
        incumbent's value or the cutoff, and the smaller of them when nothing is
        open. Depth-first search leaves roots near the top open for long, so this
        rises late and in leaps.
        """
        return self._run.lower_bound

    @property
    def counters(self) -> Counters:
        """The ledger: what the full reports so far count for."""
        return self._run.work.book.counters

    @property
    def open_units(self) -> int:
        """Units that are not finished, wherever they are."""
        return len(self._run.work.book.units)

    def seconds(self, now: float) -> float:
        """How long the run has taken, resumed parts together."""
        until = now if self._run.ended is None else self._run.ended
        return until - self._run.opened

    def idle_seats(self) -> list[SeatId]:
        """Seats that could be given a unit, the fastest first; none at the end."""
        running = self._run.state is RunState.RUNNING
        return self._run.work.balance.idle_seats() if running else []

    def is_idle(self, seat_id: SeatId) -> bool:
        """Whether a seat could be given a unit."""
        running = self._run.state is RunState.RUNNING
        return running and seat_id in self._run.work.balance.idle

    def wanted_seats(self) -> int:
        """How many more seats this run can feed now: two open roots each."""
        if self._run.state is not RunState.RUNNING:
            return 0
        n_jobs = self.spec.problem.n_jobs
        open_roots = 0
        for unit in self._run.work.book.units.values():
            unseen = n_jobs if unit.fresh else 1
            open_roots += unit.open_roots * unseen
        return max(0, -(-open_roots // 2) - len(self._run.work.seats))

    def snapshot(self, now: float) -> Snapshot:
        """Return the run as it is now, for people and programs."""
        run, book, incumbent = self._run, self._run.work.book, self._run.incumbent
        until = now if run.ended is None else run.ended
        decomposed, leaves = run.decomposed, run.leaves
        return Snapshot(
            run_id=run.spec.run_id,
            instance=run.spec.instance,
            state=run.state,
            seconds=until - run.opened,
            value=incumbent.value,
            permutation=incumbent.permutation,
            ub=incumbent.ub,
            lower_bound=run.lower_bound,
            gap=run.gap,
            decomposed=decomposed,
            leaves=leaves,
            nodes_per_second=run.meter.rate(until, decomposed + leaves),
            explored=_share(book.closed_leaves, n_leaves(run.spec.problem.n_jobs)),
            waiting=len(book.waiting),
            leased=len(book.units) - len(book.waiting),
            open_roots=sum(unit.open_roots for unit in book.units.values()),
            donations=run.donations,
            requeues=run.work.requeues,
            seats=self._seat_snapshots(now),
            trajectory=tuple(incumbent.trajectory),
            spans=book.span_map.spans(),
            events=run.events.latest(),
            termination=None if run.termination is None else run.termination.value,
            error=run.error,
            made=book.made,
            closed=tuple(book.counters.closed.tolist()),
            seats_lost=run.work.seats_lost,
            engine_nodes=tuple(book.engine_nodes.items()),
        )

    def checkpoint(self, now: float) -> Checkpoint:
        """Return the state that the run can go on from; copies references only."""
        run, book, incumbent = self._run, self._run.work.book, self._run.incumbent
        until = now if run.ended is None else run.ended
        leases = list(book.leases.values())
        used = [book.energy_j, *(lease.energy_j for lease in leases)]
        energy = [joules for joules in used if joules is not None]
        journal = book.journal
        if journal is not None:
            journal = journal.copy(leases, incumbent.ub)
        optima = incumbent.optima()
        nothing = np.zeros((0, run.spec.problem.n_jobs), np.uint16)
        return Checkpoint(
            spec=run.spec,
            cutoff=incumbent.cutoff,
            value=incumbent.value,
            permutation=incumbent.permutation,
            trajectory=tuple(incumbent.trajectory),
            optima=nothing if optima is None else optima.permutations,
            n_optima=incumbent.n_optima,
            first_optimum=0 if optima is None else optima.first,
            counters=book.counters,
            units=tuple(SavedUnit.of(unit) for unit in book.units.values()),
            seconds=until - run.opened,
            explore_s=book.explore_s + sum(lease.explore_s for lease in leases),
            energy_j=sum(energy) if energy else None,
            donations=run.donations,
            requeues=run.work.requeues,
            made=book.made,
            seats=dict(run.work.used_seats),
            error=run.error,
            journal=journal,
        )

    def _seat_snapshots(self, now: float) -> tuple[SeatSnapshot, ...]:
        """Return all seats; those of a large run may be ``SEATS_AGE_S`` old.

        At 4,096 seats making them takes 20 ms of the scheduler's event loop.
        """
        run = self._run
        records = run.work.seats.values()
        old = len(records) <= MANY_SEATS or len(records) != len(self._seats)
        if old or run.ended is not None or now - self._seats_from >= SEATS_AGE_S:
            self._seats = tuple(seat_snapshot(record) for record in records)
            self._seats_from = now
        return self._seats

    def outcome(self, now: float) -> Outcome:
        """Return what the run came to; raises ValueError while it goes on."""
        run, book, incumbent = self._run, self._run.work.book, self._run.incumbent
        if run.ended is None or run.termination is None:
            raise ValueError(f"expected run {run.spec.run_id} to be over, it goes on")
        return Outcome(
            termination=run.termination,
            exhausted=run.error is None and not book.units,
            value=incumbent.value,
            permutation=incumbent.permutation,
            ub=incumbent.ub,
            lower_bound=run.lower_bound,
            counters=run.explored,
            trajectory=tuple(incumbent.trajectory),
            seconds=run.ended - run.opened,
            explore_s=book.explore_s,
            energy_j=book.energy_j,
            donations=run.donations,
            requeues=run.work.requeues,
            units=book.made,
            seats=tuple(run.work.used_seats),
            engines=tuple(dict.fromkeys(run.work.used_seats.values())),
            optima=incumbent.optima() if run.spec.all_optima else None,
            n_optima=incumbent.n_optima,
            error=run.error,
            journal=book.journal,
        )
