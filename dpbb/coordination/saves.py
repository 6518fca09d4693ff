"""Full reports of all seats, asked for so that a checkpoint is up to date.

Not of all seats at once: thousands of them would keep the scheduler busy for seconds,
and a few that hold tens of millions of roots each would fill its memory. The next ones
are asked as soon as the ones before have answered. A seat that does not answer in its
time is waited for no longer, and no request waits for it again until it has reported.
"""

import math
from collections import deque
from collections.abc import Iterable

from dpbb.coordination.units import LeaseRecord

AT_ONCE_SEATS = 64
"""Seats that are waited for at a time."""

AT_ONCE_ROOTS = 160_000_000
"""Open roots that these seats have, as last heard: 16 seats of 10 million."""

BURST_SEATS = 16
"""So many are asked at the beginning, whatever the rate."""

ROOT_S = 5e-7
"""For each of its open roots a seat has more time to answer."""


class SaveRequest:
    """Waits for the next full report of each of some leases.

    Parameters
    ----------
    rate
        Seats a second that are asked, after the first ``BURST_SEATS``.
    patience_s
        A seat that has not answered after so long, and ``ROOT_S`` for each of its
        roots, is waited for no longer.
    """

    def __init__(
        self,
        leases: Iterable[LeaseRecord],
        now: float,
        *,
        rate: float = math.inf,
        patience_s: float = math.inf,
    ) -> None:
        self._began, self._rate, self._patience_s = now, rate, patience_s
        self._queue = deque(leases)
        self._asked: dict[LeaseRecord, float] = {}  # and until when they have time
        self._n_asked = 0

    def next(self, now: float) -> list[LeaseRecord]:
        """Return the leases that are to be asked now."""
        for lease, until in list(self._asked.items()):
            if lease.ended or now >= until:
                del self._asked[lease]
                lease.unheard_save = True
        in_hand = sum(lease.open_roots for lease in self._asked)
        more = self._rate * (now - self._began) if now > self._began else 0.0
        found = []
        while self._queue and self._n_asked < BURST_SEATS + more:
            lease = self._queue[0]
            if self._asked and (
                len(self._asked) >= AT_ONCE_SEATS
                or in_hand + lease.open_roots > AT_ONCE_ROOTS
            ):
                break
            self._queue.popleft()
            if lease.ended:
                continue
            self._n_asked += 1
            found.append(lease)
            if not lease.unheard_save:
                until = now + self._patience_s + ROOT_S * lease.open_roots
                self._asked[lease] = until
                in_hand += lease.open_roots
        return found

    def reported(self, lease: LeaseRecord) -> None:
        """Take note of a full report."""
        self._asked.pop(lease, None)

    @property
    def done(self) -> bool:
        """Whether every lease has reported in full since, or is over.

        Or is waited for no longer; see ``next``, which has to be called meanwhile.
        """
        return not self._queue and all(lease.ended for lease in self._asked)
