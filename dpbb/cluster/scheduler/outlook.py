"""What one run has left, by its latest estimate and what was explored since."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from dpbb.coordination.snapshot import RunState, Snapshot

FIRST_S = min(40.0, max(10.0, 80.0 / (os.cpu_count() or 1)))
"""Age of a run at its first estimate. Its process takes a second or two: of what the
cores of this machine have done by then 2 % or less, if they are two or more."""

AVERAGE_S = 10.0
"""Nodes a second are an average since the estimate, when it is older than this."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Nodes that were left at one moment of a run.

    Parameters
    ----------
    seconds, explored
        Age of the run, and nodes explored until then.
    ub
        Upper bound that it is for.
    left
        Low, middle and high: the truth is between in 9 of 10 cases.
    by_ub
        Nodes left for this UB, the UB less 1, and so on.
    """

    seconds: float
    explored: int
    ub: int
    left: tuple[float, float, float]
    by_ub: tuple[float, ...] = ()


@dataclass(slots=True)
class Outlook:
    """A run's latest estimate.

    Parameters
    ----------
    due_s
        Age of the run at the next one.
    busy
        Whether one is being made.
    count
        How many were made.
    """

    due_s: float = FIRST_S
    busy: bool = False
    count: int = 0
    latest: Estimate | None = None

    def left(self, explored: int, ub: int) -> tuple[float, float, float] | None:
        """Nodes that are left now: low, middle, high; None where that is not known.

        For a smaller UB than the estimate's by what that said of it. Where more was
        explored than had been thought possible: up to as much again.
        """
        if self.latest is None:
            return None
        since = explored - self.latest.explored
        fall, by_ub = self.latest.ub - ub, self.latest.by_ub
        share = 1.0
        if fall:
            if not 0 < fall < len(by_ub) or not by_ub[0]:
                return None
            share = by_ub[fall] / by_ub[0]
        low, middle, high = (share * nodes for nodes in self.latest.left)
        if since >= high:
            return 0.0, since / 2, float(since)
        low = max(0.0, low - since)
        return low, max(middle - since, (low + high - since) / 2), high - since

    def shown_on(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with what is left, where that is known."""
        explored = snapshot.nodes
        left = self.left(explored, snapshot.ub)
        if left is None or snapshot.state is not RunState.RUNNING:
            return snapshot
        low, middle, high = left
        snapshot = replace(snapshot, estimate_nodes=middle, left_nodes=(low, high))
        rate, latest = snapshot.nodes_per_second, self.latest
        if latest is not None and snapshot.seconds >= latest.seconds + AVERAGE_S:
            rate = (explored - latest.explored) / (snapshot.seconds - latest.seconds)
        if rate <= 0:
            return snapshot
        seconds = (low / rate, high / rate)
        return replace(snapshot, estimate_s=middle / rate, left_s=seconds)
