"""Snapshots of a run to iterate over, in any event loop or without one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from dpbb.coordination.snapshot import Snapshot

Watch = Callable[[int, float], Awaitable[tuple[int, bool, Snapshot]]]
"""Waits for a change since a version, or so long; gives the version from then on,
whether it is the end, and the state."""


class SnapshotStream:
    """Snapshots of a run, to iterate over once; see ``Run.stream``.

    Parameters
    ----------
    watch, watch_here
        The run's ``watch``, blocking, and awaitable in any event loop.
    interval_s
        Seconds between snapshots when nothing changes.
    """

    def __init__(self, watch: Any, watch_here: Watch, interval_s: float) -> None:
        self._watch = watch
        self._watch_here = watch_here
        self._interval_s = interval_s

    def __iter__(self) -> Iterator[Snapshot]:
        version, finished = -1, False
        while not finished:
            version, finished, snapshot = self._watch(version, self._interval_s)
            yield snapshot

    async def __aiter__(self) -> AsyncIterator[Snapshot]:
        version, finished = -1, False
        while not finished:
            version, finished, snapshot = await self._watch_here(
                version, self._interval_s
            )
            yield snapshot
