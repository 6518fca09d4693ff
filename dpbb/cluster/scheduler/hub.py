"""Runs, seats, and who works for whom: the scheduler plugin without Dask.

Holds the coordinators of the open runs, shares the seats among them in equal parts,
and turns what the coordinators decide into futures and hints through a ``Shell``.
Called from one thread. Every event ends in ``settle``, which goes on until nothing is
left to do: runs that changed are advanced, and seats that came free are shared.

What a task raises may pass: the seat rests, and another one takes the unit. A refusal
of an engine does not: that seat serves the run no more, and where it was the GPU of a
worker, the worker's cores do.
"""

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from dpbb.cluster.rpc import FORGET, HINT
from dpbb.cluster.scheduler.checkpoints import Keeper
from dpbb.cluster.scheduler.heuristics import HeuristicThreads
from dpbb.cluster.scheduler.open_run import NO_SEAT_S, FinishedRun, OpenRun
from dpbb.cluster.scheduler.seats import SeatTable
from dpbb.cluster.scheduler.sharing import SeatSharing
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.coordinator import Coordinator
from dpbb.coordination.ledger import Checked
from dpbb.coordination.messages import (
    Assignment,
    Lease,
    Order,
    OrderKind,
    Report,
    RunId,
    RunSpec,
    SeatId,
)
from dpbb.coordination.snapshot import WAITING_S, RunState
from dpbb.engines.registry import engines_by_kind
from dpbb.errors import (
    ClusterError,
    EngineUnavailable,
    InvariantError,
    OptionError,
    StaleLeaseError,
)

logger = logging.getLogger(__name__)

REFUSALS = (EngineUnavailable, OptionError)
"""What an engine raises that cannot run there, or not this run: for good."""

BROADCAST_S = 0.25
"""A better UB is sent to the busy workers at most once in this time."""

LOOK_S = 2e-4
"""For each of its open units a run is left alone for so long between two looks."""

KEPT_RESULTS = 64
"""Results of so many finished runs are kept for those who ask later,"""

KEPT_BYTES = 256 * 2**20
"""and of fewer where they take more: the newest is kept whatever it takes."""


class Shell(Protocol):
    """What the hub cannot do itself; none of these may call it back."""

    def submit(self, run_id: RunId, assignment: Assignment, worker: str) -> None:
        """Pin a future to the worker; ``Hub.ended`` is called at its end."""

    def release(self, run_id: RunId, assignment: Assignment) -> None:
        """Let go of a future, wherever it is; ``ended`` may or may not follow."""

    def send(self, worker: str, op: str, run_id: RunId, **message: Any) -> None:
        """Send a message to a worker's plugin, to its method for ``op``."""

    def changed(self, run_id: RunId) -> None:
        """Wake those who watch the run."""


class Hub:
    """All runs and seats of a cluster; see the module."""

    def __init__(
        self, shell: Shell, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.table = SeatTable()
        self.runs: dict[RunId, OpenRun] = {}
        self.finished: dict[RunId, FinishedRun] = {}
        self._shell = shell
        self._clock = clock
        self._sharing = SeatSharing(self.table, self.runs, clock)
        self._heuristics = HeuristicThreads(self.table, self.runs, shell.send, clock)
        self._settling = False

    # -- runs -------------------------------------------------------------------

    def open(
        self,
        spec: RunSpec,
        blob: bytes,
        *,
        saved: Checkpoint | None = None,
        keeper: Keeper | None = None,
        submitter: str = "",
    ) -> None:
        """Open a run; it starts as soon as there is a seat for it.

        Parameters
        ----------
        spec, blob
            The run, and its pickled form for the workers.
        saved
            Where it goes on from; None: from the root of the tree.
        keeper
            Of its checkpoints; None: it writes none.

        Raises
        ------
        ClusterError
            There is a run of this name already.
        """
        run_id = spec.run_id
        if run_id in self.runs or run_id in self.finished:
            raise ClusterError(f"expected a new run id, got {run_id!r}, which is taken")
        engines = engines_by_kind(spec.engine, spec.problem, spec.tree)
        now = self._clock()
        coordinator = Coordinator(spec, now=now, saved=saved)
        self.runs[run_id] = OpenRun(
            coordinator,
            blob,
            engines,
            keeper=keeper,
            opened_at=time.time() - coordinator.seconds(now),
            submitter=submitter,
        )
        if keeper is not None:
            keeper.start(coordinator, lambda: self.settle(run_id))
        logger.info("run %s opened: %s", run_id, spec.instance)
        self._sharing.due = True
        self.settle(run_id)

    def run(self, run_id: RunId) -> OpenRun:
        """Return an open run; StaleLeaseError when there is none of this name."""
        run = self.runs.get(run_id)
        if run is None:
            raise StaleLeaseError(f"run {run_id} is not open (any more)")
        return run

    def known(self, run_id: RunId) -> OpenRun | FinishedRun:
        """Return a run, open or finished; ClusterError if there is none."""
        return self.runs.get(run_id) or self.result(run_id)

    def result(self, run_id: RunId) -> FinishedRun:
        """Return the result of a finished run; ClusterError if there is none."""
        try:
            return self.finished[run_id]
        except KeyError:
            raise ClusterError(
                f"expected a run of this cluster, got {run_id!r}; known are "
                f"{', '.join([*self.runs, *self.finished]) or 'none'} (the scheduler "
                f"keeps the last results, {KEPT_RESULTS} at most, and none over a "
                "restart)"
            ) from None

    def fail(self, run_id: RunId, error: Exception | str) -> None:
        """End a run with an error; its units keep the state of their last report."""
        self.run(run_id).coordinator.fail(error, self._clock())
        self.settle(run_id)

    def note(self, run_id: RunId, kind: str, text: str) -> None:
        """Note for people what concerns a run, if it is open."""
        run = self.runs.get(run_id)
        if run is not None:
            run.coordinator.events.add(self._clock(), kind, text)

    def tick(self, late_s: float = 0.0) -> None:
        """Look at limits and expired leases; let runs take turns.

        ``late_s`` is how much later the event loop comes to it than planned.
        """
        now = self._clock()
        for run in list(self.runs.values()):
            run.coordinator.book.balance.note_lag(late_s)
            if now < run.look_at:
                continue
            # it takes a look at every unit, so with thousands not at every tick
            run.look_at = now + LOOK_S * len(run.coordinator.book.units)
            run.coordinator.tick(now)
            # not at every report: it is a minimum over all units
            self._look(run, run.coordinator.lower_bound)
            self._look_for_seats(run, now)
        self._heuristics.tick()
        self._sharing.due |= len(self.runs) > 1
        self.settle(*self.runs)

    def _look_for_seats(self, run: OpenRun, now: float) -> None:
        """Say what a run without a seat waits for; after a while as an event, once."""
        run.waits_for = ""
        seconds = run.seatless_s(now)
        if seconds < WAITING_S or run.shares_with:
            return
        text = self.table.why_none(run.engines, run.excluded)
        run.waits_for = text.partition(":")[0]
        if seconds >= NO_SEAT_S and not run.seatless_told:
            run.seatless_told = True
            run.coordinator.events.add(now, "no-seat", text)
            run.version += 1

    # -- seats ------------------------------------------------------------------

    def hello(
        self, worker: str, nthreads: int, seats: list[dict[str, Any]], **about: Any
    ) -> None:
        """Take in the seats of a worker; ``about``: as of ``SeatTable.announce``."""
        self.remove_worker(worker)
        for message in seats:  # a worker of the same GPUs may have more than its part
            self._sharing.let_go_if_idle(self.table.gpus.get(str(message["uuid"])))
        self.table.announce(worker, nthreads, seats, **about)
        self._sharing.join(self.table.workers[worker])
        self.settle()

    def remove_worker(self, worker: str) -> None:
        """Forget a worker; what it explored waits again."""
        for seat in self.table.remove(worker):
            if seat.run is None:
                continue
            run = self.runs[seat.run]
            task = run.tasks.pop(seat.id, None)
            if task is not None:
                self._shell.release(run.id, task)
            run.informed.discard(worker)
            run.heuristics.parts.pop(worker, None)
            self._sharing.give_up(run, seat)
        self.settle()

    def retire(self, workers: Iterable[str]) -> None:
        """Have the seats of workers that are about to close give back their units."""
        for worker in workers:
            entry = self.table.workers.get(worker)
            if entry is None:
                continue
            entry.leaving = True
            for seat in entry.seats:
                if seat.run is not None:
                    self._sharing.take_away(self.runs[seat.run], seat)
        self.settle()

    def stay(self, workers: Iterable[str]) -> None:
        """Use workers again that were retired, but do not close."""
        for worker in workers:
            logger.warning("worker %s was retired, but stays: it is used again", worker)
            self.table.workers[worker].leaving = False
            self._sharing.due = True
        self.settle()

    def busy_workers(self) -> set[str]:
        """Workers that explore."""
        return {
            self.table.seats[seat].worker
            for run in self.runs.values()
            for seat in run.tasks
        }

    def target_workers(self) -> int:
        """How many workers the open runs can feed."""
        if not self.runs:
            return 0
        wanted = sum(
            len(run.tasks) + run.coordinator.wanted_seats()
            for run in self.runs.values()
        )
        n_workers, n_seats = len(self.table.workers), len(self.table.seats)
        seats_per_worker = max(1, n_seats // n_workers) if n_workers else 1
        return max(1, -(-wanted // seats_per_worker))

    # -- tasks and reports ------------------------------------------------------

    def lease(self, run_id: RunId, given: Assignment) -> Lease:
        """Lease a unit to a task; StaleLeaseError if another attempt is current."""
        lease = self.run(run_id).coordinator.lease(given, self._clock())
        self.settle(run_id)
        return lease

    def on_report(
        self, run_id: RunId, report: Report, checked: Checked | None
    ) -> Order:
        """Apply a report, and return its answer."""
        run = self.runs.get(run_id)
        if run is None:
            return Order(OrderKind.DROP, 0)
        last = report.full is not None and report.full.last
        lease = run.coordinator.book.leases.get(report.lease) if last else None
        order = run.coordinator.on_report(report, checked, self._clock())
        if lease is not None:  # a next future may come before the task has ended
            run.seat_failures.pop(lease.seat.id, None)
            run.tasks.pop(lease.seat.id, None)
        self.settle(run_id)
        return order

    def ended(
        self, run_id: RunId, assignment: Assignment, error: Exception | str | None
    ) -> None:
        """Take note that a task is over; ``error`` if it raised."""
        run = self.runs.get(run_id)
        if run is None:
            return
        if run.tasks.get(assignment.seat) == assignment:
            del run.tasks[assignment.seat]
        if isinstance(error, InvariantError):  # else a loss too many may hide it
            self.fail(run_id, error)
            return
        lost = not isinstance(error, REFUSALS)  # a refused unit was not begun
        run.coordinator.unassign(assignment, self._clock(), lost=lost)
        if isinstance(error, REFUSALS):
            self._refused(run, assignment.seat, error)
        elif error is not None:
            self._failed(run, assignment, error)
        self.settle(run_id)

    def _refused(self, run: OpenRun, seat: SeatId, error: Exception) -> None:
        """Do without a seat, or end the run."""
        run.excluded.add(seat)
        self._do_without(run, seat)
        if not self.table.usable_by(run.engines, run.excluded):
            self.fail(run.id, f"no seat is left to explore on, {seat} says: {error}")
            return
        text = f"seat {seat} cannot explore this, others go on: {error}"
        logger.info("run %s: %s", run.id, text)  # people see the event
        run.coordinator.events.add(self._clock(), "refused", text)

    def _failed(
        self, run: OpenRun, assignment: Assignment, error: Exception | str
    ) -> None:
        """Let another seat try what a task has raised on, or end the run."""
        seat = assignment.seat
        logger.warning("seat %s failed in run %s: %s", seat, run.id, _last_line(error))
        reason = run.note_failure(seat, assignment.unit, self._clock())
        if seat in run.excluded:
            self._do_without(run, seat)
            if reason is None and not self.table.usable_by(run.engines, run.excluded):
                reason = "tasks failed on every seat"
        if reason is not None:
            self.fail(run.id, f"{reason}, at last on seat {seat}: {error}")

    def _do_without(self, run: OpenRun, seat_id: SeatId) -> None:
        """Take an excluded seat from the run, if it is there and serves it."""
        seat = self.table.seats.get(seat_id)
        if seat is not None and seat.run == run.id:
            self._sharing.take_away(run, seat)

    # -- inside -----------------------------------------------------------------

    def settle(self, *changed: RunId) -> None:
        """Act on what has happened to runs, or was asked of their coordinators."""
        sharing = self._sharing
        sharing.changed.update(dict.fromkeys(changed))
        if self._settling:
            return
        self._settling = True
        try:
            while sharing.due or sharing.changed:
                if sharing.due:
                    sharing.share()
                    continue
                run_id = next(iter(sharing.changed))
                del sharing.changed[run_id]
                if run_id in self.runs:
                    self._advance(self.runs[run_id])
        finally:
            self._settling = False

    def _advance(self, run: OpenRun) -> None:
        """Do what a coordinator wants after an event."""
        coordinator, now = run.coordinator, self._clock()
        if run.heuristics.parts and coordinator.state is not RunState.RUNNING:
            self._heuristics.end(run)
        if coordinator.finished:
            if run.keeper is None or run.keeper.closed:
                self._finish(run)
            else:
                run.keeper.write_last()
            return
        if run.leaving:  # else the difference would go through all that is busy
            for seat_id in run.leaving - run.tasks.keys():
                self._sharing.give_up(run, self.table.seats[seat_id])
        self._give(run, now)
        for seat_id in coordinator.nudges():
            seat = self.table.seats.get(seat_id)
            if seat is not None:
                told = coordinator.hint(seat_id)
                self._shell.send(
                    seat.worker, HINT, run.id, seat=seat_id, report=True, **told
                )
        self._broadcast(run, now)
        self._look(run, run.seen[1])

    def _give(self, run: OpenRun, now: float) -> None:
        """Give units that wait to idle seats, each with a new future."""
        for seat_id in run.coordinator.idle_seats():
            worker = self.table.seats[seat_id].worker
            if run.resting.get(seat_id, now) > now or self._sharing.is_full(worker):
                continue
            assignment = run.coordinator.assign(seat_id, now)
            if assignment is None:
                break
            run.tasks[seat_id] = assignment
            run.informed.add(worker)
            self._shell.submit(run.id, assignment, worker)

    def _look(self, run: OpenRun, lower_bound: int | None) -> None:
        """Wake those who watch if value or lower bound is another than before."""
        seen = run.coordinator.incumbent.value, lower_bound
        if seen != run.seen:
            run.seen = seen
            run.version += 1
            self._shell.changed(run.id)

    def _broadcast(self, run: OpenRun, now: float) -> None:
        """Send a better UB to the busy workers, unless one was sent just now."""
        ub = run.coordinator.ub
        if run.sent_ub is None:
            run.sent_ub = ub  # every lease carries it
        if ub >= run.sent_ub or now - run.sent_at < BROADCAST_S:
            return
        run.sent_ub, run.sent_at = ub, now
        for worker in {self.table.seats[seat].worker for seat in run.tasks}:
            self._shell.send(worker, HINT, run.id, ub=ub)

    def _finish(self, run: OpenRun) -> None:
        """Keep the result, free the seats."""
        now = self._clock()
        del self.runs[run.id]
        for task in run.tasks.values():
            self._shell.release(run.id, task)
        for seat_id in run.seats:
            self.table.seats[seat_id].run = None
        for worker in run.informed & self.table.workers.keys():
            self._shell.send(worker, FORGET, run.id)
        snapshot, outcome = run.snapshot(now), run.coordinator.outcome()
        self.finished[run.id] = FinishedRun(
            outcome, snapshot, run.version + 1, run.blob, run.opened, run.attached
        )
        n_bytes = sum(one.n_bytes for one in self.finished.values())
        for old, one in list(self.finished.items())[:-1]:
            if len(self.finished) <= KEPT_RESULTS and n_bytes <= KEPT_BYTES:
                break
            n_bytes -= one.n_bytes
            del self.finished[old]
        if outcome.error is not None:
            logger.error("run %s failed: %s", run.id, _last_line(outcome.error))
        logger.info("run %s is over: %s", run.id, snapshot.termination)
        self._shell.changed(run.id)
        self._sharing.due = True


def _last_line(error: Exception | str) -> str:
    """Return what was raised, without the traceback that the run's error holds."""
    return str(error).rstrip().rpartition("\n")[2]
