"""One Dask future for every unit that is explored, pinned to a seat.

Submitted by a client that the plugin opens to its own scheduler, so that a run
outlives the client that started it. A future is let go as soon as it is done: a result
that is held lives on a worker, and would be computed again when that worker dies.
"""

import asyncio
import logging
import time
import traceback
from collections.abc import Callable
from typing import Any

from distributed import Client, Future, Scheduler
from distributed.security import Security

from dpbb.cluster.internals import let_loop_end
from dpbb.cluster.scheduler.hub import REFUSALS
from dpbb.cluster.worker.loader import explore
from dpbb.coordination.messages import Assignment, RunId
from dpbb.errors import InvariantError

logger = logging.getLogger(__name__)

PREFIX = "dpbb-"
"""Of the keys of all futures."""

FORGOTTEN_S = 1.0


class Submitter:
    """Futures of the units in progress.

    ``ended``: called with run, assignment, and None or what the task raised: its text
    with the worker's traceback, or an InvariantError of that text. A refusal comes as
    it is: its message is for people.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        ended: Callable[[RunId, Assignment, Exception | str | None], None],
    ) -> None:
        self._scheduler = scheduler
        self._ended = ended
        self._client: Client | None = None
        self._starting = asyncio.Lock()
        self._futures: dict[str, Future[None]] = {}
        self._watchers: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Connect to the scheduler; does nothing the second time."""
        async with self._starting:
            if self._client is None:
                self._client = await Client(
                    self._scheduler.address,
                    asynchronous=True,
                    set_as_default=False,
                    name="dpbb",
                    security=loopback_security(self._scheduler.security),
                )

    def submit(self, run_id: RunId, assignment: Assignment, worker: str) -> None:
        """Pin a new future to the worker."""
        if self._client is None:
            raise RuntimeError("expected start() before submit()")
        key = key_of(run_id, assignment)
        future = self._client.submit(
            explore,
            run_id,
            assignment,
            key=key,
            workers=[worker],
            allow_other_workers=False,
            pure=False,
        )
        self._futures[key] = future
        watcher = asyncio.create_task(self._watch(future, run_id, assignment))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    def release(self, run_id: RunId, assignment: Assignment) -> None:
        """Let go of a future; its task may go on for a moment, unheard."""
        future = self._futures.pop(key_of(run_id, assignment), None)
        if future is not None:
            future.release()

    async def forgotten(self, run_id: RunId) -> None:
        """Wait, not for long, until Dask has forgotten the futures of a run.

        A worker that leaves before would make it complain of lost results.
        """
        tasks, beginning = self._scheduler.tasks, f"{PREFIX}{run_id}-"
        keys = {key for key in tasks if str(key).startswith(beginning)}
        deadline = time.monotonic() + FORGOTTEN_S
        while keys & tasks.keys() and time.monotonic() < deadline:
            await asyncio.sleep(0.002)

    async def close(self) -> None:
        """Let go of everything and disconnect."""
        for watcher in self._watchers:
            watcher.cancel()
        await asyncio.gather(*self._watchers, return_exceptions=True)
        self._futures.clear()
        if self._client is not None:
            await self._client.close()
            let_loop_end(self._client)

    async def _watch(
        self, future: Future[None], run_id: RunId, assignment: Assignment
    ) -> None:
        """Wait for the end of a future; a cancelled one has not failed."""
        exception = await future.exception()
        error: Exception | str | None = None
        if isinstance(exception, REFUSALS):
            error = exception
        elif future.status == "error":
            trace = await future.traceback()
            lines = traceback.format_exception(
                type(exception), exception, trace, chain=True
            )
            error = "".join(lines).strip()
            if isinstance(exception, InvariantError):
                error = InvariantError(error)
        self.release(run_id, assignment)
        try:
            self._ended(run_id, assignment, error)
        except Exception:
            logger.exception("the end of %s could not be handled", future.key)


def key_of(run_id: RunId, assignment: Assignment) -> str:
    """Key of the future: a new one for every attempt."""
    return f"{PREFIX}{run_id}-{assignment.unit}-{assignment.attempt}"


def loopback_security(security: Any) -> Any:
    """Security for a client of one's own scheduler.

    A scheduler may have been given its own certificate only: a client in the same
    process then shows that one.
    """
    if not security.tls_ca_file or security.tls_client_cert:
        return security
    options = {name: getattr(security, name) for name in Security.__slots__} | {
        "tls_client_cert": security.tls_scheduler_cert,
        "tls_client_key": security.tls_scheduler_key,
    }
    return Security(**{k: v for k, v in options.items() if v is not None})
