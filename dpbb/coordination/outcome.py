"""What a run has come to: what its checkpoints say of it, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dpbb.coordination.journal import Journal
from dpbb.coordination.messages import SeatId
from dpbb.coordination.optima import Optima
from dpbb.result import Improvement, Termination, Totals
from dpbb.result.result import Cost, Count
from dpbb.tree.counters import Counters


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a run has come to.

    Parameters
    ----------
    value, permutation
        The incumbent; None when there is none.
    trajectory
        Incumbents in the order of discovery, in seconds since the run was opened.
    n_optima
        With all optima: how many optimal permutations were found in all.
    totals
        What the run took so far.
    seats
        Seats that ever reported, in the order of their first report, with their engine.
    error
        Why the run failed; None if it did not.
    """

    value: Cost | None
    permutation: tuple[Count, ...] | None
    trajectory: tuple[Improvement, ...]
    n_optima: Count = 0
    totals: Totals
    seats: Mapping[SeatId, str] = field(default_factory=dict)
    error: str | None = None

    def standing(self) -> dict[str, Any]:
        """Return these values by name."""
        return {one.name: getattr(self, one.name) for one in fields(Standing)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome(Standing):
    """A finished run; the API makes the user's result of it.

    Parameters
    ----------
    termination
        Why the run ended; ``stopped`` for a failed one, which has an ``error``.
    broken
        It failed by an InvariantError.
    exhausted
        Every leaf was proved not to be below ``ub`` (closed leaves = n!).
    ub
        The final upper bound; see ``Order.ub``.
    lower_bound
        No permutation costs less; see ``Coordinator.lower_bound``. When exhausted,
        the incumbent's value, or a given upper bound below it.
    counters
        The ledger's, exact by laws 4 and 5; at a stop also nodes of seats that have not
        said what remains (``coordinator.LISTED_AT_STOP``), which ``closed`` leaves out.
    totals
        The same nodes, and what they took.
    optima
        With all optima: those that are held; see ``dpbb.coordination.optima``.
    journal
        For a certificate; None if the run kept none.
    """

    termination: Termination
    exhausted: bool
    broken: bool = False
    ub: int
    lower_bound: int
    counters: Counters
    optima: Optima | None = None
    journal: Journal | None = None

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines of the seats, each once."""
        return tuple(dict.fromkeys(self.seats.values()))

    @property
    def n_bytes(self) -> int:
        """Estimate of what its large parts take in memory."""
        optima = 0 if self.optima is None else self.optima.permutations.nbytes
        return optima + (0 if self.journal is None else self.journal.n_bytes)
