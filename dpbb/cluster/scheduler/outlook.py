"""What one run has left, by its last estimate, counted down as it is explored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpbb.coordination.snapshot import RunState

if TYPE_CHECKING:
    from dpbb.coordination.snapshot import Snapshot

FIRST_S = 40.0
"""Age of a run at its first estimate: to start the process takes a second."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What was left when so many nodes were explored.

    Parameters
    ----------
    by_ub
        Nodes left with the UB of then, with the UB less 1, and so on.
    explored, ub
        Nodes and UB of then.
    """

    by_ub: tuple[float, ...]
    explored: int
    ub: int

    def left(self, explored: int) -> float | None:
        """Nodes that are left now, at the UB of then; None when it was too low."""
        left = self.by_ub[0] - (explored - self.explored)
        return left if left > 0 else None

    def follow(self, explored: int, ub: int) -> Forecast | None:
        """Return the same for a smaller UB; None if too little is known for it.

        What was explored since is taken to be the same share of every tree.
        """
        fall, left = self.ub - ub, self.left(explored)
        if left is None or not self.by_ub[0] or not 0 < fall < len(self.by_ub):
            return None
        share = left / self.by_ub[0]
        return Forecast(tuple(n * share for n in self.by_ub[fall:]), explored, ub)


@dataclass(frozen=True, slots=True)
class Remaining:
    """Between how many nodes were left, when so many were explored.

    ``reliable``: what is outside is no more likely than the estimate says.
    """

    low: float
    high: float
    explored: int
    reliable: bool


@dataclass(slots=True)
class Outlook:
    """A run's estimates.

    Parameters
    ----------
    due_s
        Age of the run at the next one.
    busy_s
        Age of the run when the one was begun that is being made; None without one.
    awaited
        The events say that the first one takes its time.
    latest
        The last one.
    remaining
        The last one, however doubtful; for decisions, not for people.
    count
        How many were made.
    """

    due_s: float = FIRST_S
    busy_s: float | None = None
    awaited: bool = False
    latest: Forecast | None = None
    remaining: Remaining | None = None
    count: int = 0

    def shown_on(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with what is left, where that is known."""
        if self.latest is None or snapshot.state is not RunState.RUNNING:
            return snapshot
        explored = snapshot.decomposed + snapshot.leaves
        left = self.latest.left(explored)
        if left is None or snapshot.ub != self.latest.ub:
            return snapshot
        rate = snapshot.nodes_per_second
        seconds = left / rate if rate > 0 else None
        return replace(snapshot, estimate_nodes=left, estimate_s=seconds)
