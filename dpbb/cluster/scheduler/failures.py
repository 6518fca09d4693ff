"""What becomes of a run whose task raised: another try, another seat, or the end.

Part of the hub. A failure may pass: the seat rests, another one takes the unit. A
refusal of an engine does not: that seat serves the run no more, and where it was the
GPU of a worker, the worker's cores do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from dpbb.errors import EngineUnavailable, InvariantError, OptionError

if TYPE_CHECKING:
    from dpbb.cluster.scheduler.open_run import OpenRun
    from dpbb.cluster.scheduler.seats import SeatTable
    from dpbb.cluster.scheduler.sharing import SeatSharing
    from dpbb.coordination.messages import Assignment, RunId, SeatId

logger = logging.getLogger(__name__)

REFUSALS = (EngineUnavailable, OptionError)
"""What an engine raises that cannot run there, or not this run: for good."""


class Failures:
    """Takes note of what tasks raise; see the module.

    Parameters
    ----------
    table, sharing
        The hub's.
    fail
        Ends a run with an error.
    clock
        Seconds, monotonic.
    """

    def __init__(
        self,
        table: SeatTable,
        sharing: SeatSharing,
        fail: Callable[[RunId, Exception | str], None],
        clock: Callable[[], float],
    ) -> None:
        self._table = table
        self._sharing = sharing
        self._fail = fail
        self._clock = clock

    def take(
        self, run: OpenRun, assignment: Assignment, error: Exception | str
    ) -> None:
        """Let another seat try, or end the run."""
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
