"""What the hub keeps of a run: coordinator and seats while it is open, then its end."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dpbb.cluster.scheduler.heuristics import HeuristicsState
from dpbb.cluster.scheduler.keeper import Keeper
from dpbb.cluster.scheduler.outlook import Outlook
from dpbb.coordination.coordinator import Coordinator
from dpbb.coordination.messages import Assignment, Lease, LeaseId, RunId, SeatId, UnitId
from dpbb.coordination.outcome import Outcome
from dpbb.coordination.snapshot import RunState, Snapshot

UNIT_FAILURES = 3
"""A unit whose task has raised so often fails the run."""

SEAT_FAILURES = 3
"""A seat on which so many tasks of a run in a row have raised serves it no more."""

FIRST_PAUSE_S = 0.5
"""A seat rests after a failure, twice as long each time, so that another tries."""


NO_SEAT_S = 3.0
"""A run that has had no seat for so long says why, once."""


@dataclass(slots=True)
class SeatTask:
    """A future on a seat, and what it is at.

    Parameters
    ----------
    named
        The first unit, which names the future.
    at
        The unit that it explores, or explored last.
    lease
        Of that unit; None until the task has asked for it.
    reported
        Whether the last report on this lease has come; it may come again.
    parked_at
        When the task began to wait for another unit; None: it does not.
    """

    named: Assignment
    at: Assignment
    lease: LeaseId | None = None
    reported: bool = False
    parked_at: float | None = None


@dataclass(slots=True, eq=False)
class OpenRun:
    """A run that goes on.

    Parameters
    ----------
    blob
        The pickled RunSpec, as the workers fetch it.
    engines
        What explores on each kind of device.
    keeper
        Of its checkpoints; None when it writes none.
    """

    coordinator: Coordinator
    blob: bytes
    engines: Mapping[str, str] = field(default_factory=dict)
    seats: set[SeatId] = field(default_factory=set)
    leaving: set[SeatId] = field(default_factory=set)  # draining, then given up
    tasks: dict[SeatId, SeatTask] = field(default_factory=dict)
    lease_seats: dict[LeaseId, SeatId] = field(default_factory=dict)  # of the tasks
    informed: set[str] = field(default_factory=set)  # workers that hold something
    unit_failures: Counter[UnitId] = field(default_factory=Counter)
    seat_failures: Counter[SeatId] = field(default_factory=Counter)
    resting: dict[SeatId, float] = field(default_factory=dict)  # until when
    excluded: set[SeatId] = field(default_factory=set)
    broken: bool = False  # failed by an InvariantError
    version: int = 0  # raised when those who watch should look
    seen: tuple[int | None, int | None] = (None, None)  # value and lower bound then
    sent_ub: int | None = None
    sent_at: float = 0.0
    look_at: float = -math.inf  # when its clock is looked at next
    seatless_since: float | None = None
    seatless_told: bool = False
    waits_for: str = ""  # why there is no seat, in a few words
    keeper: Keeper | None = None  # of its checkpoints
    outlook: Outlook = field(default_factory=Outlook)  # what it has left
    shares_with: tuple[RunId, ...] = ()  # runs that it takes turns with on few seats
    shares_names: tuple[str, ...] = ()  # of their instances
    opened_at: float | None = None  # see ``Snapshot``
    submitter: str = ""
    heuristics: HeuristicsState = field(default_factory=HeuristicsState)

    @property
    def id(self) -> RunId:
        """Name of the run."""
        return self.coordinator.spec.run_id

    def snapshot(self, now: float) -> Snapshot:
        """Return the state of the run, of its checkpoints, and what is left."""
        snapshot = replace(
            self.outlook.shown_on(self.coordinator.snapshot(now)),
            opened_at=self.opened_at,
            shares_with=self.shares_names,
            submitter=self.submitter,
        )
        if self.waits_for and snapshot.state is RunState.RUNNING:
            snapshot = replace(snapshot, waits_for=self.waits_for)
        if self.keeper is None:
            return snapshot
        return replace(snapshot, checkpoint=self.keeper.status(now, snapshot.seconds))

    @property
    def settled(self) -> set[SeatId]:
        """Seats that are there to stay."""
        return self.seats - self.leaving

    def lacks_seats(self, now: float) -> bool:
        """Whether people are to be told that there is no seat: once each time."""
        tell = self.seatless_s(now) >= NO_SEAT_S and not self.seatless_told
        self.seatless_told |= tell
        return tell

    def seatless_s(self, now: float) -> float:
        """Return for how long the run has had no seat, as far as was looked."""
        if self.seats:
            self.seatless_since, self.seatless_told = None, False
        elif self.seatless_since is None:
            self.seatless_since = now
        return 0.0 if self.seatless_since is None else now - self.seatless_since

    def employ(self, seat: SeatId, assignment: Assignment) -> None:
        """Note that there is a task for a seat."""
        self.tasks[seat] = SeatTask(assignment, assignment)

    def follow(self, seat: SeatId, lease: Lease) -> None:
        """Note that the task on a seat goes on with another unit."""
        task = self.tasks[seat]
        task.at = Assignment(lease.unit, lease.attempt, seat)
        task.reported, task.parked_at = False, None
        self.note_lease(seat, lease.id)

    def free(self, seat: SeatId) -> Assignment | None:
        """Note that a seat's task is over; return the unit that it was at."""
        task = self.tasks.pop(seat, None)
        if task is None:
            return None
        if task.lease is not None:
            del self.lease_seats[task.lease]
        return task.at

    def note_lease(self, seat: SeatId, lease: LeaseId) -> None:
        """Remember whose lease it is, until the task's next."""
        task = self.tasks.get(seat)
        if task is None:
            return
        if task.lease is not None:
            del self.lease_seats[task.lease]
        task.lease = lease
        self.lease_seats[lease] = seat

    def task_of(self, lease: LeaseId) -> tuple[SeatId, SeatTask] | None:
        """Return the task that holds a lease, and its seat; None if none does."""
        seat = self.lease_seats.get(lease)
        return None if seat is None else (seat, self.tasks[seat])

    def is_parked(self, seat: SeatId) -> bool:
        """Whether the seat's task waits for a unit."""
        return seat in self.tasks and self.tasks[seat].parked_at is not None

    @property
    def exploring(self) -> set[SeatId]:
        """Seats that explore, or are about to."""
        return {seat for seat, task in self.tasks.items() if task.parked_at is None}

    def parked_since(self, moment: float) -> list[SeatId]:
        """Seats that have waited for a unit since then at least."""
        return [
            seat
            for seat, task in self.tasks.items()
            if task.parked_at is not None and task.parked_at <= moment
        ]

    def forget_seat(self, seat: SeatId) -> None:
        """Forget a seat that serves the run no more."""
        self.seats.discard(seat)
        self.leaving.discard(seat)

    def note_failure(self, seat: SeatId, unit: UnitId, now: float) -> str | None:
        """Count a task that raised; returns why the run cannot go on, if so."""
        self.unit_failures[unit] += 1
        self.seat_failures[seat] += 1
        self.resting[seat] = now + FIRST_PAUSE_S * 2 ** (self.seat_failures[seat] - 1)
        if self.unit_failures[unit] >= UNIT_FAILURES:
            return f"unit {unit} failed {UNIT_FAILURES} times"
        if self.seat_failures[seat] >= SEAT_FAILURES:
            self.excluded.add(seat)
        return None

    def rests(self, seat: SeatId, now: float) -> bool:
        """Whether the seat is not to be given a unit yet."""
        return self.resting.get(seat, now) > now


@dataclass(frozen=True, slots=True, eq=False)
class FinishedRun:
    """What is kept of a run that is over, for those who ask later."""

    outcome: Outcome
    snapshot: Snapshot
    broken: bool
    version: int
    blob: bytes  # the pickled RunSpec
    ended: float  # when, by the hub's clock

    @property
    def n_bytes(self) -> int:
        """Estimate of what its large parts take in memory."""
        return len(self.blob) + self.outcome.n_bytes
