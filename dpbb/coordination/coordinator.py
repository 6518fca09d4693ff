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

import math
from collections.abc import Sequence

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.incumbent import Incumbent, evaluate_candidate, jobs_of
from dpbb.coordination.journal import Journal
from dpbb.coordination.ledger import Checked, LeaseBasis
from dpbb.coordination.messages import (
    Assignment,
    GiftWanted,
    Lease,
    LeaseId,
    Order,
    OrderKind,
    Report,
    RunSpec,
    Seat,
    SeatId,
    UnitId,
)
from dpbb.coordination.optima import Optima
from dpbb.coordination.pace import Pace
from dpbb.coordination.run import WINDOW_S, Run
from dpbb.coordination.saves import Saves
from dpbb.coordination.snapshot import RunState
from dpbb.coordination.units import LeaseRecord
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError, StaleLeaseError
from dpbb.problem import cost_of, part_of, root_bound
from dpbb.result import TREE, Termination, Totals
from dpbb.tree.work_unit import WorkUnit

STOP_GRACE_S = 10.0
"""A seat that is silent for so long after a stop has lost its lease."""

STOP_ROOT_S = 2e-5
"""For each of its open roots it is given more: it has to list them."""

STOP_NEW_S = 1.0
"""A seat that has never reported, as its kernel is still compiled, has so long."""


LISTED_AT_STOP = 250_000
"""A seat with more open roots does not list them at a stop, if nobody can use the list.

That is so without a checkpoint: the run is over for good. Listing the 4 to 20 million
roots of a GPU took tens of seconds.
"""


class Coordinator(Run):
    """One run; see the module for how to drive it.

    ``saved``: where the run goes on from, checked; None: from the root of the tree.

    OptionError: ``spec.permutation`` is not one of all the problem's jobs.
    """

    def __init__(
        self, spec: RunSpec, *, now: float, saved: Checkpoint | None = None
    ) -> None:
        incumbent = Incumbent.of(spec, saved)
        before = Totals() if saved is None else saved.totals
        limit = math.inf if spec.time_limit_s is None else spec.time_limit_s
        opened = now - before.seconds
        super().__init__(spec, incumbent, opened, now + limit, now, before.nodes)
        self._pace = Pace(spec)
        self._saves = Saves()
        self._stop_asked = now
        book = self.book
        if spec.certificate:
            journal = Journal(spec.problem.n_jobs) if saved is None else saved.journal
            if journal is not None:
                journal.pruned_at(incumbent.ub, incumbent.origin)
            book.journal = journal
        if saved is None:
            whole = WorkUnit.whole(spec.problem.n_jobs)
            book.make(whole, root_bound(spec.problem), fresh=True)
        else:
            self.donations = saved.totals.donations
            self.book.restore(saved)
            book.check_partition()
            text = f"{len(saved.units)} units of a checkpoint"
            self.events.add(now, "resumed", text)
        if spec.proved_bound is not None:
            text = f"nothing is below {spec.proved_bound}; looking below {self.ub}"
            self.events.add(now, "step", text)

    def optima_after(self, value: int | None, position: int) -> Optima | None:
        """With all optima: the next chunk for a reader; see ``Incumbent``."""
        if not self.spec.options.all_optima:
            return None
        return self.incumbent.optima_after(value, position)

    # -- seats and work ---------------------------------------------------------

    def idle_seats(self) -> list[SeatId]:
        """Seats that could be given a unit, the fastest first; none at the end."""
        return self.book.balance.idle_seats() if self.running else []

    def wanted_seats(self) -> int:
        """How many more seats this run can feed now: two open roots each."""
        return self.book.wanted_seats() if self.running else 0

    def add_seat(self, seat: Seat, now: float, *, shown: bool = True) -> None:
        """Let the run use a seat; one that is there already drains no more.

        ``shown``: people see it among the events.
        """
        self.book.add_seat(seat, now, shown=shown)

    def remove_seat(
        self, seat_id: SeatId, now: float, *, lost: bool = True, shown: bool = True
    ) -> None:
        """Forget a seat; its unit waits again, as of its last full report.

        ``lost``: it is gone with its worker, and not only given to another run.
        ``shown``: as of ``add_seat``.
        """
        self.book.remove_seat(seat_id, now, lost=lost, shown=shown)
        self._go_on(now)

    def average_over(self, seconds: float) -> None:
        """Have nodes a second be an average over so long at least."""
        self.meter.window_s = max(WINDOW_S, seconds)

    def drain_seat(self, seat_id: SeatId, now: float) -> None:
        """Have a seat give its unit back; it gets no other until it is added again."""
        self.book.drain_seat(seat_id)
        self._go_on(now)

    def assign(self, seat_id: SeatId, now: float) -> Assignment | None:
        """Give an idle seat a unit; None when the seat is not idle or nothing waits.

        In the latter case a donation is asked for.
        """
        if not self.running:
            return None
        assignment = self.book.assign(seat_id, now)
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
        self.book.unassign(unit, attempt, now, lost=lost)
        self._go_on(now)

    def lease(self, unit: UnitId, attempt: int, seat_id: SeatId, now: float) -> Lease:
        """Grant the unit to the attempt that it is assigned to.

        Until its first report an attempt may ask again: the answer may be lost.

        StaleLeaseError: the attempt is not the current one.
        """
        lease = self.book.lease(unit, attempt, seat_id, now)
        return Lease(lease.id, unit, attempt, lease.basis.roots, self.ub)

    def seat_of(self, lease_id: LeaseId) -> SeatId | None:
        """Return the seat that holds a lease; None: it is over."""
        lease = self.book.leases.get(lease_id)
        return None if lease is None else lease.seat.id

    # -- reports ----------------------------------------------------------------

    def admit(self, lease_id: LeaseId, seq: int) -> Order | None:
        """Return None if a report is new, else the answer that it will get."""
        lease = self.book.leases.get(lease_id)
        if lease is None:
            return Order(OrderKind.DROP, self.ub)
        return lease.answer if seq <= lease.seq else None

    def basis(self, lease_id: LeaseId) -> LeaseBasis:
        """Facts to check a lease's next full report against.

        StaleLeaseError: there is no such lease (any more).
        """
        lease = self.book.leases.get(lease_id)
        if lease is None:
            raise StaleLeaseError(f"lease {lease_id} is gone")
        return lease.basis

    def on_report(self, report: Report, checked: Checked | None, now: float) -> Order:
        """Take a report, the next, a repeated or a stale one; return its answer.

        Parameters
        ----------
        checked
            Of a report with roots that is new: what ``check_report`` made of it.

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
                self.improve(report.best, f"{TREE}, lease {report.lease}", now)
            lease = self.book.leases.get(report.lease)
            if lease is not None:
                if report.seq <= lease.seq and lease.answer is not None:
                    return lease.answer
                self._take(lease, report, checked, now)
        except InvariantError as error:
            self.fail(str(error), now)
            raise
        if lease is None:
            self.book.hear(report.lease)
        self._go_on(now)
        if lease is None or lease.id not in self.book.leases:
            return Order(OrderKind.DROP, self.ub)
        lease.answer = self._answer(lease)
        if lease.answer.kind is OrderKind.DROP:
            self.abandon(lease)
            self._go_on(now)
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
        if report.has_roots and checked is None:
            raise ValueError(f"report {report.seq} of {lease.id} is not checked")
        book, balance = self.book, self.book.balance
        for candidate in () if full is None else full.optima:
            # before the ledger moves: their leaves still lie below the lower bound
            self.improve(candidate, f"{TREE}, lease {lease.id}", now)
        book.note(lease, report, checked, now)
        self.book.used_seats[lease.seat.id] = lease.seat.seat.engine
        lease.seat.reported = True
        donated = report.donated
        balance.reported(lease, now, donated=None if donated is None else len(donated))
        if donated is None:
            return
        if len(donated):
            self._add_donated(lease, donated, report.least_lb, now)
        lease.asked_to_donate = False
        if full is None:
            book.check_partition()
            return
        self._pace.note_full(report.n_bytes)
        lease.save = False
        self._saves.reported(lease.id)
        self.incumbent.collect(full.optima)
        book.check_partition()
        if not len(full.remaining):
            self.book.finish(lease.unit)
        elif full.last:
            self.book.requeue(lease.unit)

    def _add_donated(
        self, lease: LeaseRecord, donated: WorkUnit, least_lb: int | None, now: float
    ) -> None:
        """Make units of what a lease gave away."""
        self.donations += 1
        lease.seat.donations += 1
        lease.seat.donated_roots += len(donated)
        text = f"{lease.seat.seat.label} gave {len(donated):,} roots"
        self.events.add(now, "donation", text)
        least = lease.unit.least_lb
        if least_lb is not None:  # it covers what was donated, too
            least = max(least, least_lb)
        worth_s = now - lease.since
        portions = self.book.balance.portions(donated, worth_s)
        book = self.book
        for portion in portions:
            unit = book.make(portion, least, fresh=False, parent=lease.unit)
            unit.worth_s = worth_s / len(portions)

    def nudges(self) -> list[SeatId]:
        """Seats that should report at once; forgotten by this call."""
        return self.book.take_nudges()

    # -- answers ----------------------------------------------------------------

    def _answer(self, lease: LeaseRecord) -> Order:
        """Return the answer to a lease's report: what to do, how often to report."""
        balance = self.book.balance
        if self.state is RunState.STOPPING:
            kind = OrderKind.STOP if self._lists_at_stop(lease) else OrderKind.DROP
        elif lease.seat.draining:
            kind = OrderKind.DRAIN
        elif balance.shall_donate(lease):
            if balance.gives_all(lease):
                return Order(OrderKind.DRAIN, self.ub)
            lease.asked_to_donate = True
            return Order(OrderKind.DONATE, self.ub, balance.roots_to_give(lease))
        else:
            kind = OrderKind.SAVE if lease.save else OrderKind.CONTINUE
        return self._pace.order(kind, self.ub, len(self.book.leases))

    def gift_wanted(self, seat_id: SeatId) -> GiftWanted | None:
        """Return what a nudged seat may give at once, before it asks what is wanted.

        None if it is to report and do as the answer says.
        """
        lease = self._lease_of(seat_id)
        if lease is None or lease.seat.draining or lease.save:
            return None
        balance = self.book.balance
        if balance.mixed or not balance.shall_donate(lease):
            return None
        lease.asked_to_donate = True
        return GiftWanted(lease.id, balance.roots_to_give(lease))

    def full_wanted(self, seat_id: SeatId) -> bool:
        """Whether a nudged seat is to report in full at once."""
        lease = self._lease_of(seat_id)
        return lease is not None and lease.save

    def _lease_of(self, seat_id: SeatId) -> LeaseRecord | None:
        """Return the lease of a seat, while work is given out."""
        seat = self.book.seats.get(seat_id) if self.running else None
        return None if seat is None or seat.unit is None else seat.unit.lease

    def _lists_at_stop(self, lease: LeaseRecord) -> bool:
        """Whether a seat's last report says what remains."""
        options = self.spec.options
        # optimal permutations come with full reports alone
        wanted = options.checkpoint is not None or options.all_optima or lease.save
        return wanted or lease.open_roots <= LISTED_AT_STOP

    # -- steering -----------------------------------------------------------------

    def offer(self, permutation: Sequence[int], source: str, now: float) -> bool:
        """Take a permutation from outside; True if it is the new incumbent.

        OptionError: it is not one of all the problem's jobs, or has no cost.
        """
        problem = self.spec.problem
        jobs = jobs_of(problem, part_of(problem, permutation))
        value = cost_of(problem, jobs)
        if self.finished:
            return False
        try:
            return self.improve(Candidate(value, jobs), source, now)
        except InvariantError as error:
            self.fail(str(error), now)
            raise

    def request_stop(self, termination: Termination, now: float) -> None:
        """End the run early, seats giving back what remains; the first reason holds."""
        if not self.running:
            return
        self.state, self.termination = RunState.STOPPING, termination
        self.events.add(now, "stop", f"stopping: {termination.value}")
        self._stop_asked = now
        self.book.requeue_all(leased=False)
        self.book.nudge_leased()
        self._go_on(now)

    def request_save(self, now: float, patience_s: float = math.inf) -> int:
        """Ask all leased seats for a full report; return a token for ``save_done``.

        The first ones at once, the others by ``ask_on``; who does not answer is waited
        for as long as ``patience_s`` says (``Saves.request``).
        """
        leases = self.book.leases
        token = self._saves.request(
            {lease.id: lease.open_roots for lease in leases.values()},
            now,
            rate=self.spec.max_reports,
            patience_s=patience_s,
        )
        self.ask_on(token, now)
        return token

    def ask_on(self, token: int, now: float) -> bool:
        """Ask the next seats of a request; whether there were any."""
        leases = self.book.leases
        asked = self._saves.next(token, now, leases.keys())
        for lease_id in asked:
            leases[lease_id].save = True
            self.book.nudge(leases[lease_id].seat.id)
        return bool(asked)

    def save_done(self, token: int) -> bool:
        """Whether the leases of that moment have reported; see ``Saves.done``."""
        return self._saves.done(token, self.book.leases.keys())

    def fail(self, error: str, now: float) -> None:
        """Stop at once with an error; all units stay as of their last full report."""
        if self.finished:
            return
        self.error = error
        self.events.add(now, "error", error)
        self.book.nudge_leased()
        self.book.requeue_all(leased=True)
        self.end(RunState.FAILED, Termination.STOPPED, now)

    def tick(self, now: float) -> None:
        """Look at limits and silent seats; call it about once a second."""
        if self.finished:
            return
        self.book.expire(now, self._is_silent)
        if self.running:
            limit = self.limit_reached(now)
            if limit is not None:
                self.request_stop(limit, now)
        self._go_on(now)

    def _is_silent(self, lease: LeaseRecord | None, heard: float, now: float) -> bool:
        """Whether a unit's seat is lost, that was last heard of then."""
        if now - heard >= self.spec.lease_timeout_s and self.running:
            return True
        if self.running:
            return False
        # asked to stop: what has never reported has nothing that is worth waiting for
        grace = STOP_NEW_S
        if lease is not None and lease.seq > 0:
            grace = STOP_GRACE_S + STOP_ROOT_S * lease.open_roots
        return now - max(heard, self._stop_asked) >= grace

    # -- inside -----------------------------------------------------------------

    def _go_on(self, now: float) -> None:
        """After every event: end the run if it is over, else see to idle seats."""
        if self.finished:
            return
        book = self.book
        self.meter.note(now, self.nodes)
        if self.book.hopeless is not None:
            self.fail(self.book.hopeless, now)
        elif not book.units:
            try:
                book.check_complete()
            except InvariantError as error:
                self.fail(str(error), now)
                raise
            self.end(RunState.FINISHED, Termination.EXHAUSTED, now)
        elif self.running:
            self.book.ask_donors(now)
        elif not book.leases and self.termination is not None:
            self.end(RunState.FINISHED, self.termination, now)
