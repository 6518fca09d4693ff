"""What a ``Run`` does in its client's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distributed.protocol import pickle

from dpbb.cluster.client.stream import POLL_S, Callbacks
from dpbb.cluster.storage.store import file_to_write
from dpbb.cluster.wire import raised, unwrap
from dpbb.errors import ClusterError, InvariantError, UnwrittenError
from dpbb.result import Result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from distributed import Client

    from dpbb.cluster.client.optima_file import OptimaFile
    from dpbb.cluster.client.stream import Callback
    from dpbb.coordination.messages import RunId
    from dpbb.coordination.outcome import Outcome
    from dpbb.coordination.snapshot import CheckpointSnapshot, Snapshot

logger = logging.getLogger(__name__)

OPTIMA_POLL_S = 1.0


def check_open(client: Any) -> None:
    """Raise ClusterError for a client that is closed."""
    if getattr(client, "status", None) in ("closing", "closed"):
        raise ClusterError("client: expected an open one, got one that is closed")


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class RunCalls:
    """Base of ``Run``: all that waits, as coroutines."""

    def __init__(
        self,
        client: Client,
        run_id: RunId,
        make_result: Callable[[Outcome], Result],
        *,
        attached: bool = False,
    ) -> None:
        self._attached = attached
        self.run_id = run_id
        self._client: Any = client
        self._make_result = make_result
        self._outcome: Outcome | None = None
        self._ended = 0.0  # when, by this process's clock, once it is known
        self._made: Result | None = None
        self._error: ClusterError | InvariantError | None = None
        # in the client's loop ``client.asynchronous`` is always true
        self._callbacks = Callbacks(
            self._watch, in_thread=not self._client._asynchronous
        )
        self._notifier: asyncio.Task[None] | None = None
        self._writer: asyncio.Task[None] | None = None
        self._file: OptimaFile | None = None  # that it writes
        self._closed = False
        self._last: Snapshot | None = None
        self._on_close: list[Callable[[], object]] = []

    def _sync(self, *call: Any, **how: Any) -> Any:
        """Call in the client's loop: blocking, or awaitable, as the client is."""
        if self._client.loop.asyncio_loop.is_closed():
            raise ClusterError(f"run {self.run_id}: its client is closed")
        return self._client.sync(*call, **how)

    async def _call(self, name: str, **message: Any) -> Any:
        scheduler = self._client.scheduler
        if scheduler is None:
            raise ClusterError(f"run {self.run_id}: its client is closed")
        try:
            method = getattr(scheduler, f"dpbb_{name}")
            return raised(await method(run_id=self.run_id, **message))
        except OSError as error:
            raise ClusterError(
                f"run {self.run_id}: lost the scheduler at {scheduler.address}: {error}"
            ) from error

    async def _save(self, path: str) -> None:
        target, name = await asyncio.to_thread(file_to_write, path)
        content = unwrap(await self._call("save"))
        await asyncio.to_thread(target.write, name, [content.tobytes()])

    async def _save_now(self) -> CheckpointSnapshot:
        status: CheckpointSnapshot = pickle.loads(await self._call("save_now"))
        return status

    async def _watch(self, version: int, timeout: float) -> tuple[int, bool, Snapshot]:
        """Wait for a change; returns its version, whether it is the end, and state."""
        answer = await self._call("watch", version=version, timeout=timeout)
        snapshot: Snapshot = pickle.loads(answer["snapshot"])
        self._last = snapshot
        return answer["version"], answer["finished"], snapshot

    async def _snapshot(self) -> Snapshot:
        return (await self._watch(-1, 0.0))[2]

    async def _wait(self, timeout: float | None) -> bool:
        if self._outcome is not None:
            return True
        deadline = None if timeout is None else time.monotonic() + timeout
        version, left = -1, POLL_S
        while True:
            if deadline is not None:
                left = min(POLL_S, max(0.0, deadline - time.monotonic()))
            version, finished, _ = await self._watch(version, left)
            if finished:
                break
            if deadline is not None and time.monotonic() >= deadline:
                return False
        if self._notifier is not None:  # what was found last has been told
            await asyncio.wait({self._notifier}, timeout=POLL_S)
        if self._writer is not None:  # and written
            await asyncio.wait({self._writer})
        return True

    async def _get_outcome(self, timeout: float | None) -> Outcome:
        if self._error is not None:
            raise self._error
        if not await self._wait(timeout):
            raise TimeoutError(f"run {self.run_id} goes on after {timeout} s")
        if self._outcome is None:
            answer = await self._call("outcome", optima=not self._is_written())
            outcome: Outcome = pickle.loads(answer["outcome"])
            if outcome.error is not None:
                kind = InvariantError if answer["broken"] else ClusterError
                self._error = kind(f"run {self.run_id} failed: {outcome.error}")
                raise self._error
            self._ended = time.monotonic() - answer["ended_ago_s"]
            self._outcome = outcome
        return self._outcome

    def _is_written(self) -> bool:
        """Whether all optimal permutations are in a file, once the run is over."""
        if self._writer is None or self._writer.cancelled():  # this handle let go
            return False
        error = self._writer.exception()
        if error is not None:
            logger.error("run %s: %s", self.run_id, error)
        return error is None

    async def _result(self, timeout: float | None) -> Result:
        outcome = await self._get_outcome(timeout)
        if self._made is None:
            late_s = time.monotonic() - self._ended
            try:
                self._made = self._completed(self._make_result(outcome), late_s)
            except UnwrittenError as error:
                error.result = self._completed(error.result, late_s)
                raise
        return self._made

    def _completed(self, made: Result, late_s: float) -> Result:
        """Return a result that was made so late with what this handle knows."""
        if not isinstance(made, Result):
            return made
        return replace(
            made,
            seconds=max(0.0, made.seconds - late_s),  # it may be the next morning
            n_optima_written=None if self._file is None else self._file.count,
        )

    async def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await _cancel(self._notifier)
        try:
            if self._client.scheduler is None or self._attached:
                return
            with contextlib.suppress(ClusterError):  # nobody is left to tell
                if not await self._wait(0.0):
                    await self._call("stop")
                    await self._wait(None)
                await self._call("discard")
        finally:  # the file of a run that has just been stopped is written to its end
            if self._file is not None and self._writer and not self._writer.done():
                logger.warning(
                    "run %s goes on, %s has what was found so far; "
                    "dpbb.attach(..., optima_file=...) writes all",
                    self.run_id,
                    self._file.path,
                )
            await _cancel(self._writer)

    # -- callbacks and optimal permutations -----------------------------------------

    def _add_callback(self, field: str, callback: Callback) -> None:
        self._callbacks.add(field, callback)
        if self._client.asynchronous:
            self._start_callbacks()
        else:  # it belongs to the client's loop
            self._client.loop.add_callback(self._start_callbacks)

    def _start_callbacks(self) -> None:
        if self._notifier is None and not self._closed:
            self._notifier = asyncio.ensure_future(self._callbacks.follow())

    async def _write_optima(self, file: OptimaFile) -> None:
        """Write all optimal permutations into a file, those that are there at once."""
        self._file = file
        await self._write_chunk(file)
        self._writer = asyncio.ensure_future(self._collect_optima(file))

    async def _collect_optima(self, file: OptimaFile) -> None:
        """Fetch optimal permutations as they are found, and write them."""
        more, finished = True, False
        while more or not finished:
            if not more:
                await asyncio.sleep(OPTIMA_POLL_S)
            more, finished = await self._write_chunk(file)

    async def _write_chunk(self, file: OptimaFile) -> tuple[bool, bool]:
        """Write what is there; returns whether it was any, and if the run is over."""
        before = file.value, file.position
        answer = await self._call("optima", value=file.value, position=file.position)
        if answer["chunk"] is not None:
            await asyncio.to_thread(file.write, pickle.loads(answer["chunk"]))
        elif not file.begun:
            await asyncio.to_thread(file.begin, None, 0)
        return (file.value, file.position) != before, answer["finished"]

    def _in_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
        """Run a coroutine in the client's loop, from whatever loop this is."""
        loop = self._client.loop.asyncio_loop
        if asyncio.get_running_loop() is loop:
            return coroutine
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))
