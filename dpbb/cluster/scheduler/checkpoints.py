"""The checkpoints of one run, in a folder that no other run may use meanwhile.

One is written every ``checkpoint_interval_s``, when somebody asks for one, and at the
end of the run. What is written is the state as of the last full reports, which the
seats are asked for just before. What is explored from then on is at risk until the next
one is written: so that one begins so early that it is there when the interval is over,
counted from the moment at which the seats were asked. A failure is an event that people
see, and the next checkpoint tries again.

A store that hangs costs its own run its checkpoints, and the others nothing: every run
writes in threads of its own, and what waits for them, such as the end of a run, loses
its patience.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from threading import Event
from typing import Any, ParamSpec, TypeVar

from dpbb.cluster.storage.checkpoint_folder import CheckpointFolder, is_resumed
from dpbb.cluster.storage.claim import Claim
from dpbb.cluster.storage.store import in_thread, in_time, no_answer, shown
from dpbb.cluster.timeouts import timeout
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.coordinator import Coordinator
from dpbb.coordination.format import to_bytes
from dpbb.coordination.messages import RunSpec
from dpbb.coordination.snapshot import CheckpointSnapshot
from dpbb.errors import CheckpointError

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

FULL_REPORTS_S = 30.0
"""*Save now* waits so long for a full report; what is missing then is older."""

SEAT_S = 2.0
"""A checkpoint that is due waits for a seat no longer than this, and"""

SEAT_SHARE = 0.25
"""this share of the interval."""

LEAST_PAUSE = 0.25
"""Of the interval: a checkpoint that takes long is followed by a pause of that."""

_POLL_S = 0.02


async def full_reports(
    coordinator: Coordinator,
    advance: Callable[[], None],
    patience_s: float = FULL_REPORTS_S,
) -> None:
    """Wait until the seats have reported in full, or have had time enough.

    ``advance``: called when the coordinator wants something of its seats.
    """
    if coordinator.finished:
        return
    request = coordinator.request_save(time.monotonic(), patience_s)
    advance()
    while not (coordinator.finished or coordinator.save_done(request)):
        await asyncio.sleep(_POLL_S)
        if coordinator.ask_on(request, time.monotonic()):
            advance()


async def state_of(coordinator: Coordinator, advance: Callable[[], None]) -> bytes:
    """Have all seats report in full; return the run's state in one piece."""
    await full_reports(coordinator, advance)
    saved = coordinator.checkpoint(time.monotonic())
    return await asyncio.to_thread(to_bytes, saved)


class Keeper:
    """Checkpoints of one run; ``opened`` makes it, ``start`` gives it the run.

    Parameters
    ----------
    claim
        On the folder, which no other run may use.
    now
        When the run is opened.

    Attributes
    ----------
    closed
        Whether the last checkpoint is written, or nobody waits for it any more.
    """

    def __init__(
        self, spec: RunSpec, folder: CheckpointFolder, claim: Claim, now: float
    ) -> None:
        self.closed = False
        self._folder, self._claim = folder, claim
        self._lock = asyncio.Lock()
        self._hangs = asyncio.Event()
        self._n_hanging = 0  # calls
        self._tasks: set[asyncio.Task[Any]] = set()  # may hang
        self._end: asyncio.Task[None] | None = None  # does not
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
        store = folder.folder
        self._where = f"{store.url} on host {store.host}"
        self._status = CheckpointSnapshot(
            url=store.url, host=store.host, interval_s=self._interval_s
        )

    @classmethod
    async def opened(cls, spec: RunSpec) -> Keeper | None:
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
        return cls(spec, folder, claim, time.monotonic())

    def start(self, coordinator: Coordinator, advance: Callable[[], None]) -> None:
        """Keep the checkpoints of this run from now on; see ``full_reports``."""
        self._coordinator, self._advance = coordinator, advance

    # -- what the scheduler asks for --------------------------------------------------

    def tick(self) -> None:
        """Begin to write a checkpoint that is due; give a sign of life."""
        now = time.monotonic()
        if self._end is not None:
            return
        busy = self._began_at is not None or self._lock.locked()
        if now >= self._next_at and not busy:
            self._began_at = now
            self._start(self._write_due())
        if now >= self._beat_at and not self._beating:
            self._beat_at = now + timeout("beat")
            self._beating = True
            self._start(self._beat())

    async def save_now(self) -> CheckpointSnapshot:
        """Have all seats report in full, and write a checkpoint.

        CheckpointError: it could not be written.
        """
        if self._hangs.is_set():
            raise CheckpointError(f"{self._where} hangs: no checkpoint now")
        await full_reports(self._coordinator, self._advance)
        ok = await self._patiently(self._start(self._write()))
        now = time.monotonic()
        status = self.status(now, self._coordinator.seconds(now))
        if not ok:
            raise CheckpointError(status.error or "the checkpoint failed")
        return status

    def status(self, now: float, seconds: float) -> CheckpointSnapshot:
        """Return the state for people; ``seconds`` is the run's time now."""

        def since_opened(at: float | None) -> float | None:
            return None if at is None else seconds - (now - at)

        return replace(
            self._status,
            saving=self._lock.locked(),
            last_s=since_opened(self._written_at),
            next_s=None if self._end is not None else since_opened(self._next_at),
            error_s=since_opened(self._failed_at),
            files=tuple(self._folder.names),
            at_risk_s=0.0 if self._last else max(0.0, now - self._covered_at),
            promised_s=self._promised_s,
        )

    def write_last(self, *, ended: bool = True) -> None:
        """Write the checkpoint of a run that is over, then leave the folder.

        The run is told when that is done. ``ended``: nobody is to go on with it.
        """
        if self._end is None:
            self._end = asyncio.create_task(self._write_last(ended))

    async def close(self) -> None:
        """Write what the run knows: the scheduler ends before it does."""
        self.write_last(ended=False)
        if self._end is not None:
            await asyncio.gather(self._end, return_exceptions=True)
        for task in self._tasks:  # of a store that hangs
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def release(self, *, ended: bool) -> None:
        """Leave the folder; unless the run has ended, somebody should go on from it."""
        leave = self._claim.release if ended else self._claim.abandon
        try:
            await asyncio.wait_for(in_thread(leave), timeout("store"))
        except (CheckpointError, TimeoutError) as error:
            why = str(error) or no_answer(self._where, timeout("store"))
            logger.warning("a folder of checkpoints is not released: %s", why)

    # -- in tasks ---------------------------------------------------------------------

    def _start(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task that uses the store."""
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _write_due(self) -> None:
        patience_s = min(SEAT_S, SEAT_SHARE * self._interval_s)
        try:
            await full_reports(self._coordinator, self._advance, patience_s)
        except Exception:  # else none would ever be due again
            run_id = self._coordinator.spec.run_id
            logger.exception("run %s: seats are not asked for reports", run_id)
        await self._write()

    async def _write(self) -> bool:
        """Write a checkpoint; False if that failed. After the last one: none."""
        async with self._lock:
            return await self._write_now() if self._last is None else self._last

    async def _write_now(self) -> bool:
        taken = time.monotonic()
        began, self._began_at = self._began_at or taken, None
        coordinator = self._coordinator
        try:
            saved = coordinator.checkpoint(taken)
            name, n_bytes = await self._call(self._write_file, saved)
        except CheckpointError as error:
            self._failed(error)
            return False
        except Exception as error:
            logger.exception("run %s: no checkpoint", coordinator.spec.run_id)
            self._failed(error)
            return False
        finally:
            self._plan(began, time.monotonic())
        now = self._written_at = time.monotonic()
        self._covered_at = taken - (saved.totals.seconds - saved.covered_s)
        self._status = replace(
            self._status,
            written=self._status.written + 1,
            last_bytes=n_bytes,
            last_duration_s=now - began,
        )
        text = f"{name}, {n_bytes:,} bytes in {now - began:.2f} s"
        coordinator.events.add(now, "checkpoint", text)
        return True

    def _write_file(self, saved: Checkpoint) -> tuple[str, int]:
        self._claim.renew()
        return self._folder.write(saved, self._claim.tag, self._claim.check)

    def _plan(self, began: float, now: float) -> None:
        """Say when the next one begins, after one that was begun then and is there now.

        It will take as long as this one.
        """
        took = now - began
        at_ease = now + LEAST_PAUSE * self._interval_s
        self._next_at = max(began + self._interval_s - took, at_ease)
        self._promised_s = self._next_at + took - began

    def _failed(self, error: Exception) -> None:
        now = self._failed_at = time.monotonic()
        failures = self._status.failures + 1
        self._status = replace(self._status, failures=failures, error=str(error))
        run_id = self._coordinator.spec.run_id
        logger.error("run %s: checkpoint failed: %s", run_id, error)
        self._coordinator.events.add(now, "checkpoint-failed", str(error))

    async def _beat(self) -> None:
        """Give the folder a sign of life, also while a checkpoint is written."""
        try:
            await self._call(self._claim.renew)
        except CheckpointError as error:
            self._failed(error)
        finally:
            self._beating = False

    async def _write_last(self, ended: bool) -> None:
        """Write it; a store that hangs may still do it afterwards."""

        async def write() -> None:
            async with self._lock:
                self._last = await self._write_now()
                await self.release(ended=ended)

        try:
            await self._patiently(self._start(write()))
        finally:
            self.closed = True
            if self._coordinator.finished:
                self._advance()

    async def _call(
        self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call what uses the store; people are told if it does not answer."""
        answer = in_thread(function, *args, **kwargs)
        last_s = self._status.last_duration_s or 0.0
        patience = min(max(timeout("store"), 3 * last_s), timeout("store-open"))
        await asyncio.wait({answer}, timeout=patience)
        if answer.done():
            return await answer
        self._failed(CheckpointError(no_answer(self._where, patience)))
        self._n_hanging += 1
        self._hangs.set()
        try:
            return await answer
        finally:
            self._n_hanging -= 1
            if not self._n_hanging:
                self._hangs.clear()

    async def _patiently(self, task: asyncio.Task[T]) -> T | None:
        """Wait for what uses the store; None as soon as it is known to hang."""
        hangs = asyncio.create_task(self._hangs.wait())
        try:
            await asyncio.wait({task, hangs}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hangs.cancel()
        return task.result() if task.done() else None
