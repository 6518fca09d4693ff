"""All that dpbb uses of ``distributed`` beyond its documented interface.

One place to look at when a new version of ``distributed`` comes; each has a test in
``tests/cluster/test_internals.py``.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from distributed import Client, Scheduler, get_worker
from distributed.protocol.compression import decompress
from distributed.protocol.serialize import Serialized, merge_and_deserialize

logger = logging.getLogger(__name__)

AGAIN_S = 1.0
"""A worker that could not be reached, and is still there, is tried again."""


# -- a scheduler ---------------------------------------------------------------------


def replace_handlers(
    scheduler: Scheduler, handlers: Mapping[str, Callable[..., Any]]
) -> dict[str, Callable[..., Any]]:
    """Have other functions answer RPCs; return those that did before."""
    before = {name: scheduler.handlers[name] for name in handlers}
    scheduler.handlers.update(handlers)
    return before


def stay_awake(scheduler: Scheduler) -> None:
    """Have ``idle_timeout`` count from now: work that Dask does not see goes on."""
    scheduler.idle_since = None


def send_to(scheduler: Scheduler, worker: str, message: dict[str, Any]) -> None:
    """Send a message on a worker's stream, if the worker is there."""
    if worker in scheduler.stream_comms:
        scheduler.worker_send(worker, message)


def keys_of(scheduler: Scheduler, worker: str) -> list[str]:
    """Keys of the tasks that a worker runs, and of the results that it holds."""
    state: Any = scheduler.workers.get(worker)
    tasks = () if state is None else (*state.processing, *state.has_what)
    return [str(task.key) for task in tasks]


def http_hosts(scheduler: Scheduler) -> list[str]:
    """Addresses that the dashboard's server is bound to; none while it closes."""
    sockets = getattr(scheduler.http_server, "_sockets", {}).values()
    try:
        return [str(socket.getsockname()[0]) for socket in sockets]
    except OSError:
        return []


class WorkerPluginSender:
    """Gives a plugin to the workers that are there, each in a task of its own.

    One that is frozen or dies must not keep the others waiting, as it does where
    ``register_worker_plugin`` waits for all. Who joins later gets it by Dask.

    ``plugin``: pickled.
    """

    def __init__(self, scheduler: Scheduler, name: str, plugin: bytes) -> None:
        self._scheduler = scheduler
        self._message = {"plugin": plugin, "name": name}
        scheduler.worker_plugins[name] = plugin
        self._tasks = {
            asyncio.create_task(self._send(address)) for address in scheduler.workers
        }

    async def all(self, most_s: float) -> None:
        """Wait until all workers have it, but not for ever; who lags gets it later."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=most_s)

    async def close(self) -> None:
        """Send it to nobody any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _send(self, address: str) -> None:
        """Send it to one worker, again until it is there or the worker gone."""
        while address in self._scheduler.workers:
            add: Any = getattr(self._scheduler.rpc(address), "plugin-add")
            try:
                await add(**self._message)
            except OSError as error:
                logger.info("worker %s cannot be reached yet: %s", address, error)
                await asyncio.sleep(AGAIN_S)
            else:
                return


# -- a client, a worker, a message -----------------------------------------------------


def client_in_time(start: Any, most_s: float, **options: Any) -> Client:
    """Return a blocking client; TimeoutError unless it is connected in time.

    Dask limits each call of its own, but waits for ever where the loop that is to make
    them has ended or is blocked, or the cluster is closed by another thread.
    """

    class ClientInTime(Client):
        def start(self, **kwargs: Any) -> None:
            try:
                super().start(callback_timeout=most_s, **kwargs)  # type: ignore[no-untyped-call]
            except TimeoutError:
                self.status = "closed"  # to close it would wait for the same loop
                raise

    ClientInTime.__name__ = "Client"  # as its representation shows
    made: Any = ClientInTime
    client: Client = made(start, set_as_default=False, **options)
    return client


def is_asynchronous(client: Any) -> bool:
    """Whether a client was made to be awaited; ``asynchronous`` asks who calls."""
    return bool(client._asynchronous)


def let_loop_end(client: Any) -> None:
    """Let go of the loop of an asynchronous client that is closed.

    Dask counts who uses a loop, but never counts off such a client: the thread of a
    LocalCluster's loop would never end.
    """
    with suppress(AttributeError, RuntimeError):
        client._loop_runner.stop()


def stop_deadly_profiler(worker: Any) -> None:
    """End Dask's sampling of stacks on Python 3.11, where it can stop the process.

    There ``sys._current_frames`` may wait for the GIL, for garbage is collected in it,
    while who holds the GIL waits for it to begin a thread (CPython issue 106883, Dask's
    8616; Dask itself leaves out the sampling of its event loop there).
    """
    if sys.version_info < (3, 12):
        sampling = worker.periodic_callbacks.pop("profile", None)
        if sampling is not None:
            sampling.stop()


def stop_deadly_profiler_here() -> None:
    """Do so from a task: its cluster may know of no run."""
    with suppress(ValueError):  # in no worker
        worker: Any = get_worker()
        worker.loop.add_callback(stop_deadly_profiler, worker)


def is_cancelled(worker: Any, key: str) -> bool:
    """Whether a task that runs on this worker was cancelled."""
    state = worker.state.tasks.get(key)
    return state is None or state.state == "cancelled"


def opened(value: Serialized) -> Any:
    """Return what a scheduler keeps opaque: frames, compressed and perhaps split."""
    frames = value.frames
    if "compression" in value.header:
        frames = decompress(value.header, frames)
    return merge_and_deserialize(value.header, frames)


# -- a Bokeh application of the dashboard ----------------------------------------------


def filter_requests(
    application: Any, refusal: type, is_allowed: Callable[[Any], bool]
) -> None:
    """Have a handler of its own answer all requests that are not allowed.

    Bokeh has no hook before the handlers of its pages and of their connections.
    """
    from tornado.web import ErrorHandler

    find = application.find_handler

    def find_handler(request: Any, **options: Any) -> Any:
        found = find(request, **options)
        if is_allowed(request) or issubclass(found.handler_class, ErrorHandler):
            return found
        return application.get_handler_delegate(request, refusal)

    application.find_handler = find_handler
