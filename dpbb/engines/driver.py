"""The raw one-process driver: an engine's session from its first slice to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dpbb.engines.base import Candidate, Session, Slice
from dpbb.tree.counters import Counters


@dataclass(frozen=True, slots=True, eq=False)
class Exploration:
    """What a session did from its first slice on.

    Parameters
    ----------
    counters
        Sum over the slices. When not exhausted, ``counters.less_exported(
        session.remaining())`` are the counts of what is finished.
    best
        The best permutation below the ub that was found, None if there is none.
    optima
        With ``all_optima`` only: all leaves of the cost of ``best``.
    exhausted
        Nothing is left; False when ``on_slice`` stopped the exploration.
    """

    counters: Counters
    best: Candidate | None = None
    optima: tuple[Candidate, ...] = field(default=())
    exhausted: bool = False

    def then(self, part: Slice) -> Exploration:
        """Add a slice."""
        best = self.best
        if part.best is not None and (best is None or part.best.value < best.value):
            best = part.best
        optima = [
            leaf
            for leaf in (*self.optima, *part.optima)
            if best is not None and leaf.value == best.value
        ]
        counters = self.counters.plus(part.decomposed, part.leaves, part.closed)
        return Exploration(counters, best, tuple(optima), part.exhausted)


def explore_to_end(
    session: Session,
    ub: int,
    slice_s: float = 0.2,
    on_slice: Callable[[Slice, Exploration], bool | None] | None = None,
) -> Exploration:
    """Advance a loaded session until nothing is left.

    Parameters
    ----------
    session
        A session with its roots loaded; it stays open.
    ub
        The upper bound of every slice; the session itself lowers it.
    on_slice
        Called after every slice with it and the sum so far; True stops here.
    """
    total: Exploration | None = None
    while total is None or not total.exhausted:
        part = session.advance(ub, slice_s)
        if total is None:
            total = Exploration(Counters.zero(len(part.closed) - 1))
        total = total.then(part)
        if on_slice is not None and on_slice(part, total):
            break
    return total
