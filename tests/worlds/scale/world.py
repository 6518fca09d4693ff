"""A discrete-event simulation of a run: the real hub and coordinator, simulated seats.

The event loop of the scheduler is one server with a queue, the threads that check
reports are others; a seat explores nothing while a report of its own is on the way, as
in ``dpbb.cluster.worker.exploration``, whose rules ``SimulatedSeat`` follows. Reports,
orders and leases are the real ones, and pass through their wire form and all checks;
the run ends when the real ledger says that n! leaves are closed.

Time on the loop is the time that the real call took on this machine just then, plus
the measured ``Costs`` of what is not there: Dask, and reports with as many roots as a
GPU holds (a simulated seat holds fewer). Not in it: ``LEFT_OUT``.
"""

from __future__ import annotations

import gc
import heapq
import random
import time
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from dpbb.cluster.rpc import HINT
from dpbb.cluster.scheduler.hub import Hub
from dpbb.coordination.ledger import check_report
from dpbb.coordination.messages import Order, Report
from dpbb.coordination.wire import decode, decode_report, encode
from tests.worlds.scale.costs import seat_message
from tests.worlds.scale.physics import Tally
from tests.worlds.scale.seat import SimulatedSeat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpbb.coordination.ledger import Checked, LeaseBasis
    from dpbb.coordination.messages import Assignment, RunId, RunSpec
    from tests.worlds.scale.costs import Costs
    from tests.worlds.scale.physics import Drop, Physics
    from tests.worlds.scale.tree import ReplayedTree

    Event = tuple[float, int, Callable[..., None], tuple[object, ...]]

MODELLED = (
    "the hub, the coordinator, the ledger and the wire forms (the real ones)",
    "Dask's messages, futures, hints and heartbeats (measured)",
)
LEFT_OUT = (
    "seats that are lost",
    "a network that seats share: every message has 0.5 ms and 1 GB/s of its own",
    "collections of garbage, and the lock that threads share with the loop",
    "encoding and writing of checkpoints",
    "clients and pages, but for one that looks every second",
)
TICK_S = 0.1  # of the scheduler plugin
WATCH_S = 1.0  # somebody looks at the run
N_THREADS = 2  # of the scheduler plugin


class World:
    """The event queue, the scheduler's servers and the seats; is the hub's shell."""

    def __init__(
        self,
        spec: RunSpec,
        tree: ReplayedTree,
        n_seats: int,
        costs: Costs,
        physics: Physics,
        *,
        factor: float = 1.0,
        drops: Sequence[Drop] = (),
        seed: int = 0,
    ) -> None:
        self.spec, self.tree, self.physics = spec, tree, physics
        self.costs, self.factor = costs.times(factor), factor
        self.tally = Tally()
        self.now = self._loop_free = 0.0
        self.random = random.Random(seed)  # noqa: S311 - no secret
        self._queue: list[Event] = []
        self._ties = count()
        self._threads = [0.0] * N_THREADS  # when each is free
        self._hub_now = 0.0  # when the loop gets to what it does
        self._extra_s = 0.0  # of Dask, in the call under way
        self._outbox: list[tuple[Callable[..., None], tuple[object, ...]]] = []
        self._drops = list(drops)
        self._gains: list[tuple[int, float]] = []  # UB, gain
        self.gain = 1.0  # of those who know the best UB found so far
        for drop in self._drops:
            self.gain /= drop.gain
        self._first_gain = self.gain
        self.hub = Hub(self, lambda: self._hub_now)
        self.seats = {}
        for index in range(n_seats):
            seat = SimulatedSeat(self, index)
            self.seats[seat.id] = seat
        self._by_worker = {seat.worker: seat for seat in self.seats.values()}

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self.spec.run_id in self.hub.finished

    def run(self) -> Tally:
        """Simulate to the end of the run."""
        self.hub.open(self.spec, b"")
        for seat in self.seats.values():
            self.later(
                self.random.uniform(0.0, self.physics.join_s), self._join, seat.worker
            )
        for drop in self._drops:
            self.later(drop.seconds, self._improve, drop)
        self.later(TICK_S, self._tick)
        self.later(WATCH_S, self._watch)
        self.later(self.spec.options.checkpoint_interval_s, self._save)
        # it would go through all seats, at the expense of the hub
        gc.disable()
        try:
            while self._queue and not self.over:
                self.now, _, action, args = heapq.heappop(self._queue)
                action(*args)
        finally:
            gc.enable()
        self._close()
        return self.tally

    # -- events -----------------------------------------------------------------

    def later(self, seconds: float, action: Callable[..., None], *args: object) -> None:
        """Plan an event."""
        self.at(self.now + seconds, action, *args)

    def at(self, moment: float, action: Callable[..., None], *args: object) -> None:
        """Plan an event for a moment."""
        heapq.heappush(self._queue, (moment, next(self._ties), action, args))

    def jitter(self) -> float:
        """See ``dpbb.cluster.worker.exploration.jittered``."""
        return self.random.uniform(0.5, 1.5)

    def call(
        self,
        dask_s: float,
        on_loop: Callable[[], Any],
        answer: Callable[[Any], None] | None = None,
    ) -> None:
        """Send an RPC: have something done on the loop, and its answer sent back."""
        self.later(self.physics.latency_s, lambda: self.serve(dask_s, on_loop, answer))

    def serve(
        self,
        dask_s: float,
        on_loop: Callable[[], Any],
        answer: Callable[[Any], None] | None = None,
    ) -> None:
        """Do something on the loop, as soon as it is free."""
        start = max(self.now, self._loop_free)
        self.tally.worst_queue_s = max(self.tally.worst_queue_s, start - self.now)
        self._hub_now, self._extra_s = start, 0.0
        begin = time.thread_time()
        result = on_loop()
        real_s = (time.thread_time() - begin) * self.factor
        busy_s = real_s + dask_s + self._extra_s
        self._loop_free = start + busy_s
        self.tally.loop_s += busy_s
        arrival = self._loop_free + self.physics.latency_s
        for action, args in self._outbox:
            self.at(arrival, action, *args)
        self._outbox.clear()
        if answer is not None:
            self.at(arrival, answer, result)

    def report(self, report: Report, answered: Callable[[Order], None]) -> None:
        """Send a report; a full one or a donation is checked in a thread."""
        message = encode(report)
        costs = self.costs
        if not report.has_roots:
            decoded = decode_report(message)
            self.call(
                costs.rpc_s,
                lambda: self._apply(decoded, None),
                lambda order: answered(decode(Order, order)),
            )
            return
        ends = report.full is not None and not len(report.full.remaining)
        gift = report.gift is not None
        n_bytes = 0 if ends else costs.gift_bytes if gift else costs.full_bytes
        thread_s = 0.0 if ends else costs.gift_s if gift else costs.full_s
        apply_s = 0.0 if ends else costs.gift_loop_s if gift else costs.full_loop_s
        self.tally.bytes += n_bytes

        def receive() -> LeaseBasis | None:
            coordinator = self.hub.run(self.spec.run_id).coordinator
            return coordinator.basis(report.lease, report.seq)

        def reply(message: bytes) -> None:
            answered(decode(Order, message))

        def check(basis: LeaseBasis | None) -> None:
            index = min(range(N_THREADS), key=self._threads.__getitem__)
            start = max(self.now, self._threads[index])
            begin = time.thread_time()
            came = decode_report(message)
            if came.full is not None and n_bytes:
                came = replace(came, n_bytes=n_bytes)  # as if it were a GPU's
            checked = None if basis is None else check_report(basis, came)
            real_s = (time.thread_time() - begin) * self.factor
            busy_s = max(real_s, thread_s)
            self._threads[index] = start + busy_s
            self.tally.thread_s += busy_s
            self.at(
                start + busy_s,
                lambda: self.serve(apply_s, lambda: self._apply(came, checked), reply),
            )

        self.later(
            self.physics.latency_s + n_bytes / 1e9,
            lambda: (
                None
                if self.over
                else self.serve(costs.rpc_s + n_bytes * costs.byte_s, receive, check)
            ),
        )

    def _apply(self, report: Report, checked: Checked | None) -> bytes:
        return encode(self.hub.on_report(self.spec.run_id, report, checked))

    def _join(self, worker: str) -> None:
        self.serve(
            self.costs.rpc_s, lambda: self.hub.hello(worker, 1, [seat_message(worker)])
        )

    def _tick(self) -> None:
        workers = len(self.seats)
        beats = TICK_S * workers / (workers / 200 + 1)  # Dask's own interval
        planned = self.now
        self.serve(
            beats * self.costs.heartbeat_s,
            lambda: self.hub.tick(self._hub_now - planned),
        )
        self.later(TICK_S, self._tick)

    def _watch(self) -> None:
        coordinator = self.hub.run(self.spec.run_id).coordinator
        self.serve(self.costs.rpc_s, lambda: coordinator.snapshot(self.now))
        self.later(WATCH_S, self._watch)

    def _save(self) -> None:
        """Take a checkpoint on the loop; the next one comes later."""
        coordinator = self.hub.run(self.spec.run_id).coordinator
        self.serve(0.0, lambda: coordinator.checkpoint(self._hub_now))
        self.later(self.spec.options.checkpoint_interval_s, self._save)

    def _improve(self, drop: Drop) -> None:
        """Let a seat that explores find a better permutation."""
        exploring = [s for s in self.seats.values() if s.exploring_since is not None]
        if not exploring:
            self.later(TICK_S, self._improve, drop)
            return
        for seat in exploring:
            seat._account()
        self.gain *= drop.gain
        self._gains.append((drop.candidate.value, self.gain))
        finder = self.random.choice(exploring)
        finder.best, finder.gain = drop.candidate, self.gain
        for seat in exploring:
            seat.go_on()

    def gain_of(self, ub: int) -> float:
        """Speed of those who know this UB, against those who know the last."""
        known = self._first_gain
        for value, gain in self._gains:
            if ub <= value:
                known = gain
        return known

    def _close(self) -> None:
        """Complete the tally."""
        tally = self.tally
        tally.seconds = self._hub_now
        for seat in self.seats.values():
            if seat.lease is None:
                tally.idle_s += max(0.0, tally.seconds - seat.idle_since)
        outcome = self.hub.finished[self.spec.run_id].outcome
        tally.units, tally.donations = outcome.totals.units, outcome.totals.donations

    # -- the hub's shell ----------------------------------------------------------

    def submit(self, run_id: RunId, assignment: Assignment, worker: str) -> None:
        """See ``dpbb.cluster.scheduler.hub.Shell``."""
        self._extra_s += self.costs.task_s
        seat = self.seats[assignment.seat]
        self._outbox.append((seat.start, (assignment,)))

    def release(self, run_id: RunId, assignment: Assignment) -> None:
        """See ``Shell``; in ``Costs.task_s``."""

    def send(self, worker: str, op: str, run_id: RunId, **message: Any) -> None:
        """See ``Shell``; the simulated workers have no heuristics."""
        if op != HINT:
            return
        self._extra_s += self.costs.hint_s
        to = self._by_worker[worker]
        if message.get("ub") is not None:
            self._outbox.append((to.learn, (self.gain_of(message["ub"]),)))
            return
        wanted = message.get("lease"), message.get("max_roots", 0)
        self._outbox.append((to.poke, wanted))

    def changed(self, run_id: RunId) -> None:
        """See ``Shell``."""
