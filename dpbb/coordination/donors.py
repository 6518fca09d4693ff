"""Whom to ask for a donation: the leases that have been at it for longest.

How much work lies below open roots cannot be seen: subtrees of one depth differ by
orders of magnitude, and a GPU lists thousands of roots whatever it holds. But their
sizes are so unequal that what has lasted long will last long: the best guess of what a
lease has left is what it has explored, half of it after it has given half away. On the
recorded tree of ta056 at 3655 and 512 seats, the open roots chose donors hardly better
than chance, and the leaves below them neither (``python -m tests.worlds scale``).
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpbb.coordination.messages import LeaseId

_LOOKS = 64
"""So many donors of a class are looked at for one with enough roots."""


class Donors:
    """Leases that may be asked to donate.

    Seats of about one speed are a class, a heap by the time since which their leases
    count as exploring.
    """

    def __init__(self) -> None:
        self._heaps: dict[int, list[tuple[float, LeaseId]]] = {}
        self._entries: dict[LeaseId, tuple[int, float, int]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def put(
        self, lease: LeaseId, open_roots: int, since: float, speed: float = 1.0
    ) -> None:
        """Add a lease, or note what is new of it."""
        kind = math.frexp(speed)[1]
        entry = self._entries.get(lease)
        self._entries[lease] = kind, since, open_roots
        if entry is None or entry[:2] != (kind, since):
            heap = self._heaps.setdefault(kind, [])
            heapq.heappush(heap, (since, lease))
            if len(heap) > 2 * len(self._entries) + 64:  # most are stale
                self._rebuild()

    def discard(self, lease: LeaseId) -> None:
        """Forget a lease, if it is there."""
        self._entries.pop(lease, None)

    def pop(self, least: int, now: float, age_s: float = 0.0) -> LeaseId | None:
        """Take out a richest lease.

        Parameters
        ----------
        least
            Open roots that it has at least.
        now, age_s
            It counts as exploring for so long at least.

        Returns
        -------
        LeaseId or None
            None if none is found.
        """
        best: tuple[float, LeaseId] | None = None
        for kind, heap in self._heaps.items():
            found = self._first(kind, heap, least)
            if found is not None and now - found[0] >= age_s:
                since, lease = found
                explored = math.ldexp(max(now - since, 0.0), kind)
                if best is None or explored > best[0]:
                    best = explored, lease
        if best is None:
            return None
        self.discard(best[1])
        return best[1]

    def _first(
        self, kind: int, heap: list[tuple[float, LeaseId]], least: int
    ) -> tuple[float, LeaseId] | None:
        """Return the oldest lease with enough roots; it stays in the heap."""
        poor: list[tuple[float, LeaseId]] = []
        found = None
        while heap and found is None and len(poor) < _LOOKS:
            since, lease = heap[0]
            entry = self._entries.get(lease)
            if entry is None or entry[:2] != (kind, since):
                heapq.heappop(heap)  # stale
            elif entry[2] < least:
                poor.append(heapq.heappop(heap))
            else:
                found = since, lease
        for item in poor:
            heapq.heappush(heap, item)
        return found

    def _rebuild(self) -> None:
        self._heaps.clear()
        for lease, (kind, since, _) in self._entries.items():
            self._heaps.setdefault(kind, []).append((since, lease))
        for heap in self._heaps.values():
            heapq.heapify(heap)
