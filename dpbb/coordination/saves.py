"""Waiting for full reports of all seats, so that a checkpoint is up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from dpbb.coordination.messages import LeaseId


class Saves:
    """Requests that all leased seats report in full; each has a token."""

    def __init__(self) -> None:
        self._last = 0
        self._awaited: dict[int, set[LeaseId]] = {}

    def __len__(self) -> int:
        """How many requests nobody has seen done yet."""
        return len(self._awaited)

    def request(self, leases: Collection[LeaseId]) -> int:
        """Wait for the next full report of each of these leases; returns a token."""
        self._last += 1
        self._awaited[self._last] = set(leases)
        return self._last

    def reported(self, lease: LeaseId) -> None:
        """Take note of a full report."""
        for leases in self._awaited.values():
            leases.discard(lease)

    def done(self, token: int, leases: Collection[LeaseId]) -> bool:
        """Whether every lease of that moment has reported in full since, or is gone.

        Parameters
        ----------
        token
            What ``request`` returned.
        leases
            Those that there are now.
        """
        if not 1 <= token <= self._last:
            raise ValueError(f"expected a token of request_save, got {token}")
        if not self._awaited.get(token, set()).isdisjoint(leases):
            return False
        self._awaited.pop(token, None)
        return True
