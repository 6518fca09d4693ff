"""The one read model of a run: what dashboard, progress rows, logs and metrics see."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from dpbb.result import Improvement, Termination, Totals
from dpbb.result.result import Cost

WAITING_S = 1.0
"""People are told what they wait for when it takes so long."""


class RunState(StrEnum):
    """Where a run is in its life."""

    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SeatSnapshot:
    """One seat as a run sees it.

    Parameters
    ----------
    busy, silent
        Whether it has a unit; whether its lease expired and nothing came since. It is
        idle if neither.
    unit, decomposed, nodes_per_second, open_roots
        What it has, and what it did of it.
    donations, donated_roots
        What it gave to others since it joined this run; of a run that was resumed,
        since then.
    name
        What people call it: the worker's name in Dask's dashboard, and the device.
    heard_s
        When it last reported on its unit, in seconds since the run was opened; None
        without a unit.
    """

    seat: str
    worker: str
    device: str
    engine: str
    busy: bool
    unit: int | None = None
    decomposed: int = 0
    nodes_per_second: float = 0.0
    open_roots: int = 0
    silent: bool = False
    donations: int = 0
    donated_roots: int = 0
    name: str = ""
    heard_s: float | None = None

    @property
    def label(self) -> str:
        """What people are shown."""
        return self.name or self.seat

    @property
    def state(self) -> str:
        """One of "busy", "silent", "idle"."""
        return "busy" if self.busy else "silent" if self.silent else "idle"


@dataclass(frozen=True, slots=True)
class CheckpointSnapshot:
    """State of a run's checkpoints; times in seconds since the run was opened.

    Parameters
    ----------
    url, host
        Where they are written, absolute, and from which host.
    interval_s
        Seconds between checkpoints.
    saving
        One is being written now.
    last_s, last_bytes, last_duration_s
        When the last success was, its size and how long it took; None before it.
    next_s
        When the next one is due; None after the end.
    written, failures
        How many succeeded and failed.
    error, error_s
        What the last failure said, and when; None without one.
    files
        Names of those that are kept, newest first.
    at_risk_s
        Work at risk: the age of the oldest exploration that the newest checkpoint does
        not have. So many seconds would be lost if everything stopped now.
    promised_s
        What that is at most, the interval if the seats can do it: a longer time where
        there are more of them, or more roots, than can be gathered and written in it. A
        seat that does not answer, or a store that fails, makes it longer yet.
    """

    url: str
    host: str
    interval_s: float
    saving: bool = False
    last_s: float | None = None
    last_bytes: int | None = None
    last_duration_s: float | None = None
    next_s: float | None = None
    written: int = 0
    failures: int = 0
    error: str | None = None
    error_s: float | None = None
    files: tuple[str, ...] = ()
    at_risk_s: float = 0.0
    promised_s: float = 0.0


@dataclass(frozen=True, slots=True)
class EventRecord:
    """Something that happened, once or several times.

    Parameters
    ----------
    seconds
        Since the start of the run; of several times, the last.
    kind, text
        What it is, for programs and for people; the text is that of the last time.
    count
        How often.
    first_s
        When first; None if it was once.
    """

    seconds: float
    kind: str
    text: str
    count: int = 1
    first_s: float | None = None

    @property
    def since_s(self) -> float:
        """When it was for the first time."""
        return self.seconds if self.first_s is None else self.first_s


@dataclass(frozen=True, slots=True)
class Left:
    """What a run has left: low, middle, high; the truth is between in 9 of 10 cases.

    Parameters
    ----------
    nodes
        Decomposed nodes and leaves.
    seconds
        At the rate of the run; None where nothing has been explored for a while.
    """

    nodes: tuple[float, float, float]
    seconds: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(Totals):
    """A run at one moment; plain numbers and strings, safe to pickle and to show.

    Parameters
    ----------
    seconds
        Since the run was opened.
    value, permutation
        The incumbent; None when there is none.
    ub
        Upper bound, prune LB >= ub: the incumbent's value, or the cutoff that is
        below it; with all optima one more than the value. No schedule need have it.
    lower_bound
        Least LB over open roots at the last full reports, never above value or cutoff.
    gap
        (value - lower_bound) / value; None without an incumbent.
    decomposed, leaves, explore_seconds, gpu_seconds, energy_j
        See ``Totals``; while running, light reports included; at the end the ledger's.
    units, donations, requeues
        See ``Totals``.
    nodes_per_second
        Decomposed nodes and leaves a second over the last few seconds.
    explored
        Closed leaves over n!, a share of leaves, not of time; 0 and 1 are exact.
    waiting, leased
        Units waiting and being explored.
    seats
        Seats of this run, idle ones included.
    spans
        Map of [0, n!) for the eye: (begin, end, state) as shares of n!, state one of
        "waiting", "leased"; the rest is finished. At most a few hundred.
    events
        What happened, oldest first: a bounded number of rows of each kind, the later
        ones one by one, and none that is not counted in one of them.
    checkpoint
        State of the checkpoints; None when the run writes none.
    seats_lost
        Seats that went away with their workers since the run was opened, or resumed
        for the last time; those that another run got are not among them.
    closed
        Closed subtrees at each depth as of the last full reports; n_jobs + 1 numbers.
    engine_nodes
        Nodes of both kinds of each engine since the run was opened, or resumed for the
        last time, light reports included: (engine, nodes).
    left
        What is left; None while there is no useful estimate.
    objective
        What the cost is called.
    waits_for
        What keeps a running run from exploring, for longer than a second, in a few
        words: such as "no workers connected". Empty: nothing.
    opened_at
        When the run would have been opened had it never been interrupted, in seconds
        since 1970, by the scheduler's clock; None where nobody has noted it.
    shares_with
        Other runs, by the names of their instances, with which it takes turns on fewer
        seats than there are runs.
    submitter
        Who opened it, on which host, with which dpbb; empty where nobody said so.
    """

    run_id: str
    instance: str
    state: RunState
    value: Cost | None
    permutation: tuple[int, ...] | None
    ub: Cost
    lower_bound: Cost | None
    gap: float | None
    nodes_per_second: float
    explored: float
    waiting: int
    leased: int
    open_roots: int
    seats: tuple[SeatSnapshot, ...] = ()
    trajectory: tuple[Improvement, ...] = ()
    spans: tuple[tuple[float, float, str], ...] = ()
    events: tuple[EventRecord, ...] = field(default=())
    termination: str | None = None
    error: str | None = None
    checkpoint: CheckpointSnapshot | None = None
    closed: tuple[int, ...] = ()
    seats_lost: int = 0
    engine_nodes: tuple[tuple[str, int], ...] = ()
    objective: str = "makespan"
    waits_for: str = ""
    left: Left | None = None
    opened_at: float | None = None
    shares_with: tuple[str, ...] = ()
    submitter: str = ""

    @property
    def exhausted(self) -> bool:
        """Whether the whole tree is explored: what is known then is proved."""
        return self.termination == Termination.EXHAUSTED

    def later(self, seconds: float) -> Snapshot:
        """Return it with times that count from so many seconds before.

        When its seats reported last stays as it is.
        """
        if not seconds:
            return self
        saved = self.checkpoint

        def at(time: float | None) -> float | None:
            return None if time is None else seconds + time

        if saved is not None:
            saved = replace(
                saved,
                last_s=at(saved.last_s),
                next_s=at(saved.next_s),
                error_s=at(saved.error_s),
            )
        return replace(
            self,
            seconds=seconds + self.seconds,
            trajectory=tuple(
                replace(one, seconds=seconds + one.seconds) for one in self.trajectory
            ),
            events=tuple(
                replace(one, seconds=seconds + one.seconds, first_s=at(one.first_s))
                for one in self.events
            ),
            checkpoint=saved,
        )
