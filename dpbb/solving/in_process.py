"""A run explored in this process: nothing is started, so that short trees are short.

The run is that of a cluster, with its coordinator and the work of one seat; in place
of Dask there are a thread and function calls.
"""

from __future__ import annotations

import time
from concurrent.futures import wait
from dataclasses import replace
from threading import RLock

from dpbb.cluster.worker.exploration import Exploration, SeatControl, SeatStatus
from dpbb.cluster.worker.sessions import SeatSessions
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.coordinator import Coordinator
from dpbb.coordination.ledger import check_report
from dpbb.coordination.messages import Order, Report, RunSpec, Seat, SeatId
from dpbb.coordination.outcome import Outcome
from dpbb.coordination.snapshot import Snapshot
from dpbb.engines.base import Device
from dpbb.errors import ClusterError, InvariantError
from dpbb.kernels.cores import in_daemon
from dpbb.result import Termination

SEAT = SeatId("here")
FOR_EVER_S = 1e9

END_S = 0.25
"""Seconds that the seat has after the end of the run: it may be compiling."""


class InProcessRun:
    """As much of a ``Run`` as ``solve`` needs, without a cluster.

    Parameters
    ----------
    spec
        What to explore; its engine is one for cores.
    saved
        The state that it goes on from.
    """

    dashboard: str | None = None
    n_written: int | None = None

    def __init__(
        self, spec: RunSpec, threads: int, saved: Checkpoint | None = None
    ) -> None:
        # nobody else could take over what the only seat is silent about
        self.spec = spec = replace(spec, lease_timeout_s=FOR_EVER_S)
        self._coordinator = Coordinator(spec, now=time.monotonic(), saved=saved)
        self._sessions = SeatSessions(Device("cpu", SEAT, threads=threads))
        self._lock = RLock()  # the coordinator: the caller's thread and the seat's
        self.control = SeatControl()
        self._exploring = in_daemon(self._explore, "dpbb-in-process")

    def poll(self, version: int, timeout: float) -> tuple[int, bool, Snapshot]:
        """Wait so long for the end; see ``Run.poll``."""
        finished = self._over(timeout)
        if finished and wait([self._exploring], END_S).done:
            self._exploring.result()
        with self._lock:
            return version + 1, finished, self._coordinator.snapshot(time.monotonic())

    def _over(self, most_s: float) -> bool:
        """Wait so long for the end, and look at the limits, as the seat may compile."""
        until = time.monotonic() + most_s
        while True:
            with self._lock:
                self._coordinator.tick(time.monotonic())
            left = until - time.monotonic()
            if self._coordinator.finished or left <= 0:
                return self._coordinator.finished
            if wait([self._exploring], min(left, END_S)).done:
                return True

    def stop(self) -> None:
        """End the run soon."""
        with self._lock:
            self._coordinator.request_stop(Termination.STOPPED, time.monotonic())

    def outcome(self) -> Outcome:
        """Return what the run came to; ClusterError, InvariantError: it failed."""
        outcome = self._coordinator.outcome()
        if outcome.error is not None:
            raise (InvariantError if outcome.broken else ClusterError)(outcome.error)
        return outcome

    def close(self, *, keep: bool = False) -> None:
        """End the run, of which nothing is kept."""
        self.stop()
        while not self._over(END_S):
            pass
        self._sessions.close()

    # -- the seat -------------------------------------------------------------------

    def _explore(self) -> None:
        coordinator, spec = self._coordinator, self.spec
        with self._lock:
            seat = Seat(SEAT, SEAT, self._sessions.device, spec.engine)
            coordinator.add_seat(seat, time.monotonic(), shown=False)
        while not coordinator.finished:
            with self._lock:
                now = time.monotonic()
                assignment = coordinator.assign(SEAT, now)
                if assignment is None:
                    coordinator.tick(now)
                    continue
                lease = coordinator.lease(assignment, now)
            with self._sessions.session(spec, lease.ub) as slot:
                exploration = Exploration(spec, lease, slot.session, self)
                slot.reusable = exploration.run()

    def status(self) -> SeatStatus:
        """See ``Link``; asked before every slice, so limits are looked at here."""
        with self._lock:
            self._coordinator.tick(time.monotonic())
            if self._coordinator.nudges():
                self.control.hint(report=True)
            over = self._coordinator.finished  # nobody waited while it compiled
        return SeatStatus.CLOSED if over else SeatStatus.OPEN

    def report(self, report: Report) -> Order:
        """See ``Link``."""
        coordinator = self._coordinator
        with self._lock:
            now = time.monotonic()
            coordinator.tick(now)
            basis = None
            if report.has_roots:
                basis = coordinator.basis(report.lease, report.seq)
            checked = None if basis is None else check_report(basis, report)
            return coordinator.on_report(report, checked, now)
