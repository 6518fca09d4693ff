"""What the simulation of a cluster assumes, and what it counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpbb.engines.base import Candidate


@dataclass(frozen=True, slots=True)
class Drop:
    """A better permutation: found after so many seconds, by some seat.

    ``gain`` is how much less work the whole tree is from then on, as a factor of the
    speed of those who know of it.
    """

    seconds: float
    candidate: Candidate
    gain: float


@dataclass(frozen=True, slots=True)
class Physics:
    """What the simulation assumes of cluster and seats; all seconds but the speed.

    Parameters
    ----------
    speed
        Nodes a second of a seat.
    roots
        Open roots of a seat, for the cost of its reports.
    latency_s
        Of a message, one way.
    start_s
        From the arrival of a task at the worker to its request for the lease.
    load_s
        From the lease to full speed.
    slice_s
        Between two looks at what others want.
    join_s
        The workers join within this time.
    donate_s
        Of the donor, to take the roots out of its session.
    """

    speed: float = 5e9
    roots: int = 16_384
    latency_s: float = 0.0005
    start_s: float = 0.004
    load_s: float = 0.05
    slice_s: float = 0.1
    join_s: float = 1.0
    donate_s: float = 0.02


@dataclass(slots=True)
class Tally:
    """What a simulated run came to; seconds are sums over all seats."""

    seconds: float = 0.0
    useful_s: float = 0.0  # exploring with the best UB known
    stale_s: float = 0.0  # lost by exploring with an older UB
    reporting_s: float = 0.0  # waiting for answers, making reports
    starting_s: float = 0.0  # between a lease's assignment and full speed
    idle_s: float = 0.0  # nothing to do
    loop_s: float = 0.0  # the event loop is busy
    thread_s: float = 0.0  # checking
    worst_queue_s: float = 0.0  # of the event loop
    bytes: int = 0
    units: int = 0
    donations: int = 0
