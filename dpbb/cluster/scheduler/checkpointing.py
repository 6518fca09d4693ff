"""Checkpoints of the open runs: when they are written, off the event loop.

What is written is the state as of the last full reports, every
``checkpoint_interval_s`` and at the end of the run; *save now* asks the seats for full
reports first. A failure is an event that people see, and the next checkpoint tries
again.

A store may also hang. That costs its own run its checkpoints, until it answers again,
and nobody else anything: every run writes in threads of its own, and what waits for
them, such as the end of a run, loses its patience.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dpbb.cluster.storage.checkpoint_folder import CheckpointFolder
from dpbb.cluster.storage.claim import BEAT_S, Claim
from dpbb.cluster.storage.patience import OPEN_S, in_thread, in_time, no_answer
from dpbb.cluster.storage.store import shown
from dpbb.coordination.checkpoint_format import to_bytes
from dpbb.coordination.snapshot import CheckpointSnapshot
from dpbb.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dpbb.cluster.scheduler.hub import Hub
    from dpbb.cluster.scheduler.run_entry import OpenRun
    from dpbb.cluster.storage.checkpoint_folder import Written
    from dpbb.coordination.checkpoint import Checkpoint
    from dpbb.coordination.messages import RunSpec

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

JITTER = 0.1
"""Checkpoints of several runs, and full reports, do not keep step."""

FULL_REPORTS_S = 30.0
"""*Save now* waits so long for full reports; what is missing then is older."""

PATIENCE_S = 15.0
"""A store that has not answered for so long hangs, as far as people and the end of a
run are concerned; what has begun goes on, and may still succeed. One whose last
checkpoint took long has three times as long, up to ``OPEN_S``."""

_POLL_S = 0.02


class Keeper:
    """Checkpoints of one run."""

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
        self._next_at = self._later(now)
        self._beat_at = now + BEAT_S
        store = folder.folder
        self.where = f"{store.url} on host {store.host}"
        self._status = CheckpointSnapshot(
            url=store.url, host=store.host, interval_s=self._interval_s
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

    async def write(self, run: OpenRun) -> bool:
        """Write a checkpoint; False if that failed. After the last one: none."""
        async with self.lock:
            return await self._write_now(run) if self._last is None else self._last

    async def _write_now(self, run: OpenRun) -> bool:
        began = time.monotonic()
        saved = run.coordinator.checkpoint(began)
        try:
            written = await self._call(run, self._write, saved)
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

    async def _call(
        self, run: OpenRun, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call what uses the store; people are told if it does not answer."""
        answer = in_thread(function, *args, **kwargs)
        last_s = self._status.last_duration_s or 0.0
        patience = min(max(PATIENCE_S, 3 * last_s), OPEN_S)
        await asyncio.wait({answer}, timeout=patience)
        if not answer.done():
            self._failed(run, CheckpointError(no_answer(self.where, patience)))
            self.hangs.set()
        try:
            return await answer
        finally:
            self.hangs.clear()

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

    async def beat(self, run: OpenRun) -> None:
        """Give the folder a sign of life."""
        async with self.lock:
            if self.closing:
                return
            try:
                await self._call(run, self.claim.renew)
            except CheckpointError as error:
                self._failed(run, error)

    async def end(self, run: OpenRun, *, ended: bool) -> None:
        """Write the last checkpoint, and leave the folder."""
        async with self.lock:
            self._last = await self._write_now(run)
            await self.release(ended=ended)

    async def release(self, *, ended: bool) -> None:
        """Leave the folder; unless the run has ended, somebody should go on from it."""
        leave = self.claim.release if ended else self.claim.abandon
        try:
            await asyncio.wait_for(in_thread(leave), PATIENCE_S)
        except (CheckpointError, TimeoutError) as error:
            why = str(error) or no_answer(self.where, PATIENCE_S)
            logger.warning("a folder of checkpoints is not released: %s", why)

    async def patiently(self, task: asyncio.Task[T]) -> T | None:
        """Wait for what uses the store; None as soon as it is known to hang."""
        hangs = asyncio.create_task(self.hangs.wait())
        try:
            await asyncio.wait({task, hangs}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hangs.cancel()
        return task.result() if task.done() else None

    def _later(self, now: float) -> float:
        share = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        return now + self._interval_s * share


class Checkpointer:
    """Checkpoints of all open runs of a hub, which it is given."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._tasks: set[asyncio.Task[object]] = set()  # may hang
        self._ends: set[asyncio.Task[object]] = set()  # do not

    async def keeper(self, spec: RunSpec, saved: Checkpoint | None) -> Keeper | None:
        """Return what keeps a new run's checkpoints; None if it wants none.

        Raises
        ------
        CheckpointError
            The folder cannot be written to, belongs to another run, another one goes on
            from it, or the store does not answer.
        """
        url, keep = spec.options.checkpoint, spec.options.checkpoint_keep
        if url is None:
            return None
        goes_on = None if saved is None else saved.spec.run_id
        run_id = spec.run_id
        late = Event()

        def take() -> tuple[CheckpointFolder, Claim]:
            folder = CheckpointFolder(url, keep, goes_on=goes_on)
            claim = Claim(folder.folder, run_id)
            if late.is_set():  # nobody would ever give a sign of life
                leave = claim.release if saved is None else claim.abandon
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
                _start(self._tasks, run.keeper.write(run))
            elif run.keeper is not None and run.keeper.beat_due(now):
                _start(self._tasks, run.keeper.beat(run))

    def write_last(self, run: OpenRun) -> None:
        """Write the checkpoint of a run that is over, then let it end."""
        keeper = run.keeper
        if keeper is None or keeper.closing:
            return
        keeper.closing = True
        _start(self._ends, self._end(run, keeper))

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
        keeper = run.keeper
        if keeper.hangs.is_set():
            raise CheckpointError(f"{keeper.where} hangs: no checkpoint now")
        await self._full_reports(run)
        ok = await keeper.patiently(_start(self._tasks, keeper.write(run)))
        now = time.monotonic()
        status = keeper.status(now, run.coordinator.seconds(now))
        if not ok:
            raise CheckpointError(status.error or "the checkpoint failed")
        return status

    async def content(self, run: OpenRun) -> bytes:
        """Have all seats report in full; return the run's state in one piece."""
        await self._full_reports(run)
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

    async def _end(self, run: OpenRun, keeper: Keeper, *, ended: bool = True) -> None:
        """End a run's checkpoints; a store that hangs may still do it afterwards."""
        try:
            await keeper.patiently(_start(self._tasks, keeper.end(run, ended=ended)))
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
