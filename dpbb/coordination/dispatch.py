"""Who explores what: seats, assignments, leases, and how they end.

The coordinator says when; nothing here knows of incumbents, limits, or the end of the
run.
"""

from collections.abc import Callable

from dpbb.coordination.balance import Balance
from dpbb.coordination.book import UnitBook
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.events import EventLog
from dpbb.coordination.messages import (
    Assignment,
    LeaseId,
    RunSpec,
    Seat,
    SeatId,
    UnitId,
)
from dpbb.coordination.units import LeaseRecord, Place, SeatRecord, Unit
from dpbb.errors import StaleLeaseError

MAX_LOSSES = 100
"""So many leases of a unit in a row lost without a full report: it is hopeless."""


class Dispatcher:
    """Seats and the units at them; see the module."""

    def __init__(self, spec: RunSpec, events: EventLog) -> None:
        self.book = UnitBook(spec)
        self.balance = Balance(self.book)
        self.seats: dict[SeatId, SeatRecord] = {}
        self.used_seats: dict[SeatId, str] = {}  # those that ever reported: engine
        self.requeues = 0
        self.seats_lost = 0
        self.hopeless: str | None = None
        self._events = events
        self._nudges: dict[SeatId, None] = {}
        self._silent: dict[LeaseId, SeatRecord] = {}
        # a lease that went out with the answer to the last report of another
        self._followers: dict[LeaseId, LeaseRecord] = {}

    def restore(self, saved: Checkpoint) -> None:
        """Take over the units, counts and past of a run that goes on."""
        book = self.book
        book.counters = saved.counters
        book.closed_leaves = saved.counters.closed_leaves
        totals = saved.totals
        book.explore_seconds, book.gpu_seconds = (
            totals.explore_seconds,
            totals.gpu_seconds,
        )
        book.energy_j = totals.energy_j
        self.requeues = totals.requeues
        self.used_seats = dict(saved.seats)
        book.made = totals.units
        attempts = {} if saved.journal is None else saved.journal.attempts()
        for unit in saved.units:
            roots = unit.open_roots
            made = book.make(roots, unit.least_lb, fresh=unit.fresh, known=unit.id)
            made.attempt += attempts.get(unit.id, 0)  # each is in the journal once

    # -- seats ------------------------------------------------------------------

    def add_seat(self, seat: Seat, now: float, *, told: bool = True) -> None:
        """Add a seat; one that is there already drains no more.

        ``told``: people see it among the events.
        """
        record = self.seats.get(seat.id)
        if record is None or record.seat != seat:
            self.remove_seat(seat.id, now)
            record = self.seats[seat.id] = SeatRecord(seat)
            self.balance.note_kind(record)
            if told:
                self._events.add_seat(now, "seat", seat.label)
        record.draining = False
        self.balance.seat_changed(record)

    def remove_seat(
        self, seat_id: SeatId, now: float, *, lost: bool = True, told: bool = True
    ) -> None:
        """Forget a seat, if it is there, and take its unit back.

        ``lost``: it went away with its worker. ``told``: as of ``add_seat``.
        """
        record = self.seats.pop(seat_id, None)
        if record is None:
            return
        if lost:
            self.seats_lost += 1
            self._events.add_seat(now, "seat-lost", record.seat.label)
        elif told:
            self._events.add_seat(now, "seat-left", record.seat.label)
        record.draining = True
        if record.silent is not None:
            del self._silent[record.silent]
        if record.followed is not None:
            del self._followers[record.followed]
        if record.unit is not None:
            self.lose(record.unit, now, f"seat {record.seat.label} left")
        self.balance.seat_changed(record)
        self._nudges.pop(seat_id, None)

    def drain_seat(self, seat_id: SeatId) -> None:
        """Have a seat give its unit back."""
        record = self.seats.get(seat_id)
        if record is None:
            return
        record.draining = True
        self.balance.seat_changed(record)
        if record.unit is None:
            return
        if record.unit.lease is None:
            self.requeue(record.unit)
        else:
            self.balance.forget(record.unit.lease)
            self._nudges[seat_id] = None

    def hear(self, lease_id: LeaseId) -> None:
        """Let a seat whose lease has expired work again: it lives after all."""
        record = self._silent.pop(lease_id, None)
        if record is not None:
            record.silent = None
            self.balance.seat_changed(record)

    def nudge(self, seat_id: SeatId) -> None:
        """Have a seat report at once."""
        self._nudges[seat_id] = None

    def nudge_leased(self) -> None:
        """Have all seats with a lease report at once."""
        for lease in self.book.leases.values():
            self.nudge(lease.seat.id)

    def take_nudges(self) -> list[SeatId]:
        """Seats that should report at once; forgotten by this call."""
        seats = list(self._nudges)
        self._nudges.clear()
        return seats

    def wanted_seats(self) -> int:
        """How many more seats the open roots can feed: two roots each."""
        n_jobs = self.book.counters.n_jobs
        open_roots = 0
        for unit in self.book.units.values():
            unseen = n_jobs if unit.fresh else 1
            open_roots += unit.open_roots * unseen
        return max(0, -(-open_roots // 2) - len(self.seats))

    # -- work -------------------------------------------------------------------

    def assign(self, seat_id: SeatId, now: float) -> Assignment | None:
        """Give an idle seat a unit, if there is one or one can be cut."""
        record = self.balance.idle.get(seat_id)
        if record is None:
            return None
        self.balance.cut_for_idle()
        if not self.book.waiting:
            return None
        unit = next(iter(self.book.waiting.values()))
        self.book.assign(unit, record, now)
        self.balance.seat_changed(record)
        return Assignment(unit.id, unit.attempt, seat_id)

    def unassign(
        self, unit_id: UnitId, attempt: int, now: float, *, lost: bool = True
    ) -> None:
        """Take a unit back if this attempt is the current one."""
        self.hear(self.book.lease_id(unit_id, attempt))
        unit = self.book.units.get(unit_id)
        if unit is None or unit.attempt != attempt or unit.seat is None:
            return
        if lost:
            self.lose(unit, now, "its task ended")
        else:
            self.requeue(unit)

    def lease(
        self, unit_id: UnitId, attempt: int, seat_id: SeatId, now: float
    ) -> LeaseRecord:
        """Grant a unit to the attempt that it is assigned to.

        StaleLeaseError: another attempt is current, or this one has reported already.
        """
        self.hear(self.book.lease_id(unit_id, attempt))
        unit = self.book.units.get(unit_id)
        if (
            unit is None
            or unit.attempt != attempt
            or unit.seat is None
            or unit.seat.id != seat_id
            or (unit.lease is not None and unit.lease.seq > 0)
        ):
            raise StaleLeaseError(
                f"attempt {attempt} of unit {unit_id} on seat {seat_id} is not current"
            )
        if unit.lease is None:
            self.balance.granted(self.book.grant(unit, now))
        elif unit.lease.heard < now:
            unit.lease.heard = now
        return self.book.leases[self.book.lease_id(unit_id, attempt)]

    def follow(self, last: LeaseId, assignment: Assignment, now: float) -> LeaseRecord:
        """Grant an assignment to a seat whose last lease is over; see ``follower``."""
        seat = self.seats[assignment.seat]
        after = self.lease(assignment.unit, assignment.attempt, seat.id, now)
        if seat.followed is not None:
            del self._followers[seat.followed]
        seat.followed = last
        self._followers[last] = after
        return after

    def follower(self, lease_id: LeaseId) -> LeaseRecord | None:
        """Return the lease that went out with the answer to another's last report.

        None once its seat has reported on it: then the answer has arrived.
        """
        after = self._followers.get(lease_id)
        if after is None or after.seq > 0 or after.id not in self.book.leases:
            return None
        return after

    def requeue(self, unit: Unit) -> None:
        """Take a unit from its seat; it waits again with a new attempt."""
        seat = unit.seat
        if unit.lease is not None:
            self.balance.forget(unit.lease)
        self.book.requeue(unit)
        if seat is not None:
            self.balance.seat_changed(seat)

    def finish(self, lease: LeaseRecord) -> None:
        """Strike out a unit of which nothing remains."""
        self.balance.forget(lease)
        self.book.finish(lease.unit)
        self.balance.seat_changed(lease.seat)

    def lose(self, unit: Unit, now: float, reason: str) -> None:
        """Requeue a unit whose seat or task is gone."""
        if unit.lease is not None:
            self.requeues += 1
            unit.losses += 1
            self._events.add(now, "lost", f"unit {unit.id} waits again: {reason}")
        self.requeue(unit)
        if unit.losses >= MAX_LOSSES:
            self.hopeless = (
                f"unit {unit.id} was lost {unit.losses} times in a row without a full "
                f"report, at last because {reason}"
            )

    def requeue_all(self, *, leased: bool) -> None:
        """Take back what is assigned and, if asked for, what is leased."""
        for unit in list(self.book.units.values()):
            if unit.place is Place.ASSIGNED or (leased and unit.lease is not None):
                self.requeue(unit)

    def expire(
        self, now: float, is_silent: Callable[[LeaseRecord | None, float, float], bool]
    ) -> None:
        """Take back the units of seats that are silent.

        ``is_silent`` is given the lease, if there is one, when it (or the assignment)
        was last heard of, and the time.

        The seat gets no other unit until something is heard of it: what hangs once
        hangs again.
        """
        for unit in list(self.book.units.values()):
            seat, lease = unit.seat, unit.lease
            if seat is None:
                continue
            heard = unit.since if lease is None else lease.heard
            if not is_silent(lease, heard, now):
                continue
            seat.silent = self.book.lease_id(unit.id, unit.attempt)
            self._silent[seat.silent] = seat
            self._nudges[seat.id] = None
            what = "is silent" if seat.reported else "has not reported: it compiles"
            self.lose(unit, now, f"seat {seat.id} {what}")

    def ask_donors(self, now: float) -> None:
        """Nudge those seats that are to donate to idle ones."""
        for lease in self.balance.choose_donors(now):
            self._nudges[lease.seat.id] = None
