"""What the hub asks for but cannot do itself: futures, hints, answers, files."""

from collections.abc import Sequence
from typing import Protocol

from dpbb.cluster.scheduler.heuristics import Part
from dpbb.cluster.scheduler.open_run import OpenRun
from dpbb.coordination.messages import (
    Assignment,
    GiftWanted,
    LeaseId,
    Order,
    RunId,
    SeatId,
)


class Shell(Protocol):
    """Does what the hub asks for; none of these may call it back."""

    def submit(self, run_id: RunId, assignment: Assignment, worker: str) -> None:
        """Pin a future to the worker; ``Hub.ended`` is called at its end."""

    def release(self, run_id: RunId, assignment: Assignment) -> None:
        """Let go of a future, wherever it is; ``ended`` may or may not follow."""

    def answer(self, run_id: RunId, lease: LeaseId, order: Order) -> None:
        """Give the answer to a lease's last report, which ``on_report`` held back."""

    def hint(
        self,
        worker: str,
        run_id: RunId,
        seat: SeatId | None,
        ub: int | None,
        gift: GiftWanted | None = None,
        *,
        full: bool = False,
    ) -> None:
        """Tell a worker a new UB, or one of its seats to report or give at once.

        ``full``: the report is to be a full one.
        """

    def improve(
        self,
        worker: str,
        run_id: RunId,
        part: Part,
        value: int | None,
        permutation: Sequence[int] | None,
    ) -> None:
        """Tell a worker its part in a run's heuristics, and the incumbent to improve.

        ``permutation`` is None where there is none, or nobody to improve it.
        """

    def forget(self, worker: str, run_id: RunId) -> None:
        """Tell a worker that the run is over."""

    def changed(self, run_id: RunId) -> None:
        """Wake those who watch the run."""

    def write_last(self, run: OpenRun) -> None:
        """Write the last checkpoint of a run that is over, then call ``advance``."""
