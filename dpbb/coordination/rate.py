"""Nodes a second of a run, as people see them."""

from collections import deque

WINDOW_S = 5.0
"""Nodes a second are an average over about this long."""

_STEP_S = 0.25  # between two samples


class RateMeter:
    """Nodes a second over the last few seconds.

    Parameters
    ----------
    now
        The time, in seconds of any monotonic clock.
    nodes
        How many there are already.

    Attributes
    ----------
    window_s
        The length of the average; may be set.
    """

    def __init__(self, now: float, nodes: int = 0) -> None:
        self.window_s = WINDOW_S
        self._samples: deque[tuple[float, int]] = deque([(now, nodes)])

    def note(self, now: float, nodes: int) -> None:
        """Take a sample, if the last one is not too young."""
        if now - self._samples[-1][0] < _STEP_S:
            return
        self._samples.append((now, nodes))
        while len(self._samples) > 2 and now - self._samples[1][0] >= self.window_s:
            self._samples.popleft()

    def rate(self, now: float, nodes: int) -> float:
        """Nodes a second until now; 0 if nodes were lost with a lease."""
        then, before = self._samples[0]
        return max(0.0, (nodes - before) / (now - then)) if now > then else 0.0
