"""The book of a run's open units: waiting, assigned, or leased.

``UnitBook`` keeps what must agree with each other: which unit is where, the exact sum
of open leaves, and the span map. It decides nothing; the coordinator does.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.journal import Journal
from dpbb.coordination.ledger import Checked, CheckedGift, LeaseBasis
from dpbb.coordination.messages import LeaseId, Report, RunSpec, UnitId
from dpbb.coordination.span_map import SpanMap, cells_of
from dpbb.coordination.speeds import note_speed
from dpbb.coordination.units import LeaseRecord, Place, SeatRecord, Unit
from dpbb.errors import InvariantError
from dpbb.tree.counters import Counters, closed_leaves
from dpbb.tree.factoradic import leaves_text, n_leaves
from dpbb.tree.work_unit import WorkUnit


@dataclass(slots=True, eq=False)
class UnitBook:
    """All open units; see the module."""

    spec: RunSpec
    units: dict[UnitId, Unit] = field(default_factory=dict)
    waiting: OrderedDict[UnitId, Unit] = field(default_factory=OrderedDict)
    assigned: dict[UnitId, Unit] = field(default_factory=dict)
    leases: dict[LeaseId, LeaseRecord] = field(default_factory=dict)
    counters: Counters = field(init=False)
    closed_leaves: int = 0
    open_leaves: int = 0
    span_map: SpanMap = field(default_factory=SpanMap)
    made: int = 0
    ahead_decomposed: int = 0  # of light reports, beyond the ledger
    ahead_leaves: int = 0
    engine_nodes: dict[str, int] = field(default_factory=dict)  # since the resume
    explore_seconds: float = 0.0  # of ended leases
    gpu_seconds: float = 0.0  # of those, on GPUs
    energy_j: float | None = None  # of ended leases on devices that say
    journal: Journal | None = None  # for a certificate
    ub: Callable[[], int] = lambda: 0  # the run's, now

    def __post_init__(self) -> None:
        self.counters = Counters.zero(self.spec.problem.n_jobs)

    def lease_id(self, unit: UnitId, attempt: int) -> LeaseId:
        """Return the id of the one lease that an attempt can have."""
        return LeaseId(f"{self.spec.run_id}/{unit}.{attempt}")

    def make(
        self,
        roots: WorkUnit,
        least_lb: int,
        *,
        fresh: bool,
        leaves: int | None = None,
        cells: NDArray[np.bool_] | None = None,
        parent: Unit | None = None,
        known: UnitId | None = None,
    ) -> Unit:
        """Add a waiting unit, made from another, or known from a checkpoint."""
        if known is None:
            self.made += 1
        unit = Unit(
            id=UnitId(self.made) if known is None else known,
            last_roots=roots,
            leaves=roots.leaves if leaves is None else leaves,
            cells=cells_of(roots) if cells is None else cells,
            least_lb=least_lb,
            fresh=fresh,
        )
        unit.whole = known is None
        if self.journal is not None and known is None:
            self.journal.made(unit, 0 if parent is None else parent.id)
        self.units[unit.id] = self.waiting[unit.id] = unit
        self.open_leaves += unit.leaves
        self.span_map.add("waiting", unit.cells)
        return unit

    def assign(self, unit: Unit, seat: SeatRecord, now: float) -> None:
        """Give a waiting unit to an idle seat."""
        del self.waiting[unit.id]
        self.assigned[unit.id] = unit
        unit.place, unit.seat, unit.since = Place.ASSIGNED, seat, now
        seat.unit = unit

    def grant(self, unit: Unit, now: float) -> LeaseRecord:
        """Turn an assignment into a lease."""
        if unit.seat is None:
            raise ValueError(f"expected unit {unit.id} to be assigned")
        lease_id = self.lease_id(unit.id, unit.attempt)
        basis = LeaseBasis.start(lease_id, self.spec.problem, unit.roots)
        lease = LeaseRecord(
            id=lease_id,
            unit=unit,
            seat=unit.seat,
            basis=basis,
            heard=now,
            decomposed=basis.leased_ancestors,
            exported=basis.leased_ancestors,
            open_roots=len(unit.roots),
            ub=self.ub(),
            whole=unit.whole,
            since=now,
            safe_at=now,
        )
        self._move(unit, Place.LEASED)
        del self.assigned[unit.id]
        unit.lease = lease
        unit.fresh = False
        self.leases[lease_id] = lease
        return lease

    def note(
        self,
        lease: LeaseRecord,
        report: Report,
        checked: Checked | CheckedGift | None,
        now: float,
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
        # a donation leaves after the slice that counted the open roots
        full = report.full
        given = 0 if report.gift is None else len(report.gift)
        lease.open_roots = (
            report.open_roots - given if full is None else len(full.remaining)
        )
        if isinstance(checked, CheckedGift):
            self._give_away(lease, report, checked)
        elif checked is not None:
            self._settle(lease, checked)
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

    def _require_current(
        self, lease: LeaseRecord, checked: Checked | CheckedGift
    ) -> None:
        if checked.basis is not lease.basis or checked.seq != lease.seq:
            raise InvariantError(
                f"report {lease.seq} of lease {lease.id} was not checked against the "
                f"one before it"
            )

    def _give_away(
        self, lease: LeaseRecord, report: Report, checked: CheckedGift
    ) -> None:
        """Take a gift out of a leased unit; what was counted stays as it is."""
        self._require_current(lease, checked)
        unit = lease.unit
        unit.whole = False
        if report.gift is not None and len(report.gift):
            unit.gifts.append(report.gift)
        unit.leaves -= checked.donated_leaves
        self.open_leaves -= checked.donated_leaves
        lease.basis = checked.next
        lease.exported += checked.donated_ancestors

    def _settle(self, lease: LeaseRecord, checked: Checked) -> None:
        """Replace what a lease counts for by its new full report."""
        self._require_current(lease, checked)
        unit, before, after = lease.unit, checked.basis.counted, checked.next.counted
        closed = after.closed - before.closed
        self.counters = self.counters.plus(
            after.decomposed - before.decomposed, after.leaves - before.leaves, closed
        )
        self.closed_leaves += closed_leaves(closed)
        self.open_leaves += checked.remaining_leaves - unit.leaves
        self.span_map.add("leased", unit.cells, -1)
        self.span_map.add("leased", checked.remaining_cells)
        unit.roots, unit.leaves = checked.next.roots, checked.remaining_leaves
        unit.cells = checked.remaining_cells
        unit.losses = 0
        unit.whole = False
        lease.basis, lease.exported = checked.next, checked.exported_ancestors

    def requeue(self, unit: Unit) -> None:
        """Take an assigned or leased unit back, to wait with a new attempt."""
        self._free_seat(unit)
        self.assigned.pop(unit.id, None)
        self._end_lease(unit)
        self._move(unit, Place.WAITING)
        unit.attempt += 1
        # to the front: what is half done is finished before new work is begun
        self.waiting[unit.id] = unit
        self.waiting.move_to_end(unit.id, last=False)

    def finish(self, unit: Unit) -> None:
        """Strike out a leased unit of which nothing remains."""
        self._free_seat(unit)
        self._end_lease(unit, finished=True)
        self.span_map.add("leased", unit.cells, -1)
        del self.units[unit.id]

    def cut(self, unit: Unit, parts: int) -> int:
        """Deal out the roots of a unit that is not leased; return the units made."""
        pieces = unit.roots.split(min(parts, len(unit.roots)))
        if len(pieces) < 2:
            return 0
        self.open_leaves -= unit.leaves
        self.span_map.add("waiting", unit.cells, -1)
        unit.whole = False
        unit.roots, unit.leaves = pieces[0], pieces[0].leaves
        unit.cells = cells_of(unit.roots)
        self.open_leaves += unit.leaves
        self.span_map.add("waiting", unit.cells)
        unit.worth_s /= len(pieces)
        for piece in pieces[1:]:
            made = self.make(piece, unit.least_lb, fresh=unit.fresh, parent=unit)
            made.worth_s = unit.worth_s
        return len(pieces) - 1

    def check_partition(self) -> None:
        """Raise InvariantError unless closed and open leaves are n! together (I5)."""
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

    def _move(self, unit: Unit, place: Place) -> None:
        if unit.place.span != place.span:
            self.span_map.add(unit.place.span, unit.cells, -1)
            self.span_map.add(place.span, unit.cells)
        unit.place = place

    def _free_seat(self, unit: Unit) -> None:
        if unit.seat is not None:
            unit.seat.unit = None
        unit.seat = None

    def _end_lease(self, unit: Unit, *, finished: bool = False) -> None:
        if unit.lease is not None:
            if self.journal is not None:
                self.journal.ended(unit.lease, self.ub(), finished=finished)
            self._forget_ahead(unit.lease)
            self.count_nodes(unit.lease, -unit.lease.nodes_since_full)
            self.explore_seconds += unit.lease.explore_s
            if unit.lease.seat.seat.device.kind == "cuda":
                self.gpu_seconds += unit.lease.explore_s
            if unit.lease.energy_j is not None:
                self.energy_j = (self.energy_j or 0.0) + unit.lease.energy_j
            del self.leases[unit.lease.id]
        unit.lease = None

    def _forget_ahead(self, lease: LeaseRecord) -> None:
        self.ahead_decomposed -= lease.decomposed_since_full
        self.ahead_leaves -= lease.leaves_since_full
