"""What a client asks the scheduler of one run, as coroutines in the client's loop."""

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

from distributed.protocol import pickle

from dpbb.cluster.rpc import raised, unwrap
from dpbb.cluster.storage.store import file_to_write
from dpbb.coordination.messages import RunId
from dpbb.coordination.optima import Optima
from dpbb.coordination.snapshot import CheckpointSnapshot, Snapshot
from dpbb.errors import ClusterError, OptionError, SchedulerLostError, shown

POLL_S = 10.0
"""A waiting call is answered by the scheduler at least this often."""


def check_open(client: Any) -> None:
    """Raise OptionError for what is no client, ClusterError for one that is closed."""
    if getattr(client, "status", None) in ("closing", "closed"):
        raise ClusterError("client: expected an open one, got one that is closed")
    if not hasattr(client, "scheduler_info"):
        raise OptionError(f"client: expected a distributed.Client, got {shown(client)}")


def check_timeout(timeout: Any) -> None:
    """Raise OptionError for what is no number of seconds; None is no limit."""
    if timeout is None:
        return
    real = isinstance(timeout, Real) and not isinstance(timeout, bool)
    try:
        told = real and not math.isnan(timeout)
    except OverflowError:
        told = False
    if not told:
        raise OptionError(f"timeout: expected a number, got {shown(timeout)}")


@contextmanager
def needing(client: Any, what: str = "") -> Iterator[None]:
    """In this block the scheduler has to answer; SchedulerLostError if it does not."""
    address = getattr(client.scheduler, "address", "an address that is forgotten")
    try:
        yield
    except OSError as error:
        raise SchedulerLostError(
            f"{what}lost the scheduler at {address}: {error}"
        ) from error


class SchedulerCalls:
    """Calls about one run; the scheduler's side is ``ClientCalls``."""

    def __init__(self, client: Any, run_id: RunId) -> None:
        self._client = client
        self._run_id = run_id
        self.last: Snapshot | None = None

    async def call(self, name: str, **message: Any) -> Any:
        """Call a handler of the scheduler; raises what it raises.

        Raises
        ------
        ClusterError
            The client is closed.
        SchedulerLostError
            The scheduler is gone.
        """
        scheduler = self._client.scheduler
        if scheduler is None:
            raise ClusterError(f"run {self._run_id}: its client is closed")
        with needing(self._client, f"run {self._run_id}: "):
            method = getattr(scheduler, f"dpbb_{name}")
            return raised(await method(run_id=self._run_id, **message))

    async def poll(self, version: int, timeout: float) -> tuple[int, bool, Snapshot]:
        """Wait for a change; returns its version, whether it is the end, and state."""
        answer = await self.call("watch", version=version, timeout=timeout)
        snapshot: Snapshot = pickle.loads(answer["snapshot"])
        self.last = snapshot
        return answer["version"], answer["finished"], snapshot

    async def snapshot(self) -> Snapshot:
        """Return the state of the run now."""
        return (await self.poll(-1, 0.0))[2]

    async def is_over(self, timeout: float | None) -> bool:
        """Wait for the end of the run; False if it goes on after ``timeout`` s."""
        check_timeout(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        version, left = -1, POLL_S
        while True:
            if deadline is not None:
                left = min(POLL_S, max(0.0, deadline - time.monotonic()))
            version, finished, _ = await self.poll(version, left)
            if finished:
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False

    async def optima(
        self, value: int | None, position: int
    ) -> tuple[Optima | None, bool]:
        """Return the next chunk of optimal permutations, and if the run is over."""
        answer = await self.call("optima", value=value, position=position)
        chunk = answer["chunk"]
        return None if chunk is None else pickle.loads(chunk), answer["finished"]

    async def save(self, path: str) -> None:
        """Write the state of the run into a file on this machine."""
        target, name = await asyncio.to_thread(file_to_write, path)
        content = unwrap(await self.call("save"))
        await asyncio.to_thread(target.write, name, [content.tobytes()])

    async def save_now(self) -> CheckpointSnapshot:
        """Have the scheduler write a checkpoint at once."""
        return pickle.loads(await self.call("save_now"))
