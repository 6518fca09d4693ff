"""When the checkpoints of the open runs are written, off the event loop.

Every ``checkpoint_interval_s``, when somebody asks for one, and at the end of the run;
the seats are asked for full reports first. A store that hangs costs its own run its
checkpoints, and the others nothing: every run writes in threads of its own, and what
waits for them, such as the end of a run, loses its patience.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine
from threading import Event
from typing import Any, TypeVar

from dpbb.cluster.scheduler.hub import Hub
from dpbb.cluster.scheduler.keeper import Keeper
from dpbb.cluster.scheduler.open_run import OpenRun
from dpbb.cluster.storage.checkpoint_folder import CheckpointFolder, is_resumed
from dpbb.cluster.storage.claim import Claim
from dpbb.cluster.storage.store import in_time, shown
from dpbb.coordination.format import to_bytes
from dpbb.coordination.messages import RunSpec
from dpbb.coordination.snapshot import CheckpointSnapshot
from dpbb.errors import CheckpointError

logger = logging.getLogger(__name__)

T = TypeVar("T")

FULL_REPORTS_S = 30.0
"""*Save now* waits so long for a full report; what is missing then is older."""

SEAT_S = 2.0
"""A checkpoint that is due waits for a seat no longer than this, and"""

SEAT_SHARE = 0.25
"""this share of the interval."""

_POLL_S = 0.02


class Checkpointer:
    """Checkpoints of all open runs of a hub, which it is given."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._tasks: set[asyncio.Task[object]] = set()  # may hang
        self._ends: set[asyncio.Task[object]] = set()  # do not

    async def keeper(self, spec: RunSpec) -> Keeper | None:
        """Return what keeps a new run's checkpoints; None if it wants none.

        CheckpointError: the folder cannot be written to, belongs to another run,
        another one goes on from it, or the store does not answer.
        """
        url, keep = spec.options.checkpoint, spec.tuning.checkpoint_keep
        if url is None:
            return None
        run_id = spec.run_id
        goes_on = run_id if is_resumed(run_id) else None
        late = Event()

        def take() -> tuple[CheckpointFolder, Claim]:
            folder = CheckpointFolder(url, keep, goes_on=goes_on)
            claim = Claim(folder.folder, run_id)
            if late.is_set():  # nobody would ever give a sign of life
                leave = claim.release if goes_on is None else claim.abandon
                leave()
            return folder, claim

        try:
            folder, claim = await in_time(shown(url), take)
        except BaseException:
            late.set()
            raise
        return Keeper(spec, folder, claim, time.monotonic())

    def tick(self) -> None:
        """Begin to write the checkpoints that are due."""
        now = time.monotonic()
        for run in self._hub.runs.values():
            if run.keeper is not None and run.keeper.due(now):
                run.keeper.begin(now)
                _start(self._tasks, self._write(run, run.keeper))
            if run.keeper is not None and run.keeper.beat_due(now):
                _start(self._tasks, run.keeper.beat(run.coordinator))

    def write_last(self, run: OpenRun) -> None:
        """Write the checkpoint of a run that is over, then let it end."""
        keeper = run.keeper
        if keeper is None or keeper.closing:
            return
        keeper.closing = True
        _start(self._ends, self._end(run, keeper))

    async def save_now(self, run: OpenRun) -> CheckpointSnapshot:
        """Have all seats report in full, and write a checkpoint.

        CheckpointError: the run keeps none, or it could not be written.
        """
        if run.keeper is None:
            raise CheckpointError(
                f"run {run.id}: expected a run with checkpoints (option checkpoint)"
            )
        keeper = run.keeper
        if keeper.hangs.is_set():
            raise CheckpointError(f"{keeper.where} hangs: no checkpoint now")
        await self._full_reports(run, FULL_REPORTS_S)
        ok = await keeper.patiently(_start(self._tasks, keeper.write(run.coordinator)))
        now = time.monotonic()
        status = keeper.status(now, run.coordinator.seconds(now))
        if not ok:
            raise CheckpointError(status.error or "the checkpoint failed")
        return status

    async def content(self, run: OpenRun) -> bytes:
        """Have all seats report in full; return the run's state in one piece."""
        await self._full_reports(run, FULL_REPORTS_S)
        saved = run.coordinator.checkpoint(time.monotonic())
        return await asyncio.to_thread(to_bytes, saved)

    async def close(self) -> None:
        """Write what all open runs know: the scheduler ends before they do."""
        for run in self._hub.runs.values():
            if run.keeper is not None and not run.keeper.closing:
                run.keeper.closing = True
                _start(self._ends, self._end(run, run.keeper, ended=False))
        await asyncio.gather(*self._ends, return_exceptions=True)
        for task in self._tasks:  # of stores that hang
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _write(self, run: OpenRun, keeper: Keeper) -> None:
        """Write the checkpoint that is due, of reports that are asked for."""
        interval_s = run.coordinator.spec.options.checkpoint_interval_s
        try:
            await self._full_reports(run, min(SEAT_S, SEAT_SHARE * interval_s))
        except Exception:  # else none would ever be due again
            logger.exception("run %s: seats are not asked for reports", run.id)
        await keeper.write(run.coordinator)

    async def _full_reports(self, run: OpenRun, patience_s: float) -> None:
        """Wait until the seats have reported in full, or have had time enough."""
        coordinator = run.coordinator
        if coordinator.finished:
            return
        token = coordinator.request_save(time.monotonic(), patience_s)
        self._hub.advance(run.id)
        while not (coordinator.finished or coordinator.save_done(token)):
            await asyncio.sleep(_POLL_S)
            if coordinator.ask_on(token, time.monotonic()):
                self._hub.advance(run.id)

    async def _end(self, run: OpenRun, keeper: Keeper, *, ended: bool = True) -> None:
        """End a run's checkpoints; a store that hangs may still do it afterwards."""
        try:
            await keeper.patiently(
                _start(self._tasks, keeper.end(run.coordinator, ended=ended))
            )
        finally:
            keeper.closed = True
            if run.coordinator.finished:
                self._hub.advance(run.id)


def _start(
    tasks: set[asyncio.Task[object]], coroutine: Coroutine[Any, Any, T]
) -> asyncio.Task[T]:
    """Start a task, and have a set hold it until it is done."""
    task = asyncio.create_task(coroutine)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task
