"""What a seat gets when its unit is finished: the next one, or a while to wait for it.

A seat that has nothing to do gets a unit with a new future. One whose unit has just
been finished gets the next with the answer to its last report, and its future goes on:
when one waits, at once; else the answer is held back for a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dpbb.coordination.messages import Order, OrderKind, Report, SeatId

if TYPE_CHECKING:
    from dpbb.cluster.scheduler.open_run import OpenRun
    from dpbb.cluster.scheduler.seats import SeatTable
    from dpbb.cluster.scheduler.sharing import SeatSharing
    from dpbb.cluster.scheduler.shell import Shell

PARK_S = 20.0
"""A task waits so long for another unit when its own is finished, then it ends.

Going on costs the scheduler a fraction of a new future, but holds a thread of the
worker, which others may want. Below ``link.RPC_TIMEOUT_S``, or it would ask again.
"""


class Handover:
    """Part of the hub; see the module.

    Parameters
    ----------
    table, sharing, shell
        The hub's.
    """

    def __init__(self, table: SeatTable, sharing: SeatSharing, shell: Shell) -> None:
        self._table = table
        self._sharing = sharing
        self._shell = shell

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
        run.parked[seat_id] = report.lease, now
        return Order(OrderKind.WAIT, run.coordinator.ub)

    def _may_follow(self, run: OpenRun, seat_id: SeatId, now: float) -> bool:
        """Whether the task on a seat may go on with another unit of its run.

        Not where seats of its worker wait for the task's thread.
        """
        seat = self._table.seats.get(seat_id)
        if seat is None or seat_id not in run.busy or run.rests(seat_id, now):
            return False
        entry = self._table.workers[seat.worker]
        return len(entry.seats) <= entry.nthreads

    def send_home(self, run: OpenRun, seats: Iterable[SeatId]) -> None:
        """Let the tasks of seats that wait for a unit end."""
        for seat_id in list(seats):
            lease, _ = run.parked[seat_id]
            run.free(seat_id)
            order = Order(OrderKind.DROP, run.coordinator.ub)
            self._shell.answer(run.id, lease, order)

    def give(self, run: OpenRun, now: float) -> None:
        """Give units that wait to idle seats."""
        coordinator = run.coordinator
        for seat_id in coordinator.idle_seats():
            worker = self._table.seats[seat_id].worker
            if run.rests(seat_id, now) or self._sharing.is_full(worker):
                continue
            if seat_id in run.parked:
                last, _ = run.parked[seat_id]
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
