"""The way from a task's thread to the scheduler plugin: RPCs that are always answered.

Hand-overs go by RPC, never by the worker's stream: an error on the stream loses the
worker for good, an RPC's error only reaches its caller.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import CancelledError
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from distributed.core import Status

from dpbb.cluster.rpc import raised, wrap
from dpbb.cluster.timeouts import timeout
from dpbb.cluster.worker.exploration import SeatClosedError, SeatControl, SeatStatus
from dpbb.coordination.messages import Assignment, Lease, Order, Report, RunId
from dpbb.coordination.wire import decode, encode

if TYPE_CHECKING:
    from distributed import Worker

_POLL_S = 0.5
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0

_LEAVING = (Status.closing_gracefully, Status.closing)
_CLOSED = (Status.closed, Status.failed, Status.stopping, Status.stopped)


class WorkerLink:
    """``dpbb.cluster.worker.exploration.Link`` of a seat on a Dask worker."""

    def __init__(self, worker: Worker, run_id: RunId) -> None:
        self.control = SeatControl()
        self.run_id = run_id
        self.torn_down = False  # set by the plugin's teardown: RPCs are over
        self._worker: Any = worker

    def status(self) -> SeatStatus:
        """Whether the worker stays; while it closes there is time for one report."""
        status = self._worker.status
        if self.torn_down or status in _CLOSED:
            return SeatStatus.CLOSED
        return SeatStatus.LEAVING if status in _LEAVING else SeatStatus.OPEN

    def spec(self) -> bytes:
        """Fetch the pickled RunSpec; StaleLeaseError when the run is gone."""
        return self.call("dpbb_spec", run_id=self.run_id)

    def lease(self, given: Assignment) -> Lease:
        """Lease the unit; StaleLeaseError when another attempt is current."""
        answer = self.call("dpbb_lease", run_id=self.run_id, **asdict(given))
        return decode(Lease, answer)

    def report(self, report: Report) -> Order:
        """Deliver a report; sent again under its own number until it is answered."""
        answer = self.call(
            "dpbb_report",
            run_id=self.run_id,
            lease=report.lease,
            seq=report.seq,
            full=report.has_roots,
            body=wrap(encode(report)),
        )
        return decode(Order, answer)

    def call(self, op: str, **message: Any) -> Any:
        """Call the scheduler until it answers.

        Raises
        ------
        SeatClosedError
            The worker is closing: no answer will come.
        DpbbError
            The answer is an error.
        """
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return raised(self._call_once(op, message))
            except (OSError, CancelledError) as error:  # TimeoutError is an OSError
                if self.status() is not SeatStatus.OPEN:
                    raise SeatClosedError(op) from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _call_once(self, op: str, message: dict[str, Any]) -> Any:
        async def send() -> Any:
            # a copy: Dask takes keys out of the message that it is given
            return await getattr(self._worker.scheduler, op)(**dict(message))

        coroutine = send()
        try:
            future = asyncio.run_coroutine_threadsafe(
                coroutine, self._worker.loop.asyncio_loop
            )
        except RuntimeError as error:  # the loop is closed
            coroutine.close()
            raise SeatClosedError(op) from error
        deadline = time.monotonic() + timeout("rpc")
        while True:
            try:
                return future.result(_POLL_S)
            except TimeoutError:
                if future.done():  # the call's own time-out, such as connecting
                    raise
                closed = self.status() is SeatStatus.CLOSED
                if closed or time.monotonic() > deadline:
                    future.cancel()
                    raise
