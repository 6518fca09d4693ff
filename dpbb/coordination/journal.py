"""What a run leaves for a certificate: every unit, and every lease of it.

A unit is made of roots that another one gave away (or of the whole tree); a lease
closes a part of it, and gives parts away. So for every unit, in exact integers::

    leaves of its roots = closed by its leases + leaves of the units made from it

which anybody can add up afterwards. A unit that one lease finished alone, at one upper
bound, is also a *witness*: whoever explores its roots at that bound must get the same
counts, node by node. Some units are made for that (``wants_witness``).
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpbb
from dpbb.coordination.units import LeaseRecord, Unit
from dpbb.tree.counters import Counters
from dpbb.tree.factoradic import leaves_text
from dpbb.tree.work_unit import WorkUnit

FEW_ROOTS = 64
"""Roots of a unit that has more are listed packed."""

MAX_ROOTS = 4096
"""Roots of a unit that has more are not listed, only counted."""

PACKED_ROOTS = 400_000
"""So many are packed in all, by a checker in some seconds; then as ``MAX_ROOTS``."""

PACKED_DIGITS = 20_000_000
"""They may have so many digits in all, which a checker holds in memory: a root has up
to as many as there are jobs, and is taken to have them."""

MAX_ENTRIES = 20_000
"""Beyond so many units, the leases of further ones are only summed up."""

LISTED_BYTES = 5_000_000
"""Beyond so many, compressed and by estimate, neither: a certificate stays below 10 MB,
also with the leases of units that are listed and still open."""

WITNESS_ROOTS = 64
"""Roots that are asked for at a time."""

WITNESSES = 4
"""So many of them become units of their own; see ``chosen_apart``."""

WITNESS_S = 0.5
WITNESS_SHARE = 0.05
"""Between two such requests: so many seconds, or this part of the run's time."""


def chosen_apart(donated: WorkUnit, run_id: str) -> list[WorkUnit]:
    """Cut off some roots as units of their own, for witnesses.

    Those with the least hashes of run and path: who gives the roots away cannot say
    which of them will be looked at.

    ``donated``: at least one root.

    Returns up to ``WITNESSES`` single roots, then the others, if any.
    """
    hashes = []
    for root in donated.roots():
        path = " ".join(map(str, root))
        hashes.append(hashlib.sha256(f"{run_id} {path}".encode()).digest())
    order = np.array(sorted(range(len(hashes)), key=hashes.__getitem__), np.intp)
    portions = [donated.take(order[i : i + 1]) for i in range(WITNESSES)]
    portions.append(donated.take(np.sort(order[WITNESSES:])))
    return [portion for portion in portions if len(portion)]


@dataclass(frozen=True, slots=True)
class UnitEntry:
    """A unit: where it came from, its leaves, its roots unless there are too many.

    Roots are paths, or text (see ``packed``).
    """

    id: int
    parent: int
    leaves: int
    n_roots: int
    roots: tuple[tuple[int, ...], ...] | str | None

    @property
    def n_bytes(self) -> int:
        """Estimate of what it takes, compressed: a byte for a digit of a path."""
        roots = self.roots or ()
        paths = len(roots)
        if not isinstance(roots, str):
            paths += sum(map(len, roots))
        return 16 + self.leaves.bit_length() // 7 + paths


@dataclass(frozen=True, slots=True)
class LeaseEntry:
    """A lease that is over, and what its last full report counts for.

    ``ub`` holds the upper bounds at its begin and end; ``alone`` says that it found the
    unit untouched, gave nothing away and left nothing. ``version`` is that of dpbb,
    scheduler's and worker's alike: a run may go on with another one.
    """

    unit: int
    attempt: int
    seat: str
    engine: str
    counts: Counters
    ub: tuple[int, int]
    alone: bool
    version: str

    @property
    def n_bytes(self) -> int:
        """Estimate of what it takes, compressed."""
        return 32 + 7 * int(np.count_nonzero(self.counts.closed))


@dataclass(slots=True, eq=False)
class Journal:
    """Entries of a run, in the order in which things happened."""

    n_jobs: int
    units: list[UnitEntry] = field(default_factory=list)
    leases: list[LeaseEntry] = field(default_factory=list)
    bounds: list[tuple[int, tuple[int, ...] | None]] = field(default_factory=list)
    rest: Counters = field(init=False)  # leases of units that are not listed
    _listed: set[int] = field(default_factory=set)
    _bytes: int = 0  # of units and leases together
    _packed: int = 0  # roots
    _next_witness: float | None = None

    def __post_init__(self) -> None:
        self.rest = Counters.zero(self.n_jobs)

    @property
    def n_bytes(self) -> int:
        """Estimate of what it takes in memory: most are counts of leases by depth."""
        return self._bytes + len(self.leases) * self.rest.closed.nbytes

    def made(self, unit: Unit, parent: int) -> None:
        """Note a unit that was made from another; 0: from nothing."""
        if len(self.units) >= MAX_ENTRIES or self._bytes >= LISTED_BYTES:
            return
        roots = unit.last_roots
        listed: tuple[tuple[int, ...], ...] | str | None = None
        room = min(PACKED_ROOTS, PACKED_DIGITS // self.n_jobs) - self._packed
        if len(roots) <= FEW_ROOTS:
            listed = tuple(map(roots.path, range(len(roots))))
        elif len(roots) <= min(MAX_ROOTS, room):
            listed = packed(roots)
        self._list(UnitEntry(unit.id, parent, unit.leaves, len(roots), listed))

    def pruned_at(self, ub: int, permutation: tuple[int, ...] | None) -> None:
        """Note the upper bound from now on, and the permutation that it comes from.

        None: it is a cutoff, which somebody gave without one.
        """
        if not self.bounds or ub < self.bounds[-1][0]:
            self.bounds.append((ub, permutation))

    def _list(self, entry: UnitEntry) -> None:
        if isinstance(entry.roots, str):
            self._packed += entry.n_roots
        self._listed.add(entry.id)
        self.units.append(entry)
        self._bytes += entry.n_bytes

    def _note(self, entry: LeaseEntry) -> None:
        self.leases.append(entry)
        self._bytes += entry.n_bytes

    def ended(self, lease: LeaseRecord, ub: int, *, finished: bool) -> None:
        """Note a lease that is over, with the run's upper bound now."""
        counts = lease.basis.counted
        if not (finished or counts.closed.any()):
            return  # lost before its first full report: somebody else did it again
        if lease.unit.id not in self._listed:
            self.rest = self.rest + counts
            return
        self._note(
            LeaseEntry(
                lease.unit.id,
                lease.unit.attempt,
                lease.seat.id,
                lease.seat.seat.engine,
                counts,
                (lease.ub, ub),
                finished and lease.whole and not lease.basis.donated.any(),
                dpbb.__version__,
            )
        )

    def attempts(self) -> dict[int, int]:
        """Return the last attempt at every unit that a lease was noted of."""
        last: dict[int, int] = {}
        for entry in self.leases:
            last[entry.unit] = max(entry.attempt, last.get(entry.unit, 0))
        return last

    def wants_witness(self, now: float, opened: float) -> bool:
        """Whether some roots are to be made units of their own now."""
        if self._next_witness is None:
            self._next_witness = opened + WITNESS_S
        if now < self._next_witness:
            return False
        self._next_witness = now + max(WITNESS_S, WITNESS_SHARE * (now - opened))
        return True

    def copy(self, leases: Iterable[LeaseRecord], ub: int) -> Journal:
        """Return the journal as it is now, which does not change any more.

        Parameters
        ----------
        leases
            Open ones, which are noted as if they were over: the ledger has moved by
            their full reports. Whoever goes on from here leases the rest anew.
        ub
            The run's upper bound now.
        """
        copy = Journal(self.n_jobs, list(self.units), list(self.leases))
        copy.bounds, copy._packed = list(self.bounds), self._packed
        copy.rest, copy._listed = self.rest, set(self._listed)
        copy._bytes = self._bytes
        for lease in leases:
            copy.ended(lease, ub, finished=False)
        return copy

    def to_json(self) -> dict[str, Any]:
        """Return plain values for a certificate or a checkpoint."""
        return {
            "bounds": self.bounds,
            "units": [
                [u.id, u.parent, leaves_text(u.leaves), u.n_roots, u.roots]
                for u in self.units
            ],
            "leases": [
                [
                    e.unit,
                    e.attempt,
                    e.seat,
                    e.engine,
                    e.counts.decomposed,
                    e.counts.leaves,
                    _pairs(e.counts),
                    e.ub,
                    e.alone,
                    e.version,
                ]
                for e in self.leases
            ],
            "rest": {
                "decomposed": self.rest.decomposed,
                "leaves": self.rest.leaves,
                "closed": _pairs(self.rest),
            },
        }

    @classmethod
    def from_json(cls, n_jobs: int, values: Mapping[str, Any]) -> Journal:
        """Inverse of ``to_json``."""
        journal = cls(n_jobs)
        for unit, parent, leaves, n_roots, roots in values["units"]:
            if isinstance(roots, list):
                roots = tuple(map(tuple, roots))
            journal._list(UnitEntry(unit, parent, int(leaves, 0), n_roots, roots))
        for unit, attempt, seat, engine, nodes, leaves, *more in values["leases"]:
            closed, ub, alone, version = more
            counts = Counters(nodes, leaves, _subtrees(n_jobs, closed))
            entry = LeaseEntry(
                *(unit, attempt, seat, engine, counts), tuple(ub), alone, version
            )
            journal._note(entry)
        for ub, order in values["bounds"]:
            journal.pruned_at(ub, None if order is None else tuple(order))
        rest = values["rest"]
        subtrees = _subtrees(n_jobs, rest["closed"])
        journal.rest = Counters(rest["decomposed"], rest["leaves"], subtrees)
        return journal


def packed(roots: WorkUnit) -> str:
    """Return roots as text: of each its depth and digits, 16 bits, zlib, base64."""
    rows = np.column_stack((roots.depths, roots.digits)).astype("<u2")
    within = np.arange(rows.shape[1]) <= rows[:, :1]
    return base64.b64encode(zlib.compress(rows[within].tobytes())).decode("ascii")


def _pairs(counts: Counters) -> tuple[tuple[int, int], ...]:
    closed = counts.closed
    return tuple((int(d), int(closed[d])) for d in np.flatnonzero(closed))


def _subtrees(n_jobs: int, pairs: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """Inverse of ``_pairs``."""
    subtrees = np.zeros(n_jobs + 1, np.int64)
    for depth, count in pairs:
        subtrees[depth] = count
    return subtrees
