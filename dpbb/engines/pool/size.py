"""How many children are bounded together: found while the search runs."""

from __future__ import annotations

MEASURED = 3
"""Batches of a size before it is judged."""

GAIN = 1.05
"""A larger size is kept if it raises the rate of bounds by so much."""

CHANGED = 0.2
"""The search starts again when nodes have so many more, or fewer, unscheduled jobs."""

LARGEST = 1 << 18
"""Children of the largest batch that is tried; the founding papers' largest pool."""


class PoolSize:
    """Number of children of a batch, as the rates of earlier ones say.

    It is doubled while the rate grows by more than 5 %, then goes back by one step and
    stays until nodes have become larger or smaller by a fifth.

    Parameters
    ----------
    first
        Size to start from.
    fixed
        Given by the user: it never changes.
    longest_s
        No size is chosen whose batch would take longer.
    """

    def __init__(self, first: int, fixed: int | None, longest_s: float) -> None:
        self._first, self._longest_s = first, longest_s
        self.now = first if fixed is None else fixed
        self._searches = fixed is None
        self._is_fixed = fixed is not None
        self._nodes, self._seconds, self._batches = 0, 0.0, 0
        self._best_rate = 0.0
        self._unscheduled: float | None = None

    def note(self, children: int, seconds: float, unscheduled: float) -> None:
        """Learn from a batch.

        Parameters
        ----------
        children
            That were bounded; batches of less than half the size say nothing.
        seconds
            From one batch's end to the next one's.
        unscheduled
            Unscheduled jobs of its nodes, on average.
        """
        if self._is_fixed or children < self.now // 2:
            return
        if self._unscheduled is None:
            self._unscheduled = unscheduled
        if not self._searches:
            if abs(unscheduled - self._unscheduled) > CHANGED * self._unscheduled:
                self._searches, self._best_rate = True, 0.0
                self._unscheduled = unscheduled
                self._forget()
            return
        self._nodes += children
        self._seconds += seconds
        self._batches += 1
        if self._batches < MEASURED:
            return
        rate = self._nodes / max(self._seconds, 1e-9)
        longest = self._seconds / self._batches
        if rate <= GAIN * self._best_rate:
            self.now, self._searches = max(1, self.now // 2), False
        elif 2 * longest > self._longest_s or 2 * self.now > LARGEST:
            self._searches = False
            while longest > self._longest_s and self.now > 1:
                self.now, longest = self.now // 2, longest / 2
        else:
            self._best_rate, self.now = rate, 2 * self.now
        self._forget()

    def shrink(self) -> None:
        """Take half: the device had no memory for so many."""
        self.now, self._searches = max(1, self.now // 2), False

    def _forget(self) -> None:
        self._nodes, self._seconds, self._batches = 0, 0.0, 0
