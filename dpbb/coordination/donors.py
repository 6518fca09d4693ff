"""Whom to ask for a donation: leases by how many open roots they have.

Kept in buckets by the number of binary digits, so that a change and the choice cost
the same at four seats and at four thousand; the donor found has at least half as many
open roots as the one with the most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpbb.coordination.messages import LeaseId


class Donors:
    """Leases that may be asked to donate."""

    def __init__(self) -> None:
        # dicts as ordered sets: of equals, the one that was put in first
        self._buckets: list[dict[LeaseId, None]] = [{} for _ in range(64)]
        self._bucket_of: dict[LeaseId, int] = {}

    def __len__(self) -> int:
        return len(self._bucket_of)

    def put(self, lease: LeaseId, open_roots: int) -> None:
        """Add a lease, or note its new number of open roots."""
        bucket = min(open_roots.bit_length(), len(self._buckets) - 1)
        if self._bucket_of.get(lease) != bucket:
            self.discard(lease)
            self._buckets[bucket][lease] = None
            self._bucket_of[lease] = bucket

    def discard(self, lease: LeaseId) -> None:
        """Forget a lease, if it is there."""
        bucket = self._bucket_of.pop(lease, None)
        if bucket is not None:
            del self._buckets[bucket][lease]

    def pop(self, least: int) -> LeaseId | None:
        """Take out a richest lease; None if none has about ``least`` open roots."""
        for bucket in range(len(self._buckets) - 1, least.bit_length() - 1, -1):
            for lease in self._buckets[bucket]:
                self.discard(lease)
                return lease
        return None
