"""What a run leaves for a certificate: its units, and what was counted in each.

A unit is made of roots that another one gave away, or of the whole tree. It owns what
is below its roots, without what it gave away itself. So for every unit, in exact
integers, which anybody can add up afterwards::

    leaves of its roots = closed by its leases + leaves of the units made from it

A unit with too many roots, or one for which there is no room, is not listed. Its counts
are then those of the unit that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpbb.coordination.units import LeaseRecord, Unit
from dpbb.tree.counters import Counters

MAX_ROOTS = 4096
"""A unit that has more roots is not listed."""

MAX_ENTRIES = 20_000
"""Units that are listed at most."""

LISTED_BYTES = 5_000_000
"""The same, compressed and by estimate: a certificate stays below 10 MB."""


@dataclass(frozen=True, slots=True)
class UnitEntry:
    """A unit that is listed: its roots as paths, and what was counted in it.

    ``ub``: upper bounds at the begin of its first lease and at the end of its last one;
    None: it has no lease that counts.
    """

    roots: tuple[tuple[int, ...], ...]
    counts: Counters
    ub: tuple[int, int] | None = None


@dataclass(slots=True, eq=False)
class Journal:
    """Listed units of a run, in the order in which they were made.

    Attributes
    ----------
    bounds
        Upper bounds that fell, and the permutations that they come from.
    listed
        For each unit by its number: which entry has its counts. Only of units that may
        still be leased.
    """

    n_jobs: int
    units: list[UnitEntry] = field(default_factory=list)
    bounds: list[tuple[int, tuple[int, ...] | None]] = field(default_factory=list)
    listed: dict[int, int] = field(default_factory=dict)
    _bytes: int = 0

    @property
    def n_bytes(self) -> int:
        """Estimate of what it takes in memory: most are counts of units by depth."""
        return self._bytes + len(self.units) * 8 * (self.n_jobs + 1)

    def made(self, unit: Unit, parent: int) -> None:
        """Note a unit that was made from another; 0: from nothing."""
        roots = unit.last_roots
        n_bytes = 0
        if len(roots) <= MAX_ROOTS:
            paths = tuple(map(roots.path, range(len(roots))))
            n_bytes = self._size_of(paths)
        room = len(self.units) < MAX_ENTRIES and self._bytes + n_bytes <= LISTED_BYTES
        if not parent or (n_bytes and room):
            self.listed[unit.id] = len(self.units)
            self.units.append(UnitEntry(paths, Counters.zero(self.n_jobs)))
            self._bytes += n_bytes
        else:
            self.listed[unit.id] = self.listed[parent]

    def _size_of(self, paths: Iterable[tuple[int, ...]]) -> int:
        """Estimate of what a unit takes, compressed: a byte for a digit of a path."""
        return 40 + 7 * self.n_jobs + sum(1 + len(path) for path in paths)

    def pruned_at(self, ub: int, permutation: tuple[int, ...] | None) -> None:
        """Note the upper bound from now on, and the permutation that it comes from.

        None: it is a cutoff, which somebody gave without one.
        """
        if not self.bounds or ub < self.bounds[-1][0]:
            self.bounds.append((ub, permutation))

    def ended(self, lease: LeaseRecord, ub: int, *, finished: bool) -> None:
        """Count a lease that is over, with the run's upper bound now.

        Its own is noted even if it has closed nothing: it may have split the unit's
        roots, or given some away, above which another upper bound prunes.
        """
        counts, at = lease.basis.counted, self.listed[lease.unit.id]
        if finished:
            del self.listed[lease.unit.id]
        entry = self.units[at]
        first, last = entry.ub or (lease.ub, ub)
        ubs = max(first, lease.ub), min(last, ub)
        self.units[at] = replace(entry, counts=entry.counts + counts, ub=ubs)

    def copy(self, leases: Iterable[LeaseRecord], ub: int) -> Journal:
        """Return the journal as it is now, which does not change any more.

        Parameters
        ----------
        leases
            Open ones, which are counted as if they were over: the ledger has moved by
            their full reports. Whoever goes on from here leases the rest anew.
        ub
            The run's upper bound now.
        """
        copy = replace(
            self,
            units=list(self.units),
            bounds=list(self.bounds),
            listed=dict(self.listed),
        )
        for lease in leases:
            copy.ended(lease, ub, finished=False)
        return copy

    def books(self) -> dict[str, Any]:
        """Return plain values for a certificate."""
        last = self.bounds[-1][0]
        return {
            "bounds": [(ub, order or ()) for ub, order in self.bounds],
            "units": [
                (
                    unit.roots,
                    unit.counts.decomposed,
                    unit.counts.leaves,
                    [(int(d), int(c)) for d, c in enumerate(unit.counts.closed) if c],
                    unit.ub or (last, last),
                )
                for unit in self.units
            ],
        }

    def to_json(self) -> dict[str, Any]:
        """Return plain values for a checkpoint."""
        leased = [at for at, unit in enumerate(self.units) if unit.ub is not None]
        return self.books() | {"leased": leased, "listed": [*self.listed.items()]}

    @classmethod
    def from_json(cls, n_jobs: int, values: Mapping[str, Any]) -> Journal:
        """Inverse of ``to_json``."""
        journal = cls(n_jobs, listed=dict(values["listed"]))
        leased = set(values["leased"])
        for at, (roots, decomposed, leaves, closed, ub) in enumerate(values["units"]):
            paths = tuple(map(tuple, roots))
            subtrees = np.zeros(n_jobs + 1, np.int64)
            for depth, count in closed:
                subtrees[depth] = count
            counts = Counters(decomposed, leaves, subtrees)
            known = tuple(ub) if at in leased else None
            journal.units.append(UnitEntry(paths, counts, known))
            journal._bytes += journal._size_of(paths)
        for ub, order in values["bounds"]:
            journal.pruned_at(ub, tuple(order) or None)
        return journal
