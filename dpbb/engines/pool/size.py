"""How many children are bounded together: found while the search runs."""

MEASURED = 3
"""Batches of a size before it is judged, by the one in the middle: a machine with other
work stops now and then."""

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
        self._batches: list[tuple[float, int]] = []  # seconds a child, children
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
        """
        if self._is_fixed or children < self.now // 2:
            return
        if self._unscheduled is None:
            self._unscheduled = unscheduled
        if not self._searches:
            if abs(unscheduled - self._unscheduled) > CHANGED * self._unscheduled:
                self._searches, self._best_rate = True, 0.0
                self._unscheduled = unscheduled
                self._batches = []
            return
        self._batches.append((max(seconds, 1e-9) / children, children))
        if len(self._batches) < MEASURED:
            return
        slowness, some = sorted(self._batches)[MEASURED // 2]
        rate, longest = 1 / slowness, slowness * some
        if rate <= GAIN * self._best_rate:
            self.now, self._searches = max(1, self.now // 2), False
        elif 2 * longest > self._longest_s or 2 * self.now > LARGEST:
            self._searches = False
            while longest > self._longest_s and self.now > 1:
                self.now, longest = self.now // 2, longest / 2
        else:
            self._best_rate, self.now = rate, 2 * self.now
        self._batches = []

    def shrink(self) -> None:
        """Take half: the device had no memory for so many."""
        self.now, self._searches = max(1, self.now // 2), False
