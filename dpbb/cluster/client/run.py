"""``Run``: the client's handle of a run that lives on the scheduler.

With a blocking client its methods block; with an asynchronous one they give awaitables
(as Dask's own do). Snapshots can be iterated over in any event loop, also in a notebook
with a blocking client.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dpbb.cluster.client import show as watching
from dpbb.cluster.client.run_calls import RunCalls
from dpbb.cluster.client.stream import SnapshotStream
from dpbb.options.permutations import check_permutation

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Callable,
        Generator,
        Iterator,
        Sequence,
    )
    from pathlib import Path

    from dpbb.cluster.client.stream import Callback
    from dpbb.coordination.snapshot import Snapshot
    from dpbb.progress import Progress
    from dpbb.result import Result


def page_address(link: str) -> str:
    """Return the address of dpbb's page in the dashboard that a client links to."""
    return f"{link.removesuffix('/status')}/dpbb" if link.endswith("/status") else link


class Run(RunCalls):
    """A run on a cluster.

    It goes on when this handle or its client is gone. ``close`` (or the end of a
    ``with`` block) stops it, unless the handle came from ``attach`` or ``runs``.

    Parameters
    ----------
    client
        Of the run's cluster.
    run_id
        Name of the run.
    make_result
        Makes the user's result of the outcome.
    attached
        Somebody else opened the run: closing the handle leaves it alone.
    """

    @property
    def dashboard(self) -> str | None:
        """Address of the page that shows the run; None if there is no dashboard."""
        link = self._client.dashboard_link
        return page_address(link) if link else None

    def __repr__(self) -> str:
        return f"<Run {self.run_id} on {self._client}>"

    def _repr_html_(self) -> str:
        return watching.run_html(self)

    # -- waiting and results ------------------------------------------------------

    def wait(self, timeout: float | None = None) -> Any:
        """Wait for the end of the run.

        Returns
        -------
        bool
            False if it goes on after ``timeout`` seconds.
        """
        return self._sync(self._wait, timeout)

    def done(self) -> Any:
        """Whether the run is over, in whatever way."""
        return self._sync(self._wait, 0.0)

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the end and return the user's result.

        Raises
        ------
        TimeoutError
            The run goes on after ``timeout`` seconds.
        ClusterError
            The run failed; holds the traceback of the worker.
        InvariantError
            The books of the proof do not balance: there is no answer.
        """
        return self._sync(self._result, timeout)

    def outcome(self, timeout: float | None = None) -> Any:
        """As ``result``, before it is made into the user's."""
        return self._sync(self._get_outcome, timeout)

    def snapshot(self) -> Any:
        """Return the state of the run now."""
        return self._sync(self._snapshot)

    # -- steering -------------------------------------------------------------------

    def stop(self) -> Any:
        """Stop the run; it ends within moments, with what has been found."""
        return self._sync(self._call, "stop")

    def save(self, path: str | Path) -> Any:
        """Write the state of the run, as of now, into a file on the client's machine.

        All seats report in full first. ``dpbb resume`` and ``dpbb.resume`` go on from
        the file, on any cluster.

        Parameters
        ----------
        path
            The file; one that is there is replaced, when the new one is complete.

        Raises
        ------
        CheckpointError
            It cannot be written.
        ClusterError
            The run is over.
        """
        return self._sync(self._save, str(path))

    def save_now(self) -> Any:
        """Write a checkpoint into the run's own folder at once.

        Returns
        -------
        CheckpointSnapshot

        Raises
        ------
        CheckpointError
            The run keeps no checkpoints, or this one could not be written.
        """
        return self._sync(self._save_now)

    def offer(self, permutation: Sequence[int]) -> Any:
        """Offer a permutation from elsewhere; True if it is the new incumbent.

        Raises
        ------
        OptionError
            It is not a permutation of the run's jobs.
        """
        jobs = list(check_permutation(permutation))
        return self._sync(self._call, "offer", permutation=jobs, source="offer")

    def on_incumbent(self, callback: Callback) -> None:
        """Have a function called with a snapshot at every new incumbent.

        In a thread of its own, or, with an asynchronous client, in its loop (there it
        may be a coroutine function). Improvements in quick succession are one call.
        """
        self._add_callback("value", callback)

    def on_lower_bound(self, callback: Callback) -> None:
        """As ``on_incumbent``, at every better lower bound."""
        self._add_callback("lower_bound", callback)

    def stream(self, interval_s: float = 1.0) -> SnapshotStream:
        """Snapshots to iterate over, with ``for`` or ``async for``.

        One every ``interval_s`` seconds, one at once at each new incumbent or better
        lower bound, and a last one at the end.
        """
        return SnapshotStream(
            lambda *args: self._sync(self._watch, *args),
            lambda *args: self._in_loop(self._watch(*args)),
            interval_s,
        )

    def watch(self, progress: Progress | str = "auto", *, block: bool = True) -> Any:
        """Show the run until its end, as ``dpbb.solve`` does, then its result.

        In a notebook the cell's output is updated in place. Interrupting (Ctrl-C) ends
        the watching; the run goes on.

        Parameters
        ----------
        progress
            As in ``dpbb.solve``: ``"auto"``, ``"live"``, ``"plain"``, ``"json"``.
        block
            False: return at once and show the run in the background, so that further
            cells of a notebook can be executed meanwhile.

        Returns
        -------
        None, or awaitable of None
            Awaitable if the client is asynchronous. Without ``block`` the thread, or
            the task, that shows the run.
        """
        return watching.watch(self, progress, block=block)

    def on_close(self, callback: Callable[[], object]) -> None:
        """Have a function called at the end of ``close``, such as to end a cluster."""
        self._on_close.append(callback)

    def close(self) -> Any:
        """Stop the run if it goes on, and forget it on the scheduler.

        A handle that was attached to the run only lets go of it.
        """
        if self._client.asynchronous:
            return self._close_all()
        try:
            # Without its loop, which ended with client and cluster, nothing is open.
            if not self._client.loop.asyncio_loop.is_closed():
                self._client.sync(self._close)
        finally:
            self._call_on_close()
        return None

    def detach(self) -> Any:
        """Let go of the run, which goes on; ``dpbb.attach`` finds it again.

        A file of optimal permutations is not written any further; ``dpbb.attach`` with
        ``optima_file`` writes it.
        """
        self._attached = True
        return self.close()

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self.stream())

    def __aiter__(self) -> AsyncIterator[Snapshot]:
        return self.stream().__aiter__()

    def __await__(self) -> Generator[Any, None, Result]:
        return self._in_loop(self._result(None)).__await__()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Run:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close_all()

    async def _close_all(self) -> None:
        try:
            await self._in_loop(self._close())
        finally:  # in a thread: a cluster cannot be closed from its own loop
            await asyncio.to_thread(self._call_on_close)

    def _call_on_close(self) -> None:
        while self._on_close:
            self._on_close.pop()()
