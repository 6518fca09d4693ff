"""When a task of a seat is over: another unit, a while to wait for it, or a failure.

A seat that has nothing to do gets a unit with a new future. One whose unit has just
been finished gets the next with the answer to its last report, and its future goes on:
when one waits, at once; else the answer is held back for a while. What a task raises
may pass: the seat rests, another one takes the unit. A refusal of an engine does not:
that seat serves the run no more, and where it was the GPU of a worker, the worker's
cores do.
"""

import logging
from collections.abc import Callable, Iterable

from dpbb.cluster.scheduler.open_run import OpenRun
from dpbb.cluster.scheduler.seats import SeatTable
from dpbb.cluster.scheduler.sharing import SeatSharing
from dpbb.cluster.scheduler.shell import Shell
from dpbb.coordination.messages import (
    Assignment,
    Order,
    OrderKind,
    Report,
    RunId,
    SeatId,
)
from dpbb.errors import EngineUnavailable, InvariantError, OptionError

logger = logging.getLogger(__name__)

REFUSALS = (EngineUnavailable, OptionError)
"""What an engine raises that cannot run there, or not this run: for good."""

PARK_S = 20.0
"""A task waits so long for another unit when its own is finished, then it ends.

Going on costs the scheduler a fraction of a new future, but holds a thread of the
worker, which others may want. Below the time-out ``rpc``, or it would ask again.
"""


class Handover:
    """Part of the hub, whose ``fail`` ends a run; see the module."""

    def __init__(
        self,
        table: SeatTable,
        sharing: SeatSharing,
        shell: Shell,
        fail: Callable[[RunId, Exception | str], None],
        clock: Callable[[], float],
    ) -> None:
        self._table = table
        self._sharing = sharing
        self._shell = shell
        self._fail = fail
        self._clock = clock

    def after_last(
        self, run: OpenRun, seat_id: SeatId, report: Report, now: float
    ) -> Order | None:
        """Give a seat whose lease is over another unit, or let it wait for one."""
        run.seat_failures.pop(seat_id, None)
        if not report.ends_unit or not self._may_follow(run, seat_id, now):
            run.free(seat_id)
            return None
        order = run.coordinator.follow(report.lease, seat_id, now)
        if order is not None and order.next is not None:
            run.follow(seat_id, order.next)
            return order
        if not run.coordinator.is_idle(seat_id):
            run.free(seat_id)
            return None
        run.tasks[seat_id].parked_at = now
        return Order(OrderKind.WAIT, run.coordinator.ub)

    def _may_follow(self, run: OpenRun, seat_id: SeatId, now: float) -> bool:
        """Whether the task on a seat may go on with another unit of its run.

        Not where seats of its worker wait for the task's thread.
        """
        seat = self._table.seats.get(seat_id)
        if seat is None or seat_id not in run.tasks or run.rests(seat_id, now):
            return False
        entry = self._table.workers[seat.worker]
        return len(entry.seats) <= entry.nthreads

    def send_home(self, run: OpenRun, seats: Iterable[SeatId]) -> None:
        """Let the tasks of those seats that wait for a unit end."""
        for seat_id in list(filter(run.is_parked, seats)):
            lease = run.tasks[seat_id].lease
            run.free(seat_id)
            if lease is not None:
                order = Order(OrderKind.DROP, run.coordinator.ub)
                self._shell.answer(run.id, lease, order)

    def give(self, run: OpenRun, now: float) -> None:
        """Give units that wait to idle seats."""
        coordinator = run.coordinator
        for seat_id in coordinator.idle_seats():
            worker = self._table.seats[seat_id].worker
            if run.rests(seat_id, now) or self._sharing.is_full(worker):
                continue
            last = run.tasks[seat_id].lease if run.is_parked(seat_id) else None
            if last is not None:
                order = coordinator.follow(last, seat_id, now)
                if order is None or order.next is None:
                    break
                run.follow(seat_id, order.next)
                self._shell.answer(run.id, last, order)
                continue
            assignment = coordinator.assign(seat_id, now)
            if assignment is None:
                break
            run.employ(seat_id, assignment)
            run.informed.add(worker)
            self._shell.submit(run.id, assignment, worker)

    def after_error(
        self, run: OpenRun, assignment: Assignment, error: Exception | str
    ) -> None:
        """Let another seat try what a task has raised on, or end the run."""
        if isinstance(error, InvariantError):
            self._fail(run.id, error)
        elif isinstance(error, REFUSALS):
            self._refused(run, assignment.seat, error)
        else:
            self._failed(run, assignment, error)

    def _refused(self, run: OpenRun, seat: SeatId, error: Exception) -> None:
        run.excluded.add(seat)
        self._do_without(run, seat)
        if not self._sharing.usable(run):
            self._fail(run.id, f"no seat is left to explore on, {seat} says: {error}")
            return
        text = f"seat {seat} cannot explore this, others go on: {error}"
        logger.info("run %s: %s", run.id, text)  # people see the event
        run.coordinator.note_event("refused", text, self._clock())

    def _failed(
        self, run: OpenRun, assignment: Assignment, error: Exception | str
    ) -> None:
        seat = assignment.seat
        logger.warning("seat %s failed in run %s: %s", seat, run.id, last_line(error))
        reason = run.note_failure(seat, assignment.unit, self._clock())
        if seat in run.excluded:
            self._do_without(run, seat)
        if reason is None and run.excluded and not self._sharing.usable(run):
            reason = "tasks failed on every seat"
        if reason is not None:
            self._fail(run.id, f"{reason}, at last on seat {seat}: {error}")

    def _do_without(self, run: OpenRun, seat_id: SeatId) -> None:
        """Take an excluded seat from the run, if it is there and serves it."""
        seat = self._table.seats.get(seat_id)
        if seat is not None and seat.run == run.id:
            self._sharing.take_away(run, seat)


def last_line(error: Exception | str) -> str:
    """Return what was raised, without the traceback that the run's error holds."""
    return str(error).rstrip().rpartition("\n")[2]
