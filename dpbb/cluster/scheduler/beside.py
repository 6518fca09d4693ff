"""Heuristics beside the tree: how many threads of which worker, and what they know.

On the host of a GPU they have the cores that nobody explores with. A CPU seat explores
with all threads of its worker, so there the split follows what is left of the tree: one
that ends soon gets all of them, a hopeless one leaves all but one to the heuristics.
What is decided goes to the workers as orders, each of which says all that holds from
then on (``dpbb.cluster.worker.heuristics``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from dpbb.coordination.snapshot import RunState
from dpbb.options import EngineName
from dpbb.problem import ImprovesBeside

if TYPE_CHECKING:
    from dpbb.cluster.scheduler.open_run import OpenRun
    from dpbb.cluster.scheduler.seats import SeatState, SeatTable
    from dpbb.cluster.scheduler.shell import Shell
    from dpbb.coordination.messages import RunId

MOST_IDLE = 16
"""Threads on the idle cores of one worker with a GPU, at most."""

LOOK_S = 0.25
"""A run is looked at this often, and its incumbents are sent no more often."""

WORKER_S = 1e-3
"""For each of its workers a run is left alone for so much longer."""

SOON_S = 600.0
"""A tree that ends within this is not held up."""

HOPELESS_S = 30 * 86400.0
"""A tree that takes longer is not waited for, where no time limit says so."""

BEYOND = 2.0
"""With a time limit: a tree is hopeless that takes this many times what is left."""

DOUBT = 1000.0
"""An estimate that is not reliable may be wrong by this factor."""

SHARE_OF_LIMIT = 0.1
FIRST_S, LATEST_S = 2.0, 10.0
"""Where threads are to be split, the first estimate is wanted after this part of a time
limit, within these limits; without one at the last."""


class Prospect(StrEnum):
    """What is left of a tree."""

    UNKNOWN = "unknown"
    SOON = "soon"
    OPEN = "open"
    HOPELESS = "hopeless"


@dataclass(frozen=True, slots=True)
class Part:
    """What one worker does for a run besides what its seats explore.

    Parameters
    ----------
    threads
        Threads that improve schedules.
    explorers
        Threads that its CPU seat explores with; None: all that it has.
    """

    threads: int = 0
    explorers: int | None = None


@dataclass(slots=True)
class BesideState:
    """What was decided for a run, and told to its workers."""

    parts: dict[str, Part] = field(default_factory=dict)  # as sent, by worker
    value: int | None = None  # of the incumbent that was sent
    prospect: Prospect = Prospect.UNKNOWN
    estimates: int = 0  # that the prospect follows from
    began: float | None = None
    look_at: float = -math.inf


class Beside:
    """Decides about the runs of a hub."""

    def __init__(
        self,
        table: SeatTable,
        runs: Mapping[RunId, OpenRun],
        shell: Shell,
        clock: Callable[[], float],
    ) -> None:
        self._table = table
        self._runs = runs
        self._shell = shell
        self._clock = clock

    def tick(self) -> None:
        """Look at every run that it is time for."""
        now = self._clock()
        for run in self._runs.values():
            if now >= run.beside.look_at:
                self._look(run, now)

    def end(self, run: OpenRun) -> None:
        """End the heuristics of a run, at once."""
        self._send(run, {})

    def _look(self, run: OpenRun, now: float) -> None:
        state, spec = run.beside, run.coordinator.spec
        wanted = spec.options.heuristic_threads
        if wanted == 0 or not isinstance(spec.problem, ImprovesBeside):
            state.look_at = math.inf
            return
        if state.began is None:
            state.began = now
        seats = self._seats(run)
        if wanted is None and self._splits(run, seats):
            limit = spec.time_limit_s
            first = LATEST_S
            if limit is not None:
                first = min(max(SHARE_OF_LIMIT * limit, FIRST_S), LATEST_S)
            run.outlook.due_s = min(run.outlook.due_s, first)
            self._estimate(run, seats, now)
        before = state.parts
        parts = self._parts(run, seats, wanted)
        self._send(run, parts)
        if parts != before:
            self._say(run, parts, seats, now)
        state.look_at = now + LOOK_S + WORKER_S * len(parts)

    def _seats(self, run: OpenRun) -> dict[str, list[SeatState]]:
        """Seats of the run that stay, by worker."""
        found: dict[str, list[SeatState]] = {}
        if run.coordinator.state is not RunState.RUNNING:
            return found
        for seat_id in sorted(run.settled):
            seat = self._table.seats[seat_id]
            if not self._table.workers[seat.worker].leaving:
                found.setdefault(seat.worker, []).append(seat)
        return found

    @staticmethod
    def _splits(run: OpenRun, seats: Mapping[str, list[SeatState]]) -> bool:
        """Whether there are threads to split between tree and heuristics."""
        fast = run.engines.get("cpu") == EngineName.CPU
        return fast and any(threads_of(mine) > 1 for mine in seats.values())

    def _estimate(
        self, run: OpenRun, seats: Mapping[str, list[SeatState]], now: float
    ) -> None:
        """Follow a new estimate of what is left."""
        state, left = run.beside, run.outlook.remaining
        if left is None or run.outlook.count == state.estimates:
            return
        snapshot = run.coordinator.snapshot(now)
        there = sum(threads_of(mine) for mine in seats.values())
        used = sum(
            state.parts.get(worker, Part()).explorers or threads_of(mine)
            for worker, mine in seats.items()
        )
        rate = snapshot.nodes_per_second * there / max(used, 1)
        if not rate:
            return
        state.estimates = run.outlook.count
        explored = snapshot.decomposed + snapshot.leaves - left.explored
        doubt = 1.0 if left.reliable else DOUBT
        limit, began = run.coordinator.spec.time_limit_s, state.began or now
        state.prospect = prospect_of(
            max(left.low - explored, 0.0) / rate / doubt,
            max(left.high - explored, 0.0) / rate * doubt,
            None if limit is None else began + limit - now,
        )

    def _parts(
        self, run: OpenRun, seats: Mapping[str, list[SeatState]], wanted: int | None
    ) -> dict[str, Part]:
        """Return what every worker of the run is to do."""
        idle = self._idle_cores() if wanted is None else {}
        parts = {}
        for worker, mine in seats.items():
            if mine[0].device.kind == "cuda":
                host = self._table.workers[worker].host
                threads = idle.get(host, 0) if wanted is None else wanted
                parts[worker] = Part(threads)
            else:
                there = threads_of(mine) if self._splits(run, {worker: mine}) else 1
                parts[worker] = split_of(there, wanted, run.beside.prospect)
        return parts

    def _idle_cores(self) -> dict[str, int]:
        """Cores of each host that nobody explores with, for each worker with a GPU."""
        cores: dict[str, int] = {}
        used: Counter[str] = Counter()
        sharers: Counter[str] = Counter()
        for entry in self._table.workers.values():
            cores[entry.host] = max(cores.get(entry.host, 0), entry.cores)
            working = [seat for seat in entry.seats if seat.run is not None]
            gpus = sum(seat.device.kind == "cuda" for seat in working)
            used[entry.host] += gpus + threads_of(working)
            sharers[entry.host] += gpus > 0
        return {
            host: min(MOST_IDLE, max(0, cores[host] - used[host]) // sharers[host])
            for host in sharers
            if sharers[host]
        }

    def _send(self, run: OpenRun, parts: dict[str, Part]) -> None:
        """Tell the workers what is new to them."""
        state, coordinator = run.beside, run.coordinator
        value = coordinator.value
        for worker in [*parts, *(state.parts.keys() - parts.keys())]:
            part, old = parts.get(worker, Part()), state.parts.get(worker, Part())
            news = part.threads > 0 and value != state.value
            if (part != old or news) and worker in self._table.workers:
                run.informed.add(worker)
                known = coordinator.permutation if part.threads else None
                self._shell.beside(worker, run.id, part, value, known)
        state.parts, state.value = parts, value

    def _say(
        self,
        run: OpenRun,
        parts: Mapping[str, Part],
        seats: Mapping[str, list[SeatState]],
        now: float,
    ) -> None:
        """Note for people what was chosen."""
        kinds: Counter[str] = Counter()
        for worker, part in parts.items():
            there = threads_of(seats[worker])
            if part.explorers is not None:
                text = f"{part.threads} threads, {part.explorers} of {there} explore"
                kinds[text] += 1
            elif part.threads:
                kinds[f"{part.threads} thread{'s' * (part.threads > 1)}"] += 1
        if not kinds:
            return
        each = "; ".join(
            f"{text} on {count} worker{'s' * (count > 1)}"
            for text, count in kinds.items()
        )
        why = REASONS[run.beside.prospect] if self._splits(run, seats) else ""
        text = f"heuristics beside the tree: {each}{why}"
        run.coordinator.note_event("heuristics", text, now)
        run.version += 1


REASONS = {
    Prospect.UNKNOWN: "",
    Prospect.SOON: ", as the tree ends soon",
    Prospect.OPEN: ", as the tree may end, but not soon",
    Prospect.HOPELESS: ", as the tree does not end in time",
}


def threads_of(seats: list[SeatState]) -> int:
    """Threads that CPU seats have in all."""
    return sum(seat.device.threads for seat in seats if seat.device.kind == "cpu")


def prospect_of(low_s: float, high_s: float, left_s: float | None) -> Prospect:
    """Return what is left of a tree.

    Parameters
    ----------
    low_s, high_s
        Bounds of the seconds that it takes with all threads.
    left_s
        Seconds of the time limit that are left; None without one.
    """
    if high_s <= (SOON_S if left_s is None else left_s):
        return Prospect.SOON
    if low_s > (HOPELESS_S if left_s is None else BEYOND * left_s):
        return Prospect.HOPELESS
    return Prospect.OPEN


def split_of(there: int, wanted: int | None, prospect: Prospect) -> Part:
    """Split the threads of a worker between its CPU seat and heuristics.

    Parameters
    ----------
    there
        Threads of the seat; of an engine with one thread, 1.
    wanted
        Threads that somebody has asked for; None: by the prospect.
    """
    if wanted is not None:
        return Part(wanted, max(1, there - wanted) if there > 1 else None)
    threads = {Prospect.OPEN: there // 2, Prospect.HOPELESS: there - 1}.get(prospect, 0)
    return Part(threads, there - threads) if threads else Part()
