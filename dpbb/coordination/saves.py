"""Full reports of all seats, asked for so that a checkpoint is up to date.

Not of all seats at once: thousands of them would keep the scheduler busy for seconds,
and a few that hold tens of millions of roots each would fill its memory. The next ones
are asked as soon as the ones before have answered. A seat that does not answer in its
time is waited for no longer, and no request waits for it again until it has reported.
"""

import math
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from dpbb.coordination.messages import LeaseId

AT_ONCE_SEATS = 64
"""Seats that are waited for at a time."""

AT_ONCE_ROOTS = 160_000_000
"""Open roots that these seats have, as last heard: 16 seats of 10 million."""

BURST_SEATS = 16
"""So many are asked at the beginning, whatever the rate."""

ROOT_S = 5e-7
"""For each of its open roots a seat has more time to answer."""


@dataclass(slots=True, eq=False)
class SaveRequest:
    """One request: who has to be asked yet, and who was and has until when."""

    began: float
    rate: float
    patience_s: float
    queue: deque[tuple[LeaseId, int]]
    asked: dict[LeaseId, tuple[float, int]] = field(default_factory=dict)
    n_asked: int = 0


class Saves:
    """Requests that all leased seats report in full.

    ``open``: those that nobody has seen done yet.
    """

    def __init__(self) -> None:
        self.open: list[SaveRequest] = []
        self._silent: set[LeaseId] = set()

    def request(
        self,
        leases: Mapping[LeaseId, int],
        now: float,
        *,
        rate: float = math.inf,
        patience_s: float = math.inf,
    ) -> SaveRequest:
        """Wait for the next full report of each of these leases.

        Parameters
        ----------
        leases
            With their numbers of open roots.
        rate
            Seats a second that are asked, after the first ``BURST_SEATS``.
        patience_s
            A seat that has not answered after so long, and ``ROOT_S`` for each of its
            roots, is waited for no longer.
        """
        request = SaveRequest(now, rate, patience_s, deque(leases.items()))
        self.open.append(request)
        return request

    def next(
        self, request: SaveRequest, now: float, leases: Collection[LeaseId]
    ) -> list[LeaseId]:
        """Return the leases that are to be asked now.

        ``leases``: those that there are now: the others are waited for no longer.
        """
        self._silent.intersection_update(leases)
        for lease, (until, _) in list(request.asked.items()):
            if lease not in leases or now >= until:
                del request.asked[lease]
                if lease in leases:
                    self._silent.add(lease)
        in_hand = sum(roots for _, roots in request.asked.values())
        more = request.rate * (now - request.began) if now > request.began else 0.0
        found = []
        while request.queue and request.n_asked < BURST_SEATS + more:
            lease, roots = request.queue[0]
            if request.asked and (
                len(request.asked) >= AT_ONCE_SEATS or in_hand + roots > AT_ONCE_ROOTS
            ):
                break
            request.queue.popleft()
            if lease not in leases:
                continue
            request.n_asked += 1
            found.append(lease)
            if lease not in self._silent:
                until = now + request.patience_s + ROOT_S * roots
                request.asked[lease] = until, roots
                in_hand += roots
        return found

    def reported(self, lease: LeaseId) -> None:
        """Take note of a full report."""
        self._silent.discard(lease)
        for request in self.open:
            request.asked.pop(lease, None)

    def done(self, request: SaveRequest, leases: Collection[LeaseId]) -> bool:
        """Whether every lease of that moment has reported in full since, or is gone.

        Or is waited for no longer; see ``next``, which has to be called meanwhile.

        ``leases``: those that there are now.
        """
        for lease in [lease for lease in request.asked if lease not in leases]:
            del request.asked[lease]
        if request.queue or request.asked:
            return False
        if request in self.open:
            self.open.remove(request)
        return True
