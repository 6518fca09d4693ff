"""How often seats report, and how many nodes a second they explore.

They report less often where many do, or where reports are large.
"""

from collections import deque

from dpbb.coordination.messages import RunSpec

MAX_REPORTS, MAX_REPORT_BYTES = 125.0, 6e6
"""Periodic reports of all seats a second, and bytes of the full ones among them."""

SIGNS_OF_LIFE = 3.1
"""A seat reports at least so often within the time after which its lease expires.

With an interval that is jittered by half two reports still fit.
"""

ASKED_TIMES = 4.0
"""Seats of a run with checkpoints are asked for full reports before each of them. By
themselves they report as seldom as this: it matters where a store hangs for long."""

_WEIGHT = 0.05  # of one full report in the average size


class Pace:
    """Report intervals of one run.

    A light report costs the scheduler's event loop some fraction of a millisecond,
    whatever it says, and a full one its bytes. So the intervals that a run asks for are
    stretched, for all seats alike, until the reports of all leases together stay below
    a number and a number of bytes a second. Every answer carries them (``Order``).
    """

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self._full_bytes: float | None = None

    def note_full(self, n_bytes: int) -> None:
        """Take the size of a full report into the average."""
        if self._full_bytes is None:
            self._full_bytes = n_bytes
        else:
            self._full_bytes += _WEIGHT * (n_bytes - self._full_bytes)

    def report_s(self, leases: int) -> float:
        """Seconds from one light report of a lease to the next."""
        spec = self._spec
        asked = max(spec.options.report_interval_s, leases / MAX_REPORTS)
        return min(asked, spec.lease_timeout_s / SIGNS_OF_LIFE)

    def full_s(self, leases: int) -> float:
        """Seconds from one periodic full report of a lease to the next."""
        spec = self._spec
        stretched = leases * (self._full_bytes or 0.0) / MAX_REPORT_BYTES
        full_s = max(spec.options.checkpoint_interval_s, stretched)
        return full_s if spec.options.checkpoint is None else ASKED_TIMES * full_s


WINDOW_S, WINDOW_REPORTS = 5.0, 3.0
"""Nodes a second are an average over about so long, and over so many reports."""


def window_of(report_s: float) -> float:
    """Seconds that rates are averages over, with reports every ``report_s``."""
    return max(WINDOW_S, WINDOW_REPORTS * report_s)


_STEP_S = 0.25  # between two samples


class RateMeter:
    """Nodes a second over the last few seconds, or over a few reports.

    ``window_s``: the length of the average; may be set to more than ``least_s``.
    """

    def __init__(self, now: float, nodes: int, report_s: float) -> None:
        self.window_s = self.least_s = window_of(report_s)
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
