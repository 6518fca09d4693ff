"""Who explores what: seats, units of open work, leases, and how they end.

``Book`` keeps what must agree with each other: which unit is where (waiting, assigned,
leased) and at which seat, and the exact sum of open leaves. The coordinator says when;
nothing here knows of incumbents, limits, or the end of the run.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpbb.coordination.balance import Balance, kind_of, note_speed
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.events import EventLog
from dpbb.coordination.journal import Journal
from dpbb.coordination.ledger import Checked, LeaseBasis
from dpbb.coordination.messages import (
    Assignment,
    LeaseId,
    Report,
    RunSpec,
    Seat,
    SeatId,
    UnitId,
)
from dpbb.coordination.span_map import cells_of
from dpbb.coordination.units import LeaseRecord, SeatRecord, Unit
from dpbb.errors import InvariantError, StaleLeaseError
from dpbb.result import Totals
from dpbb.tree.counters import Counters, closed_leaves
from dpbb.tree.factoradic import leaves_text, n_leaves
from dpbb.tree.work_unit import WorkUnit

MAX_LOSSES = 100
"""So many leases of a unit in a row lost without a full report: it is hopeless."""


class Book:
    """Seats and open units of a run; see the module.

    Parameters
    ----------
    spec, events
        Of the run.
    ub
        Returns the run's upper bound now.
    """

    def __init__(self, spec: RunSpec, events: EventLog, ub: Callable[[], int]) -> None:
        self.spec, self.ub = spec, ub
        self.units: dict[UnitId, Unit] = {}
        self.waiting: OrderedDict[UnitId, Unit] = OrderedDict()
        self.assigned: dict[UnitId, Unit] = {}
        self.leases: dict[LeaseId, LeaseRecord] = {}
        self.seats: dict[SeatId, SeatRecord] = {}
        self.used_seats: dict[SeatId, str] = {}  # those that ever reported: engine
        self.balance = Balance(self)
        self.journal: Journal | None = None  # for a certificate
        self.counters = Counters.zero(spec.problem.n_jobs)
        self.closed_leaves = 0
        self.open_leaves = 0
        self.ahead_decomposed = 0  # of light reports, beyond the ledger
        self.ahead_leaves = 0
        self.engine_nodes: dict[str, int] = {}  # since the resume
        self.past = Totals()  # of ended leases, but for their nodes
        self.seats_lost = 0
        self.hopeless: str | None = None
        self._events = events
        self.nudges: dict[SeatId, None] = {}  # seats that are to report at once
        self._silent: dict[LeaseId, SeatRecord] = {}

    def restore(self, saved: Checkpoint) -> None:
        """Take over the units, counts and past of a run that goes on."""
        self.counters = saved.counters
        self.closed_leaves = saved.counters.closed_leaves
        self.past = replace(saved.totals, decomposed=0, leaves=0, seconds=0.0)
        self.used_seats = dict(saved.seats)
        for unit in saved.units:
            roots = unit.open_roots
            self.make(roots, unit.least_lb, fresh=unit.fresh, known=unit.id)

    # -- seats ------------------------------------------------------------------

    def add_seat(self, seat: Seat, now: float, *, shown: bool = True) -> None:
        """Add a seat; one that is there already drains no more.

        ``shown``: people see it among the events.
        """
        record = self.seats.get(seat.id)
        if record is None or record.seat != seat:
            self.remove_seat(seat.id, now)
            record = self.seats[seat.id] = SeatRecord(seat)
            self.balance.kinds.add(kind_of(record))
            if shown:
                self._events.add(now, "seat", seat.label)
        record.draining = False
        self.balance.seat_changed(record)

    def remove_seat(
        self, seat_id: SeatId, now: float, *, lost: bool = True, shown: bool = True
    ) -> None:
        """Forget a seat, if it is there, and take its unit back.

        ``lost``: it went away with its worker. ``shown``: as of ``add_seat``.
        """
        record = self.seats.pop(seat_id, None)
        if record is None:
            return
        if lost:
            self.seats_lost += 1
            self._events.add(now, "seat-lost", record.seat.label)
        elif shown:
            self._events.add(now, "seat-left", record.seat.label)
        record.draining = True
        if record.silent is not None:
            del self._silent[record.silent]
        if record.unit is not None:
            self.lose(record.unit, now, f"worker {record.seat.label} left")
        self.balance.seat_changed(record)
        self.nudges.pop(seat_id, None)

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
            self.nudges[seat_id] = None

    def hear(self, lease_id: LeaseId) -> None:
        """Let a seat whose lease has expired work again: it lives after all."""
        record = self._silent.pop(lease_id, None)
        if record is not None:
            record.silent = None
            self.balance.seat_changed(record)

    def nudge_leased(self) -> None:
        """Have all seats with a lease report at once."""
        for lease in self.leases.values():
            self.nudges[lease.seat.id] = None

    def wanted_seats(self) -> int:
        """How many more seats the open roots can feed: two roots each."""
        n_jobs = self.counters.n_jobs
        open_roots = 0
        for unit in self.units.values():
            unseen = n_jobs if unit.fresh else 1
            open_roots += unit.open_roots * unseen
        return max(0, -(-open_roots // 2) - len(self.seats))

    # -- units at seats ---------------------------------------------------------

    def lease_id(self, unit: UnitId, attempt: int) -> LeaseId:
        """Return the id of the one lease that an attempt can have."""
        return LeaseId(f"{self.spec.run_id}/{unit}.{attempt}")

    def assign(self, seat_id: SeatId, now: float) -> Assignment | None:
        """Give an idle seat a unit, if there is one or one can be cut."""
        seat = self.balance.idle.get(seat_id)
        if seat is None:
            return None
        self.balance.cut_for_idle()
        if not self.waiting:
            return None
        _, unit = self.waiting.popitem(last=False)
        self.assigned[unit.id] = unit
        unit.seat, unit.since = seat, now
        seat.unit = unit
        self.balance.seat_changed(seat)
        return Assignment(unit.id, unit.attempt, seat_id)

    def unassign(self, given: Assignment, now: float, *, lost: bool = True) -> None:
        """Take a unit back if this attempt is the current one."""
        self.hear(self.lease_id(given.unit, given.attempt))
        unit = self.units.get(given.unit)
        if unit is None or unit.attempt != given.attempt or unit.seat is None:
            return
        if lost:
            self.lose(unit, now, "its task ended")
        else:
            self.requeue(unit)

    def lease(self, given: Assignment, now: float) -> LeaseRecord:
        """Grant a unit to the attempt that it is assigned to.

        StaleLeaseError: another attempt is current, or this one has reported already.
        """
        self.hear(self.lease_id(given.unit, given.attempt))
        unit = self.units.get(given.unit)
        if (
            unit is None
            or unit.attempt != given.attempt
            or unit.seat is None
            or unit.seat.id != given.seat
            or (unit.lease is not None and unit.lease.seq > 0)
        ):
            raise StaleLeaseError(
                f"attempt {given.attempt} of unit {given.unit} on seat {given.seat} is "
                "not current"
            )
        lease = unit.lease
        if lease is None:
            lease = self._grant(unit, unit.seat, now)
            self.balance.granted(lease)
        lease.heard = max(lease.heard, now)
        return lease

    def _grant(self, unit: Unit, seat: SeatRecord, now: float) -> LeaseRecord:
        """Turn an assignment into a lease."""
        lease_id = self.lease_id(unit.id, unit.attempt)
        basis = LeaseBasis.start(lease_id, self.spec.problem, unit.roots)
        lease = LeaseRecord(
            id=lease_id,
            unit=unit,
            seat=seat,
            basis=basis,
            heard=now,
            decomposed=basis.leased_ancestors,
            open_roots=len(unit.roots),
            ub=self.ub(),
            since=now,
            safe_at=now,
        )
        del self.assigned[unit.id]
        unit.lease = lease
        unit.fresh = False
        self.leases[lease_id] = lease
        return lease

    def requeue(self, unit: Unit, *, counted: bool = False) -> None:
        """Take a unit from its seat; it waits again with a new attempt.

        ``counted``: nodes that the ledger does not know of count all the same.
        """
        self.assigned.pop(unit.id, None)
        self._end(unit, finished=False, counted=counted)
        unit.attempt += 1
        # to the front: what is half done is finished before new work is begun
        self.waiting[unit.id] = unit
        self.waiting.move_to_end(unit.id, last=False)

    def finish(self, unit: Unit) -> None:
        """Strike out a leased unit of which nothing remains."""
        self._end(unit, finished=True)
        del self.units[unit.id]

    def _end(self, unit: Unit, *, finished: bool, counted: bool = False) -> None:
        """End a unit's lease, if there is one, and free its seat."""
        seat, lease = unit.seat, unit.lease
        unit.seat = unit.lease = None
        if lease is not None:
            if self.journal is not None:
                self.journal.ended(lease, self.ub(), finished=finished)
            self.balance.forget(lease)
            if not counted:
                self._forget_ahead(lease)
                self.count_nodes(lease, -lease.nodes_since_full)
            on_gpu = lease.seat.seat.device.kind == "cuda"
            self.count(
                explore_seconds=lease.explore_s,
                gpu_seconds=lease.explore_s if on_gpu else 0.0,
                energy_j=lease.energy_j,
            )
            del self.leases[lease.id]
        if seat is not None:
            seat.unit = None
            self.balance.seat_changed(seat)

    def lose(self, unit: Unit, now: float, reason: str) -> None:
        """Requeue a unit whose seat or task is gone."""
        if unit.lease is not None:
            self.count(requeues=1)
            unit.losses += 1
            self._events.add(now, "lost", f"part {unit.id} waits again: {reason}")
        self.requeue(unit)
        if unit.losses >= MAX_LOSSES:
            self.hopeless = (
                f"unit {unit.id} was lost {unit.losses} times in a row without a full "
                f"report, at last because {reason}"
            )

    def requeue_all(self, *, leased: bool) -> None:
        """Take back what is assigned and, if asked for, what is leased."""
        for unit in list(self.units.values()):
            if unit.seat is not None and (leased or unit.lease is None):
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
        for unit in list(self.units.values()):
            seat, lease = unit.seat, unit.lease
            if seat is None:
                continue
            heard = unit.since if lease is None else lease.heard
            if not is_silent(lease, heard, now):
                continue
            seat.silent = self.lease_id(unit.id, unit.attempt)
            self._silent[seat.silent] = seat
            self.nudges[seat.id] = None
            what = "is silent" if seat.reported else "has not reported: it compiles"
            self.lose(unit, now, f"worker {seat.seat.label} {what}")

    # -- units and counts -------------------------------------------------------

    def make(
        self,
        roots: WorkUnit,
        least_lb: int,
        *,
        fresh: bool,
        parent: Unit | None = None,
        known: UnitId | None = None,
    ) -> Unit:
        """Add a waiting unit, made from another, or known from a checkpoint."""
        if known is None:
            self.count(units=1)
        unit = Unit(
            id=UnitId(self.past.units) if known is None else known,
            last_roots=roots,
            leaves=roots.leaves,
            cells=cells_of(roots),
            least_lb=least_lb,
            fresh=fresh,
        )
        if self.journal is not None and known is None:
            self.journal.made(unit, 0 if parent is None else parent.id)
        self.units[unit.id] = self.waiting[unit.id] = unit
        self.open_leaves += unit.leaves
        return unit

    def count(self, **more: Any) -> None:
        """Add to what the run took: numbers of ``Totals`` by name."""
        self.past = self.past.plus(Totals(**more))

    def cut(self, unit: Unit, parts: int) -> int:
        """Deal out the roots of a unit that is not leased; return the units made."""
        pieces = unit.roots.split(min(parts, len(unit.roots)))
        if len(pieces) < 2:
            return 0
        self.open_leaves -= unit.leaves
        unit.roots, unit.leaves = pieces[0], pieces[0].leaves
        unit.cells = cells_of(unit.roots)
        self.open_leaves += unit.leaves
        unit.worth_s /= len(pieces)
        for piece in pieces[1:]:
            made = self.make(piece, unit.least_lb, fresh=unit.fresh, parent=unit)
            made.worth_s = unit.worth_s
        return len(pieces) - 1

    def note(
        self, lease: LeaseRecord, report: Report, checked: Checked | None, now: float
    ) -> None:
        """Take the counts of a report; a full one moves the ledger.

        InvariantError: the report was checked against another one than the last, or
        closed and open leaves no longer make up n!.
        """
        self._forget_ahead(lease)
        if not lease.seq:  # compiling, or loading, may have taken long before
            began = now - report.explore_s - max(0.0, report.age_s)
            lease.safe_at = max(lease.safe_at, began)
        shown = lease.shown_nodes
        nodes = report.decomposed + report.leaves - lease.decomposed - lease.leaves
        if now > lease.heard:
            lease.rate = max(0.0, nodes / (now - lease.heard))
        lease.heard = now
        lease.seq = report.seq
        lease.decomposed, lease.leaves = report.decomposed, report.leaves
        lease.explore_s = report.explore_s
        if report.energy_j is not None:
            lease.energy_j = report.energy_j
        if report.least_lb is not None:  # it covers what is donated, too
            lease.unit.shown_lb = max(lease.unit.shown_lb, report.least_lb)
        done = report.decomposed + report.leaves - lease.basis.leased_ancestors
        note_speed(lease.seat, done, report.explore_s)
        full, lease.open_roots = report.full, report.open_roots
        if full is not None:
            lease.open_roots = len(full.remaining)
        elif report.gift is not None:  # it leaves after the slice that counted them
            lease.open_roots -= len(report.gift)
        if checked is not None:
            self._apply(lease, report, checked)
            if full is not None:
                lease.safe_at = max(lease.safe_at, now - max(0.0, report.age_s))
                if report.least_lb is not None:  # both are bounds of what remains
                    lease.unit.least_lb = max(lease.unit.least_lb, report.least_lb)
        self.ahead_decomposed += lease.decomposed_since_full
        self.ahead_leaves += lease.leaves_since_full
        self.count_nodes(lease, lease.shown_nodes - shown)

    def count_nodes(self, lease: LeaseRecord, nodes: int) -> None:
        """Add to what the engine of a lease has explored."""
        engine = lease.seat.seat.engine
        self.engine_nodes[engine] = self.engine_nodes.get(engine, 0) + nodes

    def _apply(self, lease: LeaseRecord, report: Report, checked: Checked) -> None:
        """Take a gift out of a leased unit, or count anew by its full report."""
        if checked.basis is not lease.basis or checked.seq != lease.seq:
            raise InvariantError(
                f"report {lease.seq} of lease {lease.id} was not checked against the "
                f"one before it"
            )
        unit, before, after = lease.unit, checked.basis.counted, checked.next.counted
        lease.basis = checked.next
        if checked.remaining_leaves is None or checked.remaining_cells is None:
            if report.gift is not None and len(report.gift):
                unit.gifts.append(report.gift)
            unit.leaves -= checked.donated_leaves
            self.open_leaves -= checked.donated_leaves
            return
        closed = after.closed - before.closed
        self.counters = self.counters.plus(
            after.decomposed - before.decomposed, after.leaves - before.leaves, closed
        )
        self.closed_leaves += closed_leaves(closed)
        self.open_leaves += checked.remaining_leaves - unit.leaves
        unit.roots, unit.leaves = checked.next.roots, checked.remaining_leaves
        unit.cells = checked.remaining_cells
        unit.losses = 0

    def check_partition(self) -> None:
        """Raise InvariantError unless closed and open leaves are n! (law 5)."""
        total = n_leaves(self.counters.n_jobs)
        if self.closed_leaves + self.open_leaves != total:
            raise InvariantError(
                f"expected {leaves_text(total)} leaves, got "
                f"{leaves_text(self.closed_leaves)} closed and "
                f"{leaves_text(self.open_leaves)} open"
            )

    def check_complete(self) -> None:
        """Raise InvariantError unless the closed subtrees alone make up n!."""
        total = n_leaves(self.counters.n_jobs)
        if self.counters.closed_leaves != total:
            raise InvariantError(
                f"no units are left, but {leaves_text(self.counters.closed_leaves)} "
                f"of {leaves_text(total)} leaves are closed"
            )

    def _forget_ahead(self, lease: LeaseRecord) -> None:
        self.ahead_decomposed -= lease.decomposed_since_full
        self.ahead_leaves -= lease.leaves_since_full
