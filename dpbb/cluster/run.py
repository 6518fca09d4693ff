"""``Run``: the client's handle of a run that lives on the scheduler.

With a blocking client its methods block; with an asynchronous one they give awaitables
(as Dask's own do). Snapshots can be iterated over in any event loop, also in a notebook
with a blocking client.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed.protocol import pickle

from dpbb.cluster import watching
from dpbb.cluster.following import SnapshotStream
from dpbb.cluster.optima_file import OptimaFile
from dpbb.cluster.run_calls import RunCalls, check_open
from dpbb.cluster.scheduler_plugin import DpbbSchedulerPlugin
from dpbb.cluster.versions import check_versions, scheduler_probe
from dpbb.cluster.wire import raised, wrap
from dpbb.coordination.messages import RunId
from dpbb.errors import ClusterError, OptionError
from dpbb.permutations import check_permutation

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Callable,
        Generator,
        Iterator,
        Sequence,
    )
    from pathlib import Path

    from distributed import Client

    from dpbb.cluster.following import Callback
    from dpbb.coordination.messages import RunSpec
    from dpbb.coordination.outcome import Outcome
    from dpbb.coordination.snapshot import Snapshot
    from dpbb.progress import Progress
    from dpbb.result import Result


def submit_run(
    client: Client,
    spec: RunSpec,
    *,
    make_result: Callable[[Outcome], Result],
    optima_file: OptimaFile | None = None,
    saved: bytes | None = None,
) -> Any:
    """Open a run on the client's cluster.

    Parameters
    ----------
    client
        Of the cluster; blocking or asynchronous.
    spec
        The run. It starts as soon as there is a worker.
    make_result
        Makes the user's result of the outcome.
    optima_file
        With ``all_optima``: where to write the optimal permutations.
    saved
        The checkpoint that it goes on from, in one piece.

    Returns
    -------
    Run, or awaitable of Run
        Awaitable if the client is asynchronous.

    Raises
    ------
    ClusterError
        dpbb is missing or another one on the scheduler or a worker; names the host
        and what to do.
    """
    check_open(client)
    return client.sync(_submit, client, spec, make_result, optima_file, saved)


def list_runs(client: Client) -> Any:
    """Snapshots of all runs that the client's cluster knows, finished ones first.

    Returns
    -------
    list of Snapshot, or awaitable
        Awaitable if the client is asynchronous.
    """
    check_open(client)
    return client.sync(_list_runs, client)


async def _list_runs(client: Any) -> list[Snapshot]:
    await ensure_plugin(client)
    answer = raised(await client.scheduler.dpbb_runs())
    return [pickle.loads(entry["snapshot"]) for entry in answer]


def attach_run(
    client: Client,
    run_id: str,
    make_result: Callable[[RunSpec, float], Callable[[Outcome], Result]],
    optima_file: Path | None = None,
) -> Any:
    """Find a run by its name, or by what its name begins with.

    Parameters
    ----------
    make_result
        Called with the run's spec and the seconds since it was opened; returns what
        makes the user's result of its outcome.
    optima_file
        With ``all_optima``: where to write the optimal permutations, all that the run
        finds and has found.

    Returns
    -------
    Run, or awaitable of Run

    Raises
    ------
    ClusterError
        There is none, or there are several.
    OptionError
        The file cannot be written, or the run has no optimal permutations for it.
    """
    check_open(client)
    return client.sync(_attach, client, run_id, make_result, optima_file)


async def _attach(
    client: Any,
    run_id: str,
    make_result: Callable[[RunSpec, float], Callable[[Outcome], Result]],
    optima_file: Path | None,
) -> Run:
    known = [snapshot.run_id for snapshot in await _list_runs(client)]
    found = [name for name in known if name == run_id] or [
        name for name in known if name.startswith(run_id)
    ]
    if len(found) != 1:
        raise ClusterError(
            f"expected the name of one run, or what it begins with, got {run_id!r}; "
            f"there are {', '.join(found or known) or 'none'}"
        )
    name = RunId(found[0])
    about = raised(await client.scheduler.dpbb_describe(run_id=name))
    spec = pickle.loads(about["blob"])
    run = Run(client, name, make_result(spec, about["seconds"]), attached=True)
    if optima_file is not None:
        if not spec.all_optima:
            raise OptionError(
                f"optima_file: expected a run with all_optima, got {name} without"
            )
        await run._write_optima(OptimaFile(optima_file, spec.problem))
    return run


async def ensure_plugin(client: Client) -> None:
    """Check the scheduler's dpbb and register the plugin, if it is not there."""
    found = await client.run_on_scheduler(scheduler_probe())
    check_versions(found, f"the scheduler {found['address']}")
    if not found["registered"]:
        await client.register_plugin(DpbbSchedulerPlugin())


async def _submit(
    client: Any,
    spec: RunSpec,
    make_result: Callable[[Outcome], Result],
    optima_file: OptimaFile | None,
    saved: bytes | None = None,
) -> Run:
    await ensure_plugin(client)
    message = {"blob": pickle.dumps(spec)}
    if saved is not None:
        message["saved"] = wrap(np.frombuffer(saved, np.uint8))
    raised(await client.scheduler.dpbb_open(**message))
    run = Run(client, spec.run_id, make_result)
    if optima_file is not None:
        try:
            await run._write_optima(optima_file)
        except BaseException:
            await run._close()
            raise
    return run


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
