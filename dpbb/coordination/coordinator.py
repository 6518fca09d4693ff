"""The coordinator of one run: who explores what, what is known, when it is over.

A pure state machine: no clock (``now`` is in seconds of any monotonic clock), Dask,
I/O or thread in it. The shell calls it from one thread and acts on what it returns:
after every event it calls ``nudges``, and ``assign`` for each of ``idle_seats``. Only
``check_full_report`` is meant to run elsewhere.

One report is handled so::

    order = coordinator.admit(report.lease, report.seq)
    checked = None
    if order is None and report.full is not None:
        basis = coordinator.basis(report.lease)
        checked = check_full_report(basis, report)  # in a thread
    order = coordinator.on_report(report, checked, now)  # in every case

``on_report`` wants the stale and the repeated reports too: a permutation that comes
late is still a permutation. Whoever gets an ``InvariantError`` from the decoding or the
check of a report calls ``fail``; those raised by the coordinator's own methods have
stopped the run already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.coordination.balance import Balance
from dpbb.coordination.incumbent import Incumbent, evaluate_candidate
from dpbb.coordination.messages import (
    Assignment,
    Lease,
    LeaseId,
    Order,
    OrderKind,
    SeatId,
    UnitId,
)
from dpbb.coordination.outcome import Outcome
from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.coordination.units import LeaseRecord, Place, SeatRecord, Unit, UnitBook
from dpbb.coordination.view import EventLog, RateMeter, relative_gap, seat_snapshot
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError, OptionError, StaleLeaseError
from dpbb.permutations import check_permutation
from dpbb.result import Termination
from dpbb.tree.factoradic import n_leaves
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpbb.coordination.incumbent import Optima
    from dpbb.coordination.ledger import Checked, LeaseBasis
    from dpbb.coordination.messages import Report, RunSpec, Seat
    from dpbb.problem import Problem
    from dpbb.tree.counters import Counters

STOP_GRACE_S = 10.0
"""A seat that is silent for so long after a stop has lost its lease."""

MAX_LOSSES = 100
"""So many leases of one unit in a row without a full report, and the run fails."""


class Coordinator:
    """One run; see the module for how to drive it.

    Parameters
    ----------
    spec
        What to solve, and how.
    now
        The time at which the run is opened.

    Raises
    ------
    OptionError
        ``spec.permutation`` is no permutation of the problem's jobs.
    """

    def __init__(self, spec: RunSpec, *, now: float) -> None:
        self.spec = spec
        self.state = RunState.RUNNING
        self.error: str | None = None
        self.donations = 0
        self.requeues = 0
        self._opened = now
        self._ended: float | None = None
        self._termination: Termination | None = None
        self._stop_asked = 0.0
        self._explore_s = 0.0
        self._seats: dict[SeatId, SeatRecord] = {}
        self._used_seats: dict[SeatId, None] = {}  # ordered set
        self._silent: dict[LeaseId, SeatRecord] = {}
        self._nudges: dict[SeatId, None] = {}
        self._saves: dict[int, set[LeaseId]] = {}
        self._last_save = 0
        self._events = EventLog()
        self._meter = RateMeter(now)
        self._incumbent = _first_incumbent(spec)
        self._book = UnitBook(spec)
        self._balance = Balance(self._book)
        self._book.make(
            WorkUnit.whole(spec.problem.n_jobs), root_bound(spec.problem), fresh=True
        )

    # -- reading ----------------------------------------------------------------

    @property
    def ub(self) -> int:
        """Pruning threshold: prune LB >= ub."""
        return self._incumbent.ub

    @property
    def value(self) -> int | None:
        """The incumbent's cost; None when there is no permutation."""
        return self._incumbent.value

    @property
    def permutation(self) -> tuple[int, ...] | None:
        """The incumbent."""
        return self._incumbent.permutation

    @property
    def counters(self) -> Counters:
        """The ledger: what the full reports so far count for."""
        return self._book.counters

    @property
    def finished(self) -> bool:
        """Whether the run is over, in whatever way; then ``outcome`` can be called."""
        return self.state in (RunState.FINISHED, RunState.FAILED)

    @property
    def lower_bound(self) -> int:
        """A value that no permutation costs less than.

        The least LB of the open roots, as of the last full report of their lease;
        roots that no engine has bounded yet stand with that of the root of the tree.
        Never above the incumbent's value or the cutoff, and equal to the smaller of
        them when nothing is open. Depth-first search keeps roots near the top open
        for long, so this rises late and in leaps.
        """
        best = self._incumbent.optimum_if_exhausted
        return min([best, *(unit.least_lb for unit in self._book.units.values())])

    def idle_seats(self) -> list[SeatId]:
        """Seats that could be given a unit."""
        return list(self._balance.idle)

    def wanted_seats(self) -> int:
        """How many more seats this run can feed now: two open roots each."""
        if self.state is not RunState.RUNNING:
            return 0
        n_jobs = self.spec.problem.n_jobs
        open_roots = 0
        for unit in self._book.units.values():
            known = len(unit.roots) * (n_jobs if unit.fresh else 1)
            open_roots += known if unit.lease is None else unit.lease.open_roots
        return max(0, -(-open_roots // 2) - len(self._seats))

    def snapshot(self, now: float) -> Snapshot:
        """Return the run as it is now, for people and programs; changes nothing."""
        book, incumbent = self._book, self._incumbent
        until = now if self._ended is None else self._ended
        decomposed, leaves = self._shown()
        lower_bound = self.lower_bound
        leased = len(book.units) - len(book.waiting)
        return Snapshot(
            run_id=self.spec.run_id,
            instance=self.spec.instance,
            state=self.state,
            seconds=until - self._opened,
            value=incumbent.value,
            permutation=incumbent.permutation,
            ub=incumbent.ub,
            lower_bound=lower_bound,
            gap=relative_gap(incumbent.value, lower_bound),
            decomposed=decomposed,
            leaves=leaves,
            nodes_per_second=self._meter.rate(until, decomposed + leaves),
            explored=book.closed_leaves / n_leaves(self.spec.problem.n_jobs),
            waiting=len(book.waiting),
            leased=leased,
            open_roots=sum(
                len(unit.roots) if unit.lease is None else unit.lease.open_roots
                for unit in book.units.values()
            ),
            donations=self.donations,
            requeues=self.requeues,
            seats=tuple(seat_snapshot(record) for record in self._seats.values()),
            trajectory=tuple(incumbent.trajectory),
            spans=book.span_map.spans(),
            events=self._events.latest(),
            termination=None if self._termination is None else str(self._termination),
            error=self.error,
        )

    def outcome(self, now: float) -> Outcome:
        """Return what the run came to.

        Raises
        ------
        ValueError
            The run is not over.
        """
        if self._ended is None or self._termination is None:
            raise ValueError(f"expected a finished run, run {self.spec.run_id} goes on")
        incumbent, book = self._incumbent, self._book
        return Outcome(
            termination=self._termination,
            exhausted=not book.units,
            value=incumbent.value,
            permutation=incumbent.permutation,
            ub=incumbent.ub,
            lower_bound=self.lower_bound,
            counters=book.counters,
            trajectory=tuple(incumbent.trajectory),
            seconds=self._ended - self._opened,
            explore_s=self._explore_s,
            donations=self.donations,
            requeues=self.requeues,
            units=book.made,
            seats=tuple(self._used_seats),
            optima=self.take_optima(),
            n_optima=incumbent.n_optima,
            error=self.error,
        )

    def take_optima(self) -> Optima | None:
        """With all optima: hand over, and forget, what was found since the last call.

        For a shell that writes them away: the run itself holds a bounded number
        (``incumbent.MAX_OPTIMA_BYTES``), and only counts those beyond.
        """
        return self._incumbent.take_optima() if self.spec.all_optima else None

    # -- seats ------------------------------------------------------------------

    def add_seat(self, seat: Seat, now: float) -> None:
        """Let the run use a seat; a seat that is there already drains no more."""
        record = self._seats.get(seat.id)
        if record is None or record.seat != seat:
            self.remove_seat(seat.id, now)
            record = self._seats[seat.id] = SeatRecord(seat)
            self._event(now, "seat", f"{seat.id} joined")
        record.draining = False
        if not self.finished:
            self._balance.seat_changed(record)

    def remove_seat(self, seat_id: SeatId, now: float) -> None:
        """Forget a seat; its unit waits again, as of its last full report."""
        record = self._seats.pop(seat_id, None)
        if record is None:
            return
        self._event(now, "seat-lost", f"{seat_id} left")
        record.draining = True
        if record.silent is not None:
            self._silent.pop(record.silent)
        if record.unit is not None:
            self._lose(record.unit, now, f"seat {seat_id} left")
        self._balance.seat_changed(record)
        self._nudges.pop(seat_id, None)
        self._go_on(now)

    def drain_seat(self, seat_id: SeatId, now: float) -> None:
        """Have a seat give its unit back; it gets no other until it is added again."""
        record = self._seats.get(seat_id)
        if record is None or record.draining:
            return
        record.draining = True
        if record.unit is not None and record.unit.place is Place.ASSIGNED:
            self._requeue(record.unit)
        elif record.unit is not None and record.unit.lease is not None:
            self._balance.forget(record.unit.lease)
            self._nudges[seat_id] = None
        self._balance.seat_changed(record)
        self._go_on(now)

    # -- work -------------------------------------------------------------------

    def assign(self, seat_id: SeatId, now: float) -> Assignment | None:
        """Give an idle seat a unit; None when the seat is not idle or nothing waits.

        In the latter case a donation is asked for.
        """
        record = self._balance.idle.get(seat_id)
        if record is None or self.state is not RunState.RUNNING:
            return None
        self._balance.cut_for_idle()
        if not self._book.waiting:
            self._go_on(now)
            return None
        unit = next(iter(self._book.waiting.values()))
        self._book.assign(unit, record, now)
        self._balance.seat_changed(record)
        return Assignment(unit.id, unit.attempt, seat_id)

    def unassign(self, unit: UnitId, attempt: int, now: float) -> None:
        """Take note that the future of an attempt ended without giving the unit back.

        If the attempt is the current one, the unit waits again with a new attempt,
        as of its last full report.
        """
        self._hear(self._book.lease_id(unit, attempt))
        record = self._book.units.get(unit)
        if record is None or record.attempt != attempt or record.place is Place.WAITING:
            return
        self._lose(record, now, "its task ended")
        self._go_on(now)

    def lease(self, unit: UnitId, attempt: int, seat_id: SeatId, now: float) -> Lease:
        """Grant the unit to the attempt that it is assigned to.

        Until its first report an attempt may ask again: the answer may be lost.

        Raises
        ------
        StaleLeaseError
            The attempt is not the current one, or the run is stopping.
        """
        lease_id = self._book.lease_id(unit, attempt)
        self._hear(lease_id)
        record = self._book.units.get(unit)
        if (
            self.state is not RunState.RUNNING
            or record is None
            or record.attempt != attempt
            or record.seat is None
            or record.seat.id != seat_id
            or (record.lease is not None and record.lease.seq > 0)
        ):
            raise StaleLeaseError(
                f"attempt {attempt} of unit {unit} on seat {seat_id} is not current"
            )
        if record.lease is None:
            self._balance.granted(self._book.grant(record, now))
            self._used_seats[seat_id] = None
        return Lease(lease_id, unit, attempt, record.roots, self.ub)

    # -- reports ----------------------------------------------------------------

    def admit(self, lease_id: LeaseId, seq: int) -> Order | None:
        """Whether a report is new (None), else the answer that it will get."""
        lease = self._book.leases.get(lease_id)
        if lease is None:
            return Order(OrderKind.DROP, self.ub)
        return lease.answer if seq <= lease.seq else None

    def basis(self, lease_id: LeaseId) -> LeaseBasis:
        """Facts to check a lease's next full report against.

        Raises
        ------
        StaleLeaseError
            There is no such lease (any more).
        """
        lease = self._book.leases.get(lease_id)
        if lease is None:
            raise StaleLeaseError(f"lease {lease_id} is gone")
        return lease.basis

    def on_report(self, report: Report, checked: Checked | None, now: float) -> Order:
        """Take a report, the next, a repeated or a stale one; return its answer.

        Parameters
        ----------
        report
            The report.
        checked
            Of a full report that is new: what ``check_full_report`` made of it.
        now
            The time.

        Raises
        ------
        InvariantError
            The report cannot be true. The run has failed.
        ValueError
            A new full report came unchecked.
        """
        if self.finished:
            return Order(OrderKind.DROP, self.ub)
        try:
            if report.best is not None:
                self._improve(report.best, str(report.lease), now)
            lease = self._book.leases.get(report.lease)
            if lease is None:
                self._hear(report.lease)
                self._go_on(now)
                return Order(OrderKind.DROP, self.ub)
            if report.seq <= lease.seq and lease.answer is not None:
                return lease.answer
            self._take(lease, report, checked, now)
        except InvariantError as error:
            self.fail(str(error), now)
            raise
        self._go_on(now)
        lease.answer = self._order(lease)
        return lease.answer

    def _take(
        self, lease: LeaseRecord, report: Report, checked: Checked | None, now: float
    ) -> None:
        """Apply the next report of a lease."""
        if report.seq != lease.seq + 1:
            raise InvariantError(
                f"expected report {lease.seq + 1} of lease {lease.id}, got {report.seq}"
            )
        full = report.full
        if full is not None and checked is None:
            raise ValueError(f"full report {report.seq} of {lease.id} is not checked")
        for candidate in () if full is None else full.optima:
            # before the ledger moves: their leaves still lie below the lower bound
            self._improve(candidate, str(lease.id), now, evaluated=True)
        self._book.note(lease, report, checked, now)
        self._balance.reported(
            lease, now, donated=None if full is None else len(full.donated)
        )
        if full is None:
            return
        lease.asked_to_donate = lease.save = False
        self._saved(lease.id)
        self._incumbent.collect(full.optima)
        if len(full.donated):
            self.donations += 1
            for portion in self._balance.portions(full.donated):
                self._book.make(portion, lease.unit.least_lb, fresh=False)
        self._book.check_partition()
        if not len(full.remaining):
            self._end_lease(lease)
            self._book.finish(lease.unit)
        elif full.last:
            self._requeue(lease.unit)
        self._balance.seat_changed(lease.seat)

    def _order(self, lease: LeaseRecord) -> Order:
        """Return the answer to a lease's report."""
        if lease.id not in self._book.leases:
            kind = OrderKind.DROP
        elif self.state is RunState.STOPPING:
            kind = OrderKind.STOP
        elif lease.seat.draining:
            kind = OrderKind.DRAIN
        elif self._balance.shall_donate(lease):
            lease.asked_to_donate = True
            kind = OrderKind.DONATE
        elif lease.save:
            kind = OrderKind.SAVE
        else:
            kind = OrderKind.CONTINUE
        return Order(kind, self.ub)

    # -- steering ---------------------------------------------------------------

    def offer(self, permutation: Sequence[int], source: str, now: float) -> bool:
        """Take a permutation from outside; True if it is the new incumbent.

        Raises
        ------
        OptionError
            It is no permutation of the problem's jobs.
        """
        jobs = np.array(checked_jobs(self.spec.problem, permutation), np.intp)
        if self.finished:
            return False
        value = self.spec.problem.evaluate(jobs)
        try:
            return self._improve(Candidate(value, jobs), source, now, evaluated=True)
        except InvariantError as error:
            self.fail(str(error), now)
            raise

    def request_stop(self, termination: Termination, now: float) -> None:
        """End the run early, seats giving back what remains; the first reason holds."""
        if self.state is not RunState.RUNNING:
            return
        self.state = RunState.STOPPING
        self._termination = termination
        self._stop_asked = now
        self._event(now, "stop", f"stopping: {termination}")
        for unit in list(self._book.units.values()):
            if unit.place is Place.ASSIGNED:
                self._requeue(unit)
        for lease in self._book.leases.values():
            self._nudges[lease.seat.id] = None
        self._go_on(now)

    def request_save(self, now: float) -> int:
        """Ask all leased seats for a full report; return a token for ``save_done``."""
        self._last_save += 1
        self._saves[self._last_save] = set(self._book.leases)
        for lease in self._book.leases.values():
            lease.save = True
            self._nudges[lease.seat.id] = None
        return self._last_save

    def save_done(self, token: int) -> bool:
        """Whether every lease of that moment has reported in full, or is gone."""
        if not 1 <= token <= self._last_save:
            raise ValueError(f"expected a token of request_save, got {token}")
        if self._saves.get(token):
            return False
        self._saves.pop(token, None)
        return True

    def fail(self, error: str, now: float) -> None:
        """Stop at once with an error; all units keep their last full report's state."""
        if self.finished:
            return
        self.error = error
        self._event(now, "error", error)
        for lease in self._book.leases.values():
            self._nudges[lease.seat.id] = None
        for unit in list(self._book.units.values()):
            if unit.place is not Place.WAITING:
                self._requeue(unit)
        self._end(RunState.FAILED, Termination.STOPPED, now)

    def tick(self, now: float) -> None:
        """Look at the limits and for expired leases; call it about once a second."""
        if self.finished:
            return
        self._expire(now)
        if self.state is RunState.RUNNING:
            self._check_limits(now)
        self._go_on(now)

    def nudges(self) -> list[SeatId]:
        """Seats that should report at once; forgotten by this call."""
        seats = list(self._nudges)
        self._nudges.clear()
        return seats

    # -- inside -----------------------------------------------------------------

    def _go_on(self, now: float) -> None:
        """After every event: end if there is nothing more to do, else find work."""
        if self.finished:
            return
        self._meter.note(now, sum(self._shown()))
        if not self._book.units:
            try:
                self._book.check_complete()
            except InvariantError as error:
                self.fail(str(error), now)
                raise
            self._end(RunState.FINISHED, Termination.EXHAUSTED, now)
        elif self.state is RunState.STOPPING:
            if not self._book.leases and self._termination is not None:
                self._end(RunState.FINISHED, self._termination, now)
        else:
            for lease in self._balance.choose_donors(now):
                self._nudges[lease.seat.id] = None

    def _end(self, state: RunState, termination: Termination, now: float) -> None:
        self.state, self._termination, self._ended = state, termination, now
        self._balance.idle.clear()
        self._saves.clear()
        self._event(now, "end", f"{state}: {termination}")

    def _shown(self) -> tuple[int, int]:
        """Decomposed nodes and leaves, light reports included."""
        book = self._book
        return (
            book.counters.decomposed + book.ahead_decomposed,
            book.counters.leaves + book.ahead_leaves,
        )

    def _event(self, now: float, kind: str, text: str) -> None:
        self._events.add(now - self._opened, kind, text)

    def _improve(
        self, candidate: Candidate, source: str, now: float, *, evaluated: bool = False
    ) -> bool:
        """Take a candidate if it is better than the incumbent."""
        problem = self.spec.problem
        if not evaluated:
            evaluate_candidate(problem, candidate, source)
        bound = self.lower_bound
        if candidate.value < bound:
            raise InvariantError(
                f"{source}: a permutation of cost {candidate.value} lies below the "
                f"lower bound {bound}"
            )
        if not self._incumbent.improve(
            candidate.value, candidate.permutation, source, now - self._opened
        ):
            return False
        self._event(now, "incumbent", f"{candidate.value} by {source}")
        return True

    def _check_limits(self, now: float) -> None:
        spec = self.spec
        gap = None
        if spec.gap_limit is not None:
            gap = relative_gap(self.value, self.lower_bound)
        if spec.time_limit_s is not None and now - self._opened >= spec.time_limit_s:
            self.request_stop(Termination.TIME_LIMIT, now)
        elif spec.node_limit is not None and self._shown()[0] >= spec.node_limit:
            self.request_stop(Termination.NODE_LIMIT, now)
        elif (
            gap is not None and spec.gap_limit is not None and 0 < gap <= spec.gap_limit
        ):
            # at 0 nothing is left but to prune the open roots: let it be exhausted
            self.request_stop(Termination.GAP_LIMIT, now)

    def _expire(self, now: float) -> None:
        """Take back the units of seats that have been silent for too long."""
        timeout = self.spec.lease_timeout_s
        stopping = self.state is RunState.STOPPING
        for unit in list(self._book.units.values()):
            seat, lease = unit.seat, unit.lease
            if seat is None:
                continue
            heard = unit.since if lease is None else lease.heard
            if now - heard < timeout and not (
                stopping and now - max(heard, self._stop_asked) >= STOP_GRACE_S
            ):
                continue
            seat.silent = self._book.lease_id(unit.id, unit.attempt)
            self._silent[seat.silent] = seat
            self._nudges[seat.id] = None
            self._lose(unit, now, f"seat {seat.id} is silent")

    def _hear(self, lease_id: LeaseId) -> None:
        """Let a seat whose lease has expired work again: it lives after all."""
        record = self._silent.pop(lease_id, None)
        if record is not None:
            record.silent = None
            if not self.finished:
                self._balance.seat_changed(record)

    def _lose(self, unit: Unit, now: float, reason: str) -> None:
        """Requeue a unit whose seat or task is gone."""
        if unit.lease is not None:
            self.requeues += 1
            unit.losses += 1
            self._event(now, "lease-lost", f"unit {unit.id} waits again: {reason}")
        self._requeue(unit)
        if unit.losses >= MAX_LOSSES:
            self.fail(
                f"unit {unit.id} was lost {unit.losses} times in a row without a full "
                f"report, at last because {reason}",
                now,
            )

    def _requeue(self, unit: Unit) -> None:
        """Take a unit back from its seat."""
        seat = unit.seat
        if unit.lease is not None:
            self._end_lease(unit.lease)
        self._book.requeue(unit)
        if seat is not None:
            self._balance.seat_changed(seat)

    def _end_lease(self, lease: LeaseRecord) -> None:
        self._explore_s += lease.explore_s
        self._balance.forget(lease)
        self._saved(lease.id)

    def _saved(self, lease_id: LeaseId) -> None:
        for waiting_for in self._saves.values():
            waiting_for.discard(lease_id)


def root_bound(problem: Problem[Any]) -> int:
    """Lower bound of the tree's root: its own, or the better of its child sets'."""
    own = getattr(problem, "root_bound", None)
    if own is not None:
        return int(own)
    jobs = np.arange(problem.n_jobs)
    if len(jobs) == 1:
        return problem.evaluate(jobs)
    state = problem.root_state()
    return max(
        int(problem.child_bounds(state, jobs, back=back).min())
        for back in (False, True)
    )


def checked_jobs(problem: Problem[Any], permutation: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation, or raise OptionError if it is not one of all jobs."""
    jobs = check_permutation(permutation)
    if len(jobs) != problem.n_jobs:
        raise OptionError(
            f"permutation: expected {problem.n_jobs} jobs, got {len(jobs)}"
        )
    return jobs


def _first_incumbent(spec: RunSpec) -> Incumbent:
    """UB and incumbent at the start.

    A cutoff above every cost prunes nothing, so it is lowered to ``trivial_ub``, for
    which the engines have integers that are wide enough.
    """
    problem = spec.problem
    cutoff = problem.trivial_ub
    if spec.upper_bound is not None:
        cutoff = min(cutoff, spec.upper_bound)
    if spec.permutation is None:
        return Incumbent(problem.n_jobs, cutoff=cutoff, all_optima=spec.all_optima)
    jobs = np.array(checked_jobs(problem, spec.permutation), np.intp)
    value = problem.evaluate(jobs)
    if cutoff >= value:  # no cutoff then: the permutation's own value is the UB
        cutoff = problem.trivial_ub
    incumbent = Incumbent(problem.n_jobs, cutoff=cutoff, all_optima=spec.all_optima)
    incumbent.improve(value, jobs, "start", 0.0)
    return incumbent
