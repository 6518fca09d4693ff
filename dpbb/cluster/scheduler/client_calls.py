"""The RPC handlers that clients call about runs that are there."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from distributed.protocol import pickle

from dpbb.cluster.rpc import wrap
from dpbb.cluster.scheduler.checkpoints import state_of
from dpbb.cluster.scheduler.hub import Hub
from dpbb.cluster.scheduler.open_run import FinishedRun, OpenRun
from dpbb.cluster.scheduler.submitter import Submitter
from dpbb.coordination.messages import RunId
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import (
    CheckpointError,
    ClusterError,
    InvariantError,
    SchedulerLostError,
)
from dpbb.result import Termination

CALLS = (
    *("watch", "outcome", "optima", "stop", "offer"),
    *("runs", "discard", "save", "save_now"),
)


class ClientCalls:
    """What clients ask of runs that are there."""

    def __init__(self, hub: Hub, submitter: Submitter) -> None:
        self._hub = hub
        self._submitter = submitter
        self._changes: dict[RunId, asyncio.Event] = {}  # of runs that are watched
        self._closing = False

    def handlers(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """Return the RPC handlers, by their names after ``dpbb_``."""
        return {name: getattr(self, name) for name in CALLS}

    def changed(self, run_id: RunId) -> None:
        """Wake those who watch a run."""
        event = self._changes.pop(run_id, None)
        if event is not None:
            event.set()

    def close(self) -> None:
        """Answer those who still wait: the scheduler ends."""
        self._closing = True
        for event in self._changes.values():
            event.set()

    async def watch(
        self, run_id: RunId, version: int, timeout: float
    ) -> dict[str, Any]:
        """Answer when the run has changed since ``version``, is over, or in time."""
        deadline = time.monotonic() + timeout
        while not self._closing:
            run, left = self._hub.known(run_id), deadline - time.monotonic()
            over = isinstance(run, FinishedRun)
            if over or run.version != version or left <= 0:
                return {
                    "version": run.version,
                    "finished": over,
                    "snapshot": pickle.dumps(_state_of(run)),
                }
            event = self._changes.setdefault(run_id, asyncio.Event())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), left)
        raise SchedulerLostError("the scheduler is closing; its runs end with it")

    async def outcome(self, run_id: RunId, optima: bool = True) -> dict[str, Any]:
        """Return the outcome of a finished run, perhaps without all optima."""
        result = self._hub.result(run_id)
        outcome = result.outcome
        if not optima:
            outcome = replace(outcome, optima=None)
        return {"outcome": pickle.dumps(outcome), "broken": result.broken}

    async def optima(
        self, run_id: RunId, value: int | None, position: int
    ) -> dict[str, Any]:
        """Return the next chunk of optimal permutations for a reader.

        ``value`` and ``position`` say what it has written: see ``Optima.after``. An
        answer that is lost is given again.
        """
        run = self._hub.known(run_id)
        if isinstance(run, OpenRun):
            chunk = run.coordinator.optima_after(value, position)
        else:
            held = run.outcome.optima
            chunk = None if held is None else held.after(value, position)
        return {
            "finished": isinstance(run, FinishedRun),
            "chunk": None if chunk is None else pickle.dumps(chunk),
        }

    async def stop(self, run_id: RunId) -> None:
        """Stop a run early; one that is over stays as it is."""
        run = self._if_open(run_id)
        if run is not None:
            run.coordinator.request_stop(Termination.STOPPED, time.monotonic())
            self._hub.advance(run_id)

    async def offer(self, run_id: RunId, permutation: list[int], source: str) -> bool:
        """Offer a permutation to a run; True if it is the new incumbent."""
        run = self._if_open(run_id)
        if run is None:
            return False
        try:
            is_new = run.coordinator.offer(permutation, source, time.monotonic())
        except InvariantError as error:  # a breach ends the run
            self._hub.fail(run_id, error)
            raise
        self._hub.advance(run_id)
        return is_new

    async def save(self, run_id: RunId) -> Any:
        """Return an open run's state in one piece, as of now."""
        coordinator = self._open_run(run_id).coordinator
        return wrap(await state_of(coordinator, lambda: self._hub.advance(run_id)))

    async def save_now(self, run_id: RunId) -> bytes:
        """Write a checkpoint of an open run; return the pickled state of them."""
        keeper = self._open_run(run_id).keeper
        if keeper is None:
            raise CheckpointError(
                f"run {run_id}: expected a run with checkpoints (option checkpoint)"
            )
        return pickle.dumps(await keeper.save_now())

    def _if_open(self, run_id: RunId) -> OpenRun | None:
        """Return a run, None if it is over; ClusterError if nobody knows it."""
        run = self._hub.known(run_id)
        return run if isinstance(run, OpenRun) else None

    def _open_run(self, run_id: RunId) -> OpenRun:
        run = self._if_open(run_id)
        if run is None:
            raise ClusterError(f"expected an open run, got {run_id}, which is over")
        return run

    async def runs(self) -> list[dict[str, Any]]:
        """Return every run that is open or whose result is kept, oldest first."""
        finished = [run.snapshot for run in self._hub.finished.values()]
        states = finished + [_state_of(run) for run in self._hub.runs.values()]
        return [{"snapshot": pickle.dumps(state)} for state in states]

    async def describe(self, run_id: RunId) -> dict[str, Any]:
        """Return the pickled RunSpec of a run, and the seconds since it was opened."""
        run = self._hub.known(run_id)
        return {"blob": run.blob, "seconds": time.monotonic() - run.opened}

    async def discard(self, run_id: RunId) -> None:
        """Forget a finished run, and wait until Dask has too; an open one goes on."""
        self._hub.finished.pop(run_id, None)
        if run_id not in self._hub.runs:
            await self._submitter.forgotten(run_id)


def _state_of(run: OpenRun | FinishedRun) -> Snapshot:
    """Return a run as it is now, or was at its end."""
    if isinstance(run, FinishedRun):
        return run.snapshot
    return run.snapshot(time.monotonic())
