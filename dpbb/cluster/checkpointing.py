"""Checkpoints of the open runs: when they are written, off the event loop.

What is written is the state as of the last full reports, every ``full_interval_s`` and
at the end of the run; *save now* asks the seats for full reports first. A failure is an
event that people see, and the next checkpoint tries again.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpbb.cluster.checkpoint_folder import CheckpointFolder
from dpbb.cluster.claim import BEAT_S, Claim
from dpbb.coordination.checkpoint_file import to_bytes
from dpbb.coordination.snapshot import CheckpointSnapshot
from dpbb.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Executor

    from dpbb.cluster.checkpoint_folder import Written
    from dpbb.cluster.hub import Hub
    from dpbb.cluster.open_run import OpenRun
    from dpbb.coordination.checkpoint import Checkpoint
    from dpbb.coordination.messages import RunSpec

logger = logging.getLogger(__name__)

JITTER = 0.1
"""Checkpoints of several runs, and full reports, do not keep step."""

FULL_REPORTS_S = 30.0
"""*Save now* waits so long for full reports; what is missing then is older."""

_POLL_S = 0.02


class Keeper:
    """Checkpoints of one run."""

    def __init__(
        self, spec: RunSpec, folder: CheckpointFolder, claim: Claim, now: float
    ) -> None:
        self.folder = folder
        self.claim = claim
        self.lock = asyncio.Lock()
        self.closing = False
        self.closed = False
        self._interval_s = spec.full_interval_s
        self._written_at: float | None = None
        self._failed_at: float | None = None
        self._next_at = self._later(now)
        self._beat_at = now + BEAT_S
        self._status = CheckpointSnapshot(
            url=folder.folder.url, host=folder.folder.host, interval_s=self._interval_s
        )

    def due(self, now: float) -> bool:
        """Whether one is to be written now."""
        return now >= self._next_at and not (self.lock.locked() or self.closing)

    def status(self, now: float, seconds: float) -> CheckpointSnapshot:
        """Return the state for people; ``seconds`` is the run's time now."""

        def since_opened(at: float | None) -> float | None:
            return None if at is None else seconds - (now - at)

        return replace(
            self._status,
            saving=self.lock.locked(),
            last_s=since_opened(self._written_at),
            next_s=None if self.closing else since_opened(self._next_at),
            error_s=since_opened(self._failed_at),
            files=self.folder.names,
        )

    async def write(self, run: OpenRun, saved: Checkpoint, threads: Executor) -> bool:
        """Write a checkpoint; False if that failed."""
        began = time.monotonic()
        loop = asyncio.get_running_loop()
        try:
            written = await loop.run_in_executor(threads, self._write, saved)
        except CheckpointError as error:
            self._failed(run, error)
            return False
        finally:
            self._next_at = self._later(time.monotonic())
        now = self._written_at = time.monotonic()
        self._status = replace(
            self._status,
            written=self._status.written + 1,
            last_bytes=written.n_bytes,
            last_duration_s=now - began,
        )
        text = f"{written.name}, {written.n_bytes:,} bytes in {now - began:.2f} s"
        run.coordinator.note_event("checkpoint", text, now)
        return True

    def _write(self, saved: Checkpoint) -> Written:
        self.claim.renew()
        return self.folder.write(saved)

    def _failed(self, run: OpenRun, error: CheckpointError) -> None:
        now = self._failed_at = time.monotonic()
        failures = self._status.failures + 1
        self._status = replace(self._status, failures=failures, error=str(error))
        logger.error("run %s: checkpoint failed: %s", run.id, error)
        run.coordinator.note_event("checkpoint-failed", str(error), now)

    def beat_due(self, now: float) -> bool:
        """Whether the folder is to be told that its run lives; asked once."""
        if now < self._beat_at or self.lock.locked() or self.closing:
            return False
        self._beat_at = now + BEAT_S
        return True

    async def beat(self, run: OpenRun, threads: Executor) -> None:
        """Give the folder a sign of life."""
        async with self.lock:
            if self.closing:
                return
            try:
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(threads, self.claim.renew)
            except CheckpointError as error:
                self._failed(run, error)

    async def release(self, *, ended: bool = True) -> None:
        """Leave the folder; unless the run has ended, somebody should go on from it."""
        try:
            leave = self.claim.release if ended else self.claim.abandon
            await asyncio.to_thread(leave)
        except CheckpointError as error:
            logger.warning("a folder of checkpoints is not released: %s", error)

    def _later(self, now: float) -> float:
        share = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        return now + self._interval_s * share


class Checkpointer:
    """Checkpoints of all open runs of a hub.

    Parameters
    ----------
    hub
        Holds the runs.
    threads
        Where files are written.
    """

    def __init__(self, hub: Hub, threads: Executor) -> None:
        self._hub = hub
        self._threads = threads
        self._tasks: set[asyncio.Task[object]] = set()

    async def keeper(self, spec: RunSpec, saved: Checkpoint | None) -> Keeper | None:
        """Return what keeps a new run's checkpoints; None if it wants none.

        Raises
        ------
        CheckpointError
            The folder cannot be written to, belongs to another run, or another one
            goes on from it.
        """
        if spec.checkpoint is None:
            return None
        folder = await asyncio.to_thread(
            CheckpointFolder,
            spec.checkpoint,
            spec.checkpoint_keep,
            goes_on=None if saved is None else saved.spec.run_id,
        )
        claim = await asyncio.to_thread(Claim, folder.folder, spec.run_id)
        return Keeper(spec, folder, claim, time.monotonic())

    def tick(self) -> None:
        """Begin to write the checkpoints that are due."""
        now = time.monotonic()
        for run in self._hub.runs.values():
            if run.keeper is not None and run.keeper.due(now):
                self._start(self._write(run, run.keeper))
            elif run.keeper is not None and run.keeper.beat_due(now):
                self._start(run.keeper.beat(run, self._threads))

    def write_last(self, run: OpenRun) -> None:
        """Write the checkpoint of a run that is over, then let it end."""
        keeper = run.keeper
        if keeper is None or keeper.closing:
            return
        keeper.closing = True
        self._start(self._close(run, keeper))

    async def save_now(self, run: OpenRun) -> CheckpointSnapshot:
        """Have all seats report in full, and write a checkpoint.

        Raises
        ------
        CheckpointError
            The run keeps none, or it could not be written.
        """
        if run.keeper is None:
            raise CheckpointError(
                f"run {run.id}: expected a run with checkpoints (option checkpoint)"
            )
        await self._full_reports(run)
        ok = await self._write(run, run.keeper)
        now = time.monotonic()
        status = run.keeper.status(now, run.coordinator.seconds(now))
        if not ok:
            raise CheckpointError(status.error or "the checkpoint failed")
        return status

    async def content(self, run: OpenRun) -> bytes:
        """Have all seats report in full; return the run's state in one piece."""
        await self._full_reports(run)
        saved = run.coordinator.checkpoint(time.monotonic())
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, to_bytes, saved)

    async def close(self) -> None:
        """Write what all open runs know: the scheduler ends before they do."""
        for run in list(self._hub.runs.values()):
            if run.keeper is not None and not run.keeper.closing:
                run.keeper.closing = True
                await self._write(run, run.keeper)
                await run.keeper.release(ended=False)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _full_reports(self, run: OpenRun) -> None:
        coordinator = run.coordinator
        if coordinator.finished:
            return
        deadline = time.monotonic() + FULL_REPORTS_S
        token = coordinator.request_save(time.monotonic())
        self._hub.advance(run.id)
        while not coordinator.finished and time.monotonic() < deadline:
            if coordinator.save_done(token):
                return
            await asyncio.sleep(_POLL_S)

    async def _write(self, run: OpenRun, keeper: Keeper) -> bool:
        async with keeper.lock:
            saved = run.coordinator.checkpoint(time.monotonic())
            return await keeper.write(run, saved, self._threads)

    async def _close(self, run: OpenRun, keeper: Keeper) -> None:
        try:
            await self._write(run, keeper)
            await keeper.release()
        finally:
            keeper.closed = True
            self._hub.advance(run.id)

    def _start(self, coroutine: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
