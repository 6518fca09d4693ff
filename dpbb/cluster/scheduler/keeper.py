"""The checkpoints of one run, in a folder that no other run may use meanwhile.

What is written is the state as of the last full reports, which the seats are asked for
just before. What is explored from then on is at risk until the next one is written: so
that one begins so early that it is there when the interval is over, counted from the
moment at which the seats were asked. A failure is an event that people see, and the
next checkpoint tries again. A store that hangs costs its own run its checkpoints until
it answers again; what waits for it loses its patience.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec, TypeVar

from dpbb.cluster.storage.checkpoint_folder import CheckpointFolder, Written
from dpbb.cluster.storage.claim import Claim
from dpbb.cluster.storage.store import in_thread, no_answer
from dpbb.cluster.timeouts import timeout
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.coordinator import Coordinator
from dpbb.coordination.messages import RunSpec
from dpbb.coordination.snapshot import CheckpointSnapshot
from dpbb.errors import CheckpointError

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

LEAST_PAUSE = 0.25
"""Of the interval: a checkpoint that takes long is followed by a pause of that."""


class Keeper:
    """Checkpoints of one run.

    ``claim``: on the folder, which no other run may use.
    """

    def __init__(
        self, spec: RunSpec, folder: CheckpointFolder, claim: Claim, now: float
    ) -> None:
        self.folder = folder
        self.claim = claim
        self.lock = asyncio.Lock()
        self.hangs = asyncio.Event()
        self.closing = False
        self.closed = False
        self._last: bool | None = None  # whether the last one was written, after it
        self._interval_s = spec.options.checkpoint_interval_s
        self._written_at: float | None = None
        self._failed_at: float | None = None
        self._began_at: float | None = None  # when seats were asked for reports
        self._covered_at = now  # what was explored until then is in a checkpoint
        self._promised_s = self._interval_s
        self._next_at = now + self._interval_s
        self._beat_at = now + timeout("beat")
        self._beating = False
        self._n_hanging = 0  # calls
        store = folder.folder
        self.where = f"{store.url} on host {store.host}"
        self._status = CheckpointSnapshot(
            url=store.url, host=store.host, interval_s=self._interval_s
        )

    def due(self, now: float) -> bool:
        """Whether one is to be written now."""
        busy = self._began_at is not None or self.lock.locked() or self.closing
        return now >= self._next_at and not busy

    def begin(self, now: float) -> None:
        """Take note that the seats are asked for what the next one is to hold."""
        self._began_at = now

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
            at_risk_s=0.0 if self._last else max(0.0, now - self._covered_at),
            promised_s=self._promised_s,
        )

    async def write(self, coordinator: Coordinator) -> bool:
        """Write a checkpoint; False if that failed. After the last one: none."""
        async with self.lock:
            return (
                await self._write_now(coordinator) if self._last is None else self._last
            )

    async def _write_now(self, coordinator: Coordinator) -> bool:
        taken = time.monotonic()
        began, self._began_at = self._began_at or taken, None
        try:
            saved = coordinator.checkpoint(taken)
            written = await self._call(coordinator, self._write, saved)
        except CheckpointError as error:
            self._failed(coordinator, error)
            return False
        except Exception as error:
            logger.exception("run %s: no checkpoint", coordinator.spec.run_id)
            self._failed(coordinator, error)
            return False
        finally:
            self._plan(began, time.monotonic())
        now = self._written_at = time.monotonic()
        self._covered_at = taken - (saved.totals.seconds - saved.covered_s)
        self._status = replace(
            self._status,
            written=self._status.written + 1,
            last_bytes=written.n_bytes,
            last_duration_s=now - began,
        )
        text = f"{written.name}, {written.n_bytes:,} bytes in {now - began:.2f} s"
        if written.lost:
            gone = ", ".join(written.lost)
            text += f"; somebody has deleted {gone}: written anew"
            logger.warning("run %s: %s", coordinator.spec.run_id, text)
        coordinator.note_event("checkpoint", text, now)
        return True

    def _write(self, saved: Checkpoint) -> Written:
        self.claim.renew()
        return self.folder.write(saved, self.claim.tag, self.claim.check)

    async def _call(
        self,
        coordinator: Coordinator,
        function: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call what uses the store; people are told if it does not answer."""
        answer = in_thread(function, *args, **kwargs)
        last_s = self._status.last_duration_s or 0.0
        patience = min(max(timeout("store"), 3 * last_s), timeout("store-open"))
        await asyncio.wait({answer}, timeout=patience)
        if answer.done():
            return await answer
        self._failed(coordinator, CheckpointError(no_answer(self.where, patience)))
        self._n_hanging += 1
        self.hangs.set()
        try:
            return await answer
        finally:
            self._n_hanging -= 1
            if not self._n_hanging:
                self.hangs.clear()

    def _failed(self, coordinator: Coordinator, error: Exception) -> None:
        now = self._failed_at = time.monotonic()
        failures = self._status.failures + 1
        self._status = replace(self._status, failures=failures, error=str(error))
        logger.error("run %s: checkpoint failed: %s", coordinator.spec.run_id, error)
        coordinator.note_event("checkpoint-failed", str(error), now)

    def beat_due(self, now: float) -> bool:
        """Whether the folder is to be told that its run lives; asked once."""
        if now < self._beat_at or self._beating or self.closing:
            return False
        self._beat_at = now + timeout("beat")
        self._beating = True
        return True

    async def beat(self, coordinator: Coordinator) -> None:
        """Give the folder a sign of life, also while a checkpoint is written."""
        try:
            await self._call(coordinator, self.claim.renew)
        except CheckpointError as error:
            self._failed(coordinator, error)
        finally:
            self._beating = False

    async def end(self, coordinator: Coordinator, *, ended: bool) -> None:
        """Write the last checkpoint, and leave the folder."""
        async with self.lock:
            self._last = await self._write_now(coordinator)
            await self.release(ended=ended)

    async def release(self, *, ended: bool) -> None:
        """Leave the folder; unless the run has ended, somebody should go on from it."""
        leave = self.claim.release if ended else self.claim.abandon
        try:
            await asyncio.wait_for(in_thread(leave), timeout("store"))
        except (CheckpointError, TimeoutError) as error:
            why = str(error) or no_answer(self.where, timeout("store"))
            logger.warning("a folder of checkpoints is not released: %s", why)

    async def patiently(self, task: asyncio.Task[T]) -> T | None:
        """Wait for what uses the store; None as soon as it is known to hang."""
        hangs = asyncio.create_task(self.hangs.wait())
        try:
            await asyncio.wait({task, hangs}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hangs.cancel()
        return task.result() if task.done() else None

    def _plan(self, began: float, now: float) -> None:
        """Say when the next one begins, after one that was begun then and is there now.

        It will take as long as this one.
        """
        took = now - began
        at_ease = now + LEAST_PAUSE * self._interval_s
        self._next_at = max(began + self._interval_s - took, at_ease)
        self._promised_s = self._next_at + took - began
