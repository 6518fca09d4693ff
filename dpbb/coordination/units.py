"""A unit of open work, the lease on it, and the seat that has it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.ledger import LeaseBasis
from dpbb.coordination.messages import LeaseId, Order, Seat, SeatId, UnitId
from dpbb.coordination.snapshot import SeatSnapshot
from dpbb.tree.work_unit import WorkUnit


@dataclass(slots=True, eq=False)
class Unit:
    """An open unit: it waits, or is assigned to a seat, or leased by one, too.

    ``roots``, ``leaves`` and ``cells`` are those of the last full report, ``roots`` and
    ``leaves`` without what was given away since; ``least_lb`` is a lower bound of all
    of them, and ``shown_lb`` of what is left of them, as last heard of: the rest has no
    schedule that is better than the incumbent.
    """

    id: UnitId
    last_roots: WorkUnit
    leaves: int
    cells: NDArray[np.bool_]
    least_lb: int
    fresh: bool  # no engine has seen it, so nobody knows how many roots it has
    shown_lb: int = 0
    worth_s: float = math.inf  # what a seat probably takes for it
    attempt: int = 1
    losses: int = 0  # leases lost in a row without a full report
    seat: SeatRecord | None = None  # there is a future for it
    lease: LeaseRecord | None = None
    since: float = 0.0  # when it was assigned
    gifts: list[WorkUnit] = field(default_factory=list)  # not yet out of last_roots

    @property
    def roots(self) -> WorkUnit:
        """What is open; after a gift it takes a while to find."""
        if self.gifts:
            gone = WorkUnit.concatenate(self.gifts)
            self.last_roots = self.last_roots.subtract(gone)
            self.gifts.clear()
        return self.last_roots

    @roots.setter
    def roots(self, roots: WorkUnit) -> None:
        self.last_roots = roots
        self.gifts.clear()

    @property
    def open_roots(self) -> int:
        """Number of roots, as last heard of."""
        return len(self.roots) if self.lease is None else self.lease.open_roots


@dataclass(slots=True, eq=False)
class LeaseRecord:
    """A lease as the coordinator sees it; raw counts are as of the last report."""

    id: LeaseId
    unit: Unit
    seat: SeatRecord
    basis: LeaseBasis
    heard: float  # time of the grant or the last report
    decomposed: int  # raw; starts as if the roots were loaded already
    open_roots: int
    since: float  # of the grant, moved on by donations: see ``donors``
    leaves: int = 0
    explore_s: float = 0.0
    energy_j: float | None = None
    rate: float = 0.0  # nodes a second between the last two reports
    seq: int = 0
    answer: Order | None = None
    asked_to_donate: bool = False  # the last answer said so
    rest_until: float = 0.0  # had nothing to give
    save: bool = False  # it is asked for a full report
    unheard_save: bool = False  # and did not give it in time
    ub: int = 0  # the run's upper bound at the grant
    safe_at: float = 0.0  # what was explored until then is in the ledger

    @property
    def ended(self) -> bool:
        """Whether the unit is leased by this one no more."""
        return self.unit.lease is not self

    @property
    def shown_decomposed(self) -> int:
        """Decomposed nodes so far, light reports included."""
        return self.decomposed - self.basis.exported

    @property
    def shown_nodes(self) -> int:
        """Nodes of both kinds so far, light reports included."""
        return self.shown_decomposed + self.leaves

    @property
    def decomposed_since_full(self) -> int:
        """Decomposed nodes that the ledger does not know of yet."""
        return self.shown_decomposed - self.basis.counted.decomposed

    @property
    def leaves_since_full(self) -> int:
        """Leaves that the ledger does not know of yet."""
        return self.leaves - self.basis.counted.leaves

    @property
    def nodes_since_full(self) -> int:
        """Nodes of both kinds that the ledger does not know of yet."""
        return self.decomposed_since_full + self.leaves_since_full


@dataclass(slots=True, eq=False)
class SeatRecord:
    """A seat and the unit at it."""

    seat: Seat
    unit: Unit | None = None
    draining: bool = False
    silent: LeaseId | None = None  # its lease expired, and nothing came since
    speed: float = 0.0  # nodes a second at its best; 0: not measured
    reported: bool = False  # since it joined: its code is loaded
    donations: int = 0  # made since it joined
    donated_roots: int = 0

    @property
    def id(self) -> SeatId:
        """Name of the seat."""
        return self.seat.id

    @property
    def idle(self) -> bool:
        """Whether it can be given a unit."""
        return self.unit is None and not self.draining and self.silent is None

    def snapshot(self, opened: float = 0.0) -> SeatSnapshot:
        """Return the seat and what it does, for people and programs.

        ``opened``: when its run was opened.
        """
        seat, unit = self.seat, self.unit
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
            silent=self.silent is not None,
            donations=self.donations,
            donated_roots=self.donated_roots,
            name=seat.label,
            heard_s=None if lease is None else lease.heard - opened,
        )
