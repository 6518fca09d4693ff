"""What a run says when it is over; the API makes the user's result of it."""

from dataclasses import dataclass

from dpbb.coordination.journal import Journal
from dpbb.coordination.optima import Optima
from dpbb.result import Improvement, Termination, Totals
from dpbb.tree.counters import Counters


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A finished run.

    Parameters
    ----------
    termination
        Why the run ended; ``stopped`` for a failed one, which has an ``error``.
    exhausted
        Every leaf was proved not to be below ``ub`` (closed leaves = n!).
    value, permutation
        The incumbent; None when there is none.
    ub
        The final upper bound; see ``Order.ub``.
    lower_bound
        No permutation costs less; see ``Run.lower_bound``. When exhausted,
        the incumbent's value, or a given upper bound below it.
    counters
        The ledger's, exact by laws 4 and 5; at a stop also nodes of seats that have not
        said what remains (``answers.LISTED_AT_STOP``), which ``closed`` leaves out.
    totals
        The same nodes, and what they took.
    trajectory
        Incumbents in the order of discovery.
    seats
        Seats that ever reported, in the order of their first report.
    optima
        With all optima: those that are held; see ``dpbb.coordination.optima``.
    n_optima
        With all optima: how many optimal permutations were found in all.
    error
        Why the run failed; None when it did not.
    journal
        For a certificate; None if the run kept none.
    engines
        The engines of ``seats``, each once.
    """

    termination: Termination
    exhausted: bool
    value: int | None
    permutation: tuple[int, ...] | None
    ub: int
    lower_bound: int
    counters: Counters
    totals: Totals
    trajectory: tuple[Improvement, ...]
    seats: tuple[str, ...]
    optima: Optima | None = None
    n_optima: int = 0
    error: str | None = None
    engines: tuple[str, ...] = ()
    journal: Journal | None = None

    @property
    def n_bytes(self) -> int:
        """Estimate of what its large parts take in memory."""
        optima = 0 if self.optima is None else self.optima.permutations.nbytes
        return optima + (0 if self.journal is None else self.journal.n_bytes)
