"""Heuristics while the tree is explored: how many threads of which worker.

The host of a GPU has cores that nobody explores with. A CPU seat explores with all
threads of its worker, unless the tree will not end in time: then all but one improve
schedules. Workers are sent orders, each of which says all that holds from then on
(``dpbb.cluster.worker.heuristics``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.cluster.rpc import IMPROVE
from dpbb.coordination.snapshot import RunState
from dpbb.options import EngineName
from dpbb.problem import ImprovesSchedules

if TYPE_CHECKING:
    from dpbb.cluster.scheduler.open_run import OpenRun
    from dpbb.cluster.scheduler.seats import SeatState, SeatTable
    from dpbb.coordination.messages import RunId

MOST_IDLE = 16
"""Threads on the idle cores of one worker with a GPU, at most."""

LOOK_S = 0.25
"""A run is looked at this often, and its incumbents are sent no more often."""

WORKER_S = 1e-3
"""For each of its workers a run is left alone for so much longer."""

HOPELESS_S = 30 * 86400.0
"""A tree that takes longer is not waited for, where no time limit says so."""


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
class HeuristicsState:
    """What was decided for a run, and told to its workers."""

    parts: dict[str, Part] = field(default_factory=dict)  # as sent, by worker
    value: int | None = None  # of the incumbent that was sent
    hopeless: bool = False  # the tree does not end in time
    estimates: int = 0  # that this follows from
    look_at: float = -math.inf


class HeuristicThreads:
    """Decides about the runs of a hub."""

    def __init__(
        self,
        table: SeatTable,
        runs: Mapping[RunId, OpenRun],
        send: Callable[..., None],
        clock: Callable[[], float],
    ) -> None:
        self._table = table
        self._runs = runs
        self._send_to = send
        self._clock = clock

    def tick(self) -> None:
        """Look at every run that it is time for."""
        now = self._clock()
        for run in self._runs.values():
            if now >= run.heuristics.look_at:
                self._look(run, now)

    def end(self, run: OpenRun) -> None:
        """End the heuristics of a run, at once."""
        self._send(run, {})

    def _look(self, run: OpenRun, now: float) -> None:
        state, spec = run.heuristics, run.coordinator.spec
        wanted = spec.tuning.heuristic_threads
        if wanted == 0 or not isinstance(spec.problem, ImprovesSchedules):
            state.look_at = math.inf
            return
        seats = self._seats(run)
        shares = run.engines.get("cpu") == EngineName.CPU
        if wanted is None and shares and any(threads_of(s) > 1 for s in seats.values()):
            if spec.time_limit_s is not None and not run.outlook.count:
                tenth = spec.time_limit_s / 10
                run.outlook.due_s = min(run.outlook.due_s, tenth)
            self._estimate(run, seats, now)
        idle = self._idle_cores() if wanted is None else {}
        parts = {}
        for worker, mine in seats.items():
            if mine[0].device.kind == "cuda":
                host = self._table.workers[worker].host
                parts[worker] = Part(idle.get(host, 0) if wanted is None else wanted)
            else:
                there = threads_of(mine) if shares else 1
                parts[worker] = split_of(there, wanted, hopeless=state.hopeless)
        before = state.parts
        self._send(run, parts)
        threads = sum(part.threads for part in parts.values())
        if parts != before and threads:
            why = ", as the tree does not end in time" if state.hopeless else ""
            text = f"heuristics: {threads} threads on {len(parts)} workers{why}"
            run.coordinator.events.add(now, "heuristics", text)
            run.version += 1
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

    def _estimate(
        self, run: OpenRun, seats: Mapping[str, list[SeatState]], now: float
    ) -> None:
        """Judge by a new estimate whether the tree ends in time, with all threads."""
        state = run.heuristics
        snapshot = run.coordinator.snapshot(now)
        left = run.outlook.left(snapshot.nodes, snapshot.ub)
        there = used = 0
        for worker, mine in seats.items():
            there += threads_of(mine)
            used += state.parts.get(worker, Part()).explorers or threads_of(mine)
        rate = snapshot.nodes_per_second * there / max(used, 1)
        if left is None or not rate or run.outlook.count == state.estimates:
            return
        state.estimates = run.outlook.count
        limit = run.coordinator.spec.time_limit_s
        seconds = HOPELESS_S if limit is None else limit - snapshot.seconds
        state.hopeless = left[0] / rate > seconds

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
        state, coordinator = run.heuristics, run.coordinator
        value, best = coordinator.incumbent.value, coordinator.incumbent.permutation
        for worker in [*parts, *(state.parts.keys() - parts.keys())]:
            part, old = parts.get(worker, Part()), state.parts.get(worker, Part())
            news = part.threads > 0 and value != state.value
            if (part != old or news) and worker in self._table.workers:
                run.informed.add(worker)
                message: dict[str, Any] = {"value": value, **asdict(part)}
                if part.threads and best is not None:
                    jobs = np.array(best, "<u2")
                    message["permutation"] = jobs.tobytes()
                self._send_to(worker, IMPROVE, run.id, **message)
        state.parts, state.value = parts, value


def threads_of(seats: list[SeatState]) -> int:
    """Threads that CPU seats have in all."""
    return sum(seat.device.threads for seat in seats if seat.device.kind == "cpu")


def split_of(there: int, wanted: int | None, *, hopeless: bool) -> Part:
    """Split the threads of a worker between its CPU seat and heuristics.

    Parameters
    ----------
    there
        Threads of the seat; of an engine with one thread, 1.
    wanted
        Threads that somebody has asked for; None: all but one of a hopeless tree.
    """
    if wanted is not None:
        return Part(wanted, max(1, there - wanted) if there > 1 else None)
    return Part(there - 1, 1) if hopeless and there > 1 else Part()
