"""The coordinator of one run: who explores what, what is known, when it is over.

A pure state machine: no clock (``now`` is in seconds of any monotonic clock), Dask,
I/O or thread in it. The shell calls it from one thread and acts on what it returns:
after every event it calls ``nudges``, and ``assign`` for each of ``idle_seats``. Only
``check_report`` is meant to run elsewhere.

One report is handled so::

    order = coordinator.admit(report.lease, report.seq)
    checked = None
    if order is None and report.has_roots:
        basis = coordinator.basis(report.lease)
        checked = check_report(basis, report)  # in a thread
    order = coordinator.on_report(report, checked, now)  # in every case

``on_report`` wants the stale and the repeated reports too: a permutation that comes
late is still a permutation. Whoever gets an ``InvariantError`` from the decoding or the
check of a report calls ``fail``; those raised by the coordinator's own methods have
stopped the run already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpbb.coordination.checkpoint import resumed_incumbent
from dpbb.coordination.dispatch import Dispatcher
from dpbb.coordination.events import EventLog
from dpbb.coordination.incumbent import Incumbent, evaluate_candidate
from dpbb.coordination.journal import (
    WITNESS_ROOTS,
    WITNESSES,
    Journal,
    chosen_apart,
)
from dpbb.coordination.messages import GiftWanted, Lease, Order, OrderKind
from dpbb.coordination.pace import Pace
from dpbb.coordination.reading import RateMeter, RunRecord
from dpbb.coordination.snapshot import RunState
from dpbb.coordination.steering import RunSteering
from dpbb.errors import InvariantError, StaleLeaseError
from dpbb.problem import root_bound
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from dpbb.coordination.checkpoint import Checkpoint
    from dpbb.coordination.ledger import Checked, CheckedGift, LeaseBasis
    from dpbb.coordination.messages import (
        Assignment,
        LeaseId,
        Report,
        RunSpec,
        Seat,
        SeatId,
        UnitId,
    )
    from dpbb.coordination.records import LeaseRecord

LISTED_AT_STOP = 250_000
"""A seat with more open roots does not list them at a stop, if nobody can use the list.

That is so without a checkpoint: the run is over for good. Listing the 4 to 20 million
roots of a GPU took tens of seconds.
"""


class Coordinator(RunSteering):
    """One run; see the module for how to drive it.

    Parameters
    ----------
    spec
        What to solve, and how.
    now
        The time at which the run is opened.
    saved
        Where the run goes on from, checked; None: from the root of the tree.

    Raises
    ------
    OptionError
        ``spec.permutation`` is not one of all the problem's jobs.
    """

    def __init__(
        self, spec: RunSpec, *, now: float, saved: Checkpoint | None = None
    ) -> None:
        opened = now if saved is None else now - saved.seconds
        events = EventLog(opened)
        work = Dispatcher(spec, events)
        incumbent = (
            Incumbent.start(spec) if saved is None else resumed_incumbent(spec, saved)
        )
        nodes = (
            0 if saved is None else saved.counters.decomposed + saved.counters.leaves
        )
        run = RunRecord(
            spec, opened, now, incumbent, work, events, RateMeter(now, nodes)
        )
        super().__init__(run)
        self._pace = Pace(spec)
        self._witnesses: set[LeaseId] = set()  # asked for roots for a certificate
        book = self._work.book
        book.ub = lambda: self.ub
        if spec.certificate:
            book.journal = (
                Journal(spec.problem.n_jobs) if saved is None else saved.journal
            )
        if saved is None:
            whole = WorkUnit.whole(spec.problem.n_jobs)
            book.make(whole, root_bound(spec.problem), fresh=True)
        else:
            run.donations = saved.donations
            self._work.restore(saved)
            book.check_partition()
            events.add(now, "resumed", f"{len(saved.units)} units of a checkpoint")

    # -- seats and work ---------------------------------------------------------

    def add_seat(self, seat: Seat, now: float) -> None:
        """Let the run use a seat; one that is there already drains no more."""
        self._work.add_seat(seat, now)

    def remove_seat(self, seat_id: SeatId, now: float, *, lost: bool = True) -> None:
        """Forget a seat; its unit waits again, as of its last full report.

        ``lost``: it is gone with its worker, and not only given to another run.
        """
        self._work.remove_seat(seat_id, now, lost=lost)
        self._go_on(now)

    def drain_seat(self, seat_id: SeatId, now: float) -> None:
        """Have a seat give its unit back; it gets no other until it is added again."""
        self._work.drain_seat(seat_id)
        self._go_on(now)

    def assign(self, seat_id: SeatId, now: float) -> Assignment | None:
        """Give an idle seat a unit; None when the seat is not idle or nothing waits.

        In the latter case a donation is asked for.
        """
        if not self._running:
            return None
        assignment = self._work.assign(seat_id, now)
        if assignment is None:
            self._go_on(now)
        return assignment

    def unassign(
        self, unit: UnitId, attempt: int, now: float, *, lost: bool = True
    ) -> None:
        """Take note that the future of an attempt ended and gave nothing back.

        If the attempt is the current one, the unit waits again with a new attempt,
        as of its last full report. ``lost``: it had been begun, as far as is known.
        """
        self._work.unassign(unit, attempt, now, lost=lost)
        self._go_on(now)

    def lease(self, unit: UnitId, attempt: int, seat_id: SeatId, now: float) -> Lease:
        """Grant the unit to the attempt that it is assigned to.

        Until its first report an attempt may ask again: the answer may be lost.

        Raises
        ------
        StaleLeaseError
            The attempt is not the current one.
        """
        return self._as_lease(self._work.lease(unit, attempt, seat_id, now))

    def follow(self, last: LeaseId, seat_id: SeatId, now: float) -> Order | None:
        """Grant an idle seat a unit, as the answer to its last report on another.

        If that answer is lost, the seat gets it again when it repeats the report; if it
        does not, it loses the unit as any other.

        Parameters
        ----------
        last
            The seat's last lease, which is over.
        seat_id
            The seat.
        now
            The time.

        Returns
        -------
        Order or None
            None when the seat is not idle or nothing waits, as in ``assign``.
        """
        assignment = self.assign(seat_id, now)
        if assignment is None:
            return None
        lease = self._work.follow(last, assignment, now)
        return Order(OrderKind.DROP, self.ub, next=self._as_lease(lease))

    def _as_lease(self, lease: LeaseRecord) -> Lease:
        unit = lease.unit
        return Lease(lease.id, unit.id, unit.attempt, lease.basis.roots, self.ub)

    # -- reports ----------------------------------------------------------------

    def admit(self, lease_id: LeaseId, seq: int) -> Order | None:
        """Return None if a report is new, else the answer that it will get."""
        lease = self._work.book.leases.get(lease_id)
        if lease is None:
            return self._over(lease_id)
        return lease.answer if seq <= lease.seq else None

    def _over(self, lease_id: LeaseId) -> Order:
        """Return the answer to who reports on a lease that is over."""
        after = None if self.finished else self._work.follower(lease_id)
        following = None if after is None else self._as_lease(after)
        return Order(OrderKind.DROP, self.ub, next=following)

    def basis(self, lease_id: LeaseId) -> LeaseBasis:
        """Facts to check a lease's next full report against.

        Raises
        ------
        StaleLeaseError
            There is no such lease (any more).
        """
        lease = self._work.book.leases.get(lease_id)
        if lease is None:
            raise StaleLeaseError(f"lease {lease_id} is gone")
        return lease.basis

    def on_report(
        self,
        report: Report,
        checked: Checked | CheckedGift | None,
        now: float,
    ) -> Order:
        """Take a report, the next, a repeated or a stale one; return its answer.

        Parameters
        ----------
        report
            The report.
        checked
            Of a report with roots that is new: what ``check_report`` made of it.
        now
            The time.

        Raises
        ------
        InvariantError
            The report cannot be true. The run has failed.
        ValueError
            A new report with roots came unchecked.
        """
        if self.finished:
            return Order(OrderKind.DROP, self.ub)
        try:
            if report.best is not None:
                evaluate_candidate(self.spec.problem, report.best, report.lease)
                self._improve(report.best, report.lease, now)
            lease = self._work.book.leases.get(report.lease)
            if lease is not None:
                if report.seq <= lease.seq and lease.answer is not None:
                    return lease.answer
                self._take(lease, report, checked, now)
        except InvariantError as error:
            self.fail(str(error), now)
            raise
        if lease is None:
            self._work.hear(report.lease)
        self._go_on(now)
        if lease is None or lease.id not in self._work.book.leases:
            return self._over(report.lease)
        lease.answer = self._order(lease, now)
        if lease.answer.kind is OrderKind.DROP:
            self._run.abandon(lease)
            self._go_on(now)
        return lease.answer

    def _take(
        self,
        lease: LeaseRecord,
        report: Report,
        checked: Checked | CheckedGift | None,
        now: float,
    ) -> None:
        """Apply the next report of a lease."""
        if report.seq != lease.seq + 1:
            raise InvariantError(
                f"expected report {lease.seq + 1} of lease {lease.id}, got {report.seq}"
            )
        full = report.full
        if report.has_roots and checked is None:
            raise ValueError(f"report {report.seq} of {lease.id} is not checked")
        book, balance = self._work.book, self._work.balance
        for candidate in () if full is None else full.optima:
            # before the ledger moves: their leaves still lie below the lower bound
            self._improve(candidate, lease.id, now)
        book.note(lease, report, checked, now)
        self._work.used_seats[lease.seat.id] = lease.seat.seat.engine
        donated = report.donated
        balance.reported(lease, now, donated=None if donated is None else len(donated))
        if donated is None:
            return
        lease.asked_to_donate = False
        if len(donated):
            self._run.donations += 1
            lease.seat.donations += 1
            lease.seat.donated_roots += len(donated)
            self._run.events.add_donation(now, lease.seat.id, len(donated))
            least_lb = lease.unit.least_lb
            if report.least_lb is not None:  # it covers what was donated, too
                least_lb = max(least_lb, report.least_lb)
            worth_s = now - lease.since
            if lease.id in self._witnesses:
                portions = chosen_apart(donated, self.spec.run_id)
            else:
                portions = balance.portions(donated, worth_s)
            for portion in portions:
                unit = book.make(portion, least_lb, fresh=False, parent=lease.unit)
                unit.worth_s = worth_s / len(portions)
        self._witnesses.discard(lease.id)
        if full is None:
            book.check_partition()
            return
        self._pace.note_full(report.n_bytes)
        lease.save = False
        for leases in self._saves.values():
            leases.discard(lease.id)
        self._incumbent.collect(full.optima)
        book.check_partition()
        if not len(full.remaining):
            self._work.finish(lease)
        elif full.last:
            self._work.requeue(lease.unit)

    def _order(self, lease: LeaseRecord, now: float) -> Order:
        """Return the answer to a lease's report."""
        if self.state is RunState.STOPPING:
            kind = OrderKind.STOP if self._lists_at_stop(lease) else OrderKind.DROP
        elif lease.seat.draining:
            kind = OrderKind.DRAIN
        elif self._work.balance.shall_donate(lease):
            if self._work.balance.gives_all(lease):
                return Order(OrderKind.DRAIN, self.ub)
            lease.asked_to_donate = True
            most = self._work.balance.roots_to_give(lease)
            return Order(OrderKind.DONATE, self.ub, most)
        elif self._shall_give_witnesses(lease, now):
            self._witnesses.add(lease.id)
            return Order(OrderKind.DONATE, self.ub, WITNESS_ROOTS)
        else:
            kind = OrderKind.SAVE if lease.save else OrderKind.CONTINUE
        return self._pace.order(kind, self.ub, len(self._work.book.leases))

    def _lists_at_stop(self, lease: LeaseRecord) -> bool:
        """Whether a seat's last report says what remains."""
        # optimal permutations come with full reports alone
        wanted = self.spec.checkpoint is not None or self.spec.all_optima or lease.save
        return wanted or lease.open_roots <= LISTED_AT_STOP

    def _shall_give_witnesses(self, lease: LeaseRecord, now: float) -> bool:
        """Whether a seat is asked for roots that become units of their own."""
        journal = self._work.book.journal
        return (
            journal is not None
            and lease.open_roots > WITNESSES
            and journal.wants_witness(now, self._run.opened)
        )

    def nudges(self) -> list[SeatId]:
        """Seats that should report at once; forgotten by this call."""
        return self._work.take_nudges()

    def gift_wanted(self, seat_id: SeatId) -> GiftWanted | None:
        """Return what a nudged seat may give at once, before it asks what is wanted.

        None if it is to report and do as the answer says.
        """
        seat = self._work.seats.get(seat_id)
        lease = None if seat is None or seat.unit is None else seat.unit.lease
        if lease is None or not self._running or lease.seat.draining or lease.save:
            return None
        balance = self._work.balance
        if balance.mixed or not balance.shall_donate(lease):
            return None
        lease.asked_to_donate = True
        return GiftWanted(lease.id, balance.roots_to_give(lease))
