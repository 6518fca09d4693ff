"""What the hub keeps of a run: coordinator and seats while it is open, then its end."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dpbb.cluster.scheduler.checkpoints import Keeper
from dpbb.cluster.scheduler.forecasts import Outlook
from dpbb.cluster.scheduler.heuristics import HeuristicsState
from dpbb.coordination.coordinator import Coordinator
from dpbb.coordination.messages import Assignment, RunId, SeatId, UnitId
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
    tasks: dict[SeatId, Assignment] = field(default_factory=dict)  # a future each
    informed: set[str] = field(default_factory=set)  # workers that hold something
    unit_failures: Counter[UnitId] = field(default_factory=Counter)
    seat_failures: Counter[SeatId] = field(default_factory=Counter)
    resting: dict[SeatId, float] = field(default_factory=dict)  # until when
    excluded: set[SeatId] = field(default_factory=set)
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
    attached: bool = False  # others than who opened it may ask for its result
    heuristics: HeuristicsState = field(default_factory=HeuristicsState)

    @property
    def id(self) -> RunId:
        """Name of the run."""
        return self.coordinator.spec.run_id

    @property
    def opened(self) -> float:
        """When it would have been opened, by the hub's clock, never interrupted."""
        return self.coordinator.opened

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

    def seatless_s(self, now: float) -> float:
        """Return for how long the run has had no seat, as far as was looked."""
        if self.seats:
            self.seatless_since, self.seatless_told = None, False
        elif self.seatless_since is None:
            self.seatless_since = now
        return 0.0 if self.seatless_since is None else now - self.seatless_since

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


@dataclass(slots=True, eq=False)
class FinishedRun:
    """What is kept of a run that is over, for those who ask later."""

    outcome: Outcome
    snapshot: Snapshot
    version: int
    blob: bytes  # the pickled RunSpec
    opened: float  # see ``OpenRun``
    attached: bool

    @property
    def n_bytes(self) -> int:
        """Estimate of what its large parts take in memory."""
        return len(self.blob) + self.outcome.n_bytes
