"""``Run``: the client's handle of a run that lives on the scheduler.

With a blocking client its methods block, and their types are those; with an
asynchronous one they give awaitables (as Dask's own do), which type checkers see by
``await dpbb.asynchronous(run.result)()``. Snapshots can be iterated over in any event
loop, also in a notebook with a blocking client.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterator,
    Sequence,
)
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from distributed.protocol import pickle

from dpbb.cluster.client.connect import check_timeout, needing
from dpbb.cluster.client.optima_file import OptimaFile
from dpbb.cluster.client.stream import POLL_S, Callback, Callbacks, SnapshotStream
from dpbb.cluster.internals import is_asynchronous
from dpbb.cluster.rpc import raised, unwrap
from dpbb.cluster.storage.store import file_to_write
from dpbb.coordination.messages import RunSpec
from dpbb.coordination.optima import Optima
from dpbb.coordination.outcome import Outcome
from dpbb.coordination.snapshot import CheckpointSnapshot, Snapshot
from dpbb.errors import ClusterError, InvariantError
from dpbb.options import SolveOptions, kinds
from dpbb.options.permutations import whole_numbers
from dpbb.progress import Progress, make_progress, show
from dpbb.progress.notebook import snapshot_html
from dpbb.text import markup

if TYPE_CHECKING:
    from distributed import Client

    from dpbb.result import Result

logger = logging.getLogger(__name__)

STREAM_S = 0.5
"""Seconds between snapshots when nothing changes."""

REPR_TIMEOUT_S = 3.0
"""A notebook's cell does not wait longer for a scheduler that does not answer."""

MakeResult = Callable[[RunSpec, Outcome, int | None], Any]
"""Makes the user's result of a run, its outcome, and how many optimal permutations were
written to a file; None: none were."""


def page_address(link: str) -> str:
    """Return the address of dpbb's page in the dashboard that a client links to."""
    return f"{link.removesuffix('/status')}/dpbb" if link.endswith("/status") else link


class Run:
    """A run on a cluster.

    It goes on when this handle or its client is gone. ``close`` (or the end of a
    ``with`` block) stops it, unless the handle came from ``attach``, and has the
    scheduler forget it, unless the block ends by an exception, such as Ctrl-C.

    Parameters
    ----------
    client
        Client of the cluster.
    spec
        What the run is; ``run_id`` is its name, for ``attach``.
    make_result
        What ``result`` gives; default: the outcome.
    attached
        Somebody else opened the run: closing the handle leaves it alone.
    page
        Whether the scheduler's dashboard has a page that shows it.
    """

    def __init__(
        self,
        client: Client,
        spec: RunSpec,
        make_result: MakeResult | None = None,
        *,
        attached: bool = False,
        page: bool = True,
    ) -> None:
        self._attached = attached
        self._page = page
        self.spec = spec
        self.run_id = spec.run_id
        self.make_result = make_result
        self._client: Any = client
        self._last: Snapshot | None = None
        # in the client's loop ``client.asynchronous`` is always true
        in_thread = not is_asynchronous(self._client)
        self._callbacks = Callbacks(self._poll, in_thread=in_thread)
        self._optima_file: OptimaFile | None = None
        self._outcome: Outcome | None = None
        self._made: Any = None
        self._error: ClusterError | InvariantError | None = None
        self._closed = False
        self._on_close: list[Callable[[], object]] = []

    @property
    def dashboard(self) -> str | None:
        """Address of the page that shows the run; None if there is no such page."""
        # a scheduler without a dashboard has a link all the same: it answers HTTP
        link = self._client.dashboard_link if self._page else None
        return page_address(link) if link else None

    def __repr__(self) -> str:
        return f"<Run {self.run_id} on {self._client}>"

    def _repr_html_(self) -> str:
        client, page = self._client, self.dashboard
        why = "nothing is known of it yet"
        if client.status != "running":
            why, page = "its client is closed", None
        elif not client.asynchronous:  # a representation cannot be awaited
            try:
                client.sync(self._poll, -1, 0.0, callback_timeout=REPR_TIMEOUT_S)
            except (ClusterError, TimeoutError) as error:
                why = str(error) or "the scheduler does not answer"
        if self._last is not None:
            return snapshot_html(self._last, dashboard=page)
        return markup.card(self.run_id, why, [])

    # -- waiting and results ------------------------------------------------------

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the run.

        Returns
        -------
        bool
            False if it goes on after ``timeout`` seconds.
        """
        return self._sync(self._wait, timeout)

    def done(self) -> bool:
        """Whether the run is over, in whatever way."""
        return self._sync(self._wait, 0.0)

    def result(self, timeout: float | None = None) -> Result:
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

    @property
    def n_written(self) -> int | None:
        """Optimal permutations in the run's file so far; None: it has none."""
        return None if self._optima_file is None else self._optima_file.count

    def snapshot(self) -> Snapshot:
        """Return the state of the run now."""
        return self._sync(self._snapshot)

    def poll(self, version: int, timeout: float) -> tuple[int, bool, Snapshot]:
        """Wait for a change since a version (first -1), or so many seconds.

        Returns
        -------
        int, bool, Snapshot
            The version from now on, whether the run is over, and its state.
        """
        return self._sync(self._poll, version, timeout)

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
        file = kinds.path("FILE", "a path").check(path, "path")
        return self._sync(self._save, file)

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

    def offer(self, permutation: Sequence[int]) -> bool:
        """Offer a permutation from elsewhere; True if it is the new incumbent.

        Raises
        ------
        OptionError
            It is not a permutation of the run's jobs.
        """
        jobs = whole_numbers(permutation)  # how many they have to be says the problem
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
            self.poll,
            lambda *args: self._in_loop(self._poll(*args)),
            kinds.number(least=0).check(interval_s, "interval_s"),
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
        if not isinstance(progress, Progress):
            chosen = SolveOptions.from_mapping({"progress": progress})
            progress = make_progress(chosen.progress)
        if self.dashboard is not None:
            progress.note(f"dashboard {self.dashboard}")
        if self._client.asynchronous:
            showing = self._show_here(progress)
            return showing if block else asyncio.ensure_future(showing)
        if block:
            return self._show(progress)
        name = "dpbb-watch"
        thread = Thread(
            target=self._show_quietly, args=[progress], name=name, daemon=True
        )
        thread.start()
        return thread

    def _show(self, progress: Progress) -> None:
        with contextlib.closing(progress):
            show(self.stream(STREAM_S), progress)
            progress.done(self.result())

    def _show_quietly(self, progress: Progress) -> None:
        """Show it in a thread, where nobody would catch what is raised."""
        try:
            self._show(progress)
        except ClusterError as error:  # such as that the handle was closed meanwhile
            logger.debug("a run is watched no more: %s", error)

    async def _show_here(self, progress: Progress) -> None:
        with contextlib.closing(progress):
            async for snapshot in self.stream(STREAM_S):
                progress.update(snapshot)
            progress.finish(snapshot)
            progress.done(await self._result(None))

    def on_close(self, callback: Callable[[], object]) -> None:
        """Have a function called at the end of ``close``, such as to end a cluster."""
        self._on_close.append(kinds.FUNCTION.check(callback, "callback"))

    def close(self, *, keep: bool = False) -> Any:
        """Stop the run if it goes on, and forget it on the scheduler.

        A handle that was attached to the run only lets go of it.

        Parameters
        ----------
        keep
            Do not have the scheduler forget it: ``dpbb.runs`` lists it.
        """
        if self._client.asynchronous:
            return self._close_all(keep=keep)
        try:
            # Without its loop, which ended with client and cluster, nothing is open.
            if not self._client.loop.asyncio_loop.is_closed():
                self._client.sync(self._close, keep)
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

    def __exit__(self, error: object, *_: object) -> None:
        self.close(keep=error is not None)

    async def __aenter__(self) -> Run:
        return self

    async def __aexit__(self, error: object, *_: object) -> None:
        await self._close_all(keep=error is not None)

    # -- inside: coroutines in the client's loop ------------------------------------

    def _sync(self, *call: Any, **how: Any) -> Any:
        """Call in the client's loop: blocking, or awaitable, as the client is."""
        if self._client.loop.asyncio_loop.is_closed():
            raise ClusterError(f"run {self.run_id}: its client is closed")
        return self._client.sync(*call, **how)

    def _in_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
        """Run a coroutine in the client's loop, from whatever loop this is."""
        loop = self._client.loop.asyncio_loop
        if asyncio.get_running_loop() is loop:
            return coroutine
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))

    def _add_callback(self, field: str, callback: Callback) -> None:
        self._callbacks.add(field, kinds.FUNCTION.check(callback, "callback"))
        if self._client.asynchronous:
            self._callbacks.start()
        else:  # it belongs to the client's loop
            self._client.loop.add_callback(self._callbacks.start)

    async def _call(self, name: str, **message: Any) -> Any:
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
            raise ClusterError(f"run {self.run_id}: its client is closed")
        with needing(self._client, f"run {self.run_id}: "):
            method = getattr(scheduler, f"dpbb_{name}")
            return raised(await method(run_id=self.run_id, **message))

    async def _poll(self, version: int, timeout: float) -> tuple[int, bool, Snapshot]:
        answer = await self._call("watch", version=version, timeout=timeout)
        snapshot: Snapshot = pickle.loads(answer["snapshot"])
        self._last = snapshot
        return answer["version"], answer["finished"], snapshot

    async def _snapshot(self) -> Snapshot:
        return (await self._poll(-1, 0.0))[2]

    async def _is_over(self, timeout: float | None) -> bool:
        """Wait for the end of the run; False if it goes on after ``timeout`` s."""
        check_timeout(timeout)
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        version, finished = -1, False
        while not finished:
            left = max(0.0, deadline - time.monotonic())
            version, finished, _ = await self._poll(version, min(POLL_S, left))
            if time.monotonic() >= deadline:
                break
        return finished

    async def _optima(
        self, value: int | None, position: int
    ) -> tuple[Optima | None, bool]:
        """Return the next chunk of optimal permutations, and if the run is over."""
        answer = await self._call("optima", value=value, position=position)
        chunk = answer["chunk"]
        return None if chunk is None else pickle.loads(chunk), answer["finished"]

    async def _save(self, path: str) -> None:
        target, name = await asyncio.to_thread(file_to_write, path)
        content = unwrap(await self._call("save"))
        await asyncio.to_thread(target.write, name, [content])

    async def _save_now(self) -> CheckpointSnapshot:
        return pickle.loads(await self._call("save_now"))

    async def _write_optima(self, path: str) -> None:
        """Write all optimal permutations into a file, those that are there at once."""
        self._optima_file = OptimaFile(Path(path), self.spec.problem)
        await self._optima_file.follow(self._optima)

    async def _wait(self, timeout: float | None) -> bool:
        """Wait for the end, and until all that was found is told and written."""
        if self._outcome is not None:
            return True
        if not await self._is_over(timeout):
            return False
        await self._callbacks.told(POLL_S)
        if self._optima_file is not None:
            await self._optima_file.finished()
        return True

    async def _get_outcome(self, timeout: float | None) -> Outcome:
        if self._error is not None:
            raise self._error
        if not await self._wait(timeout):
            raise TimeoutError(f"run {self.run_id} goes on after {timeout} s")
        if self._outcome is None:
            file = self._optima_file
            written = file is not None and file.is_whole(self.run_id)
            answer = await self._call("outcome", optima=not written)
            outcome: Outcome = pickle.loads(answer)
            if outcome.error is not None:
                kind = InvariantError if outcome.broken else ClusterError
                self._error = kind(f"run {self.run_id} failed: {outcome.error}")
                raise self._error
            self._outcome = outcome
        return self._outcome

    async def _result(self, timeout: float | None) -> Any:
        outcome = await self._get_outcome(timeout)
        if self._made is None:
            make, written = self.make_result, self.n_written
            self._made = make(self.spec, outcome, written) if make else outcome
        return self._made

    async def _close(self, keep: bool) -> None:
        if self._closed:
            return
        self._closed = True
        await self._callbacks.cancel()
        try:
            if self._client.scheduler is None or self._attached:
                return
            with contextlib.suppress(ClusterError):  # nobody is left to tell
                if not await self._wait(0.0):
                    await self._call("stop")
                    await self._wait(None)
                if not keep:
                    await self._call("discard")
        finally:  # the file of a run that has just been stopped is written to its end
            if self._optima_file is not None:
                await self._optima_file.cancel(self.run_id)

    async def _close_all(self, *, keep: bool) -> None:
        try:
            await self._in_loop(self._close(keep))
        finally:  # in a thread: a cluster cannot be closed from its own loop
            await asyncio.to_thread(self._call_on_close)

    def _call_on_close(self) -> None:
        while self._on_close:
            self._on_close.pop()()
