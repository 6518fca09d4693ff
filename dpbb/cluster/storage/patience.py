"""Calls that may never return: a store of files can hang rather than fail.

Each has a thread of its own. Those of ``asyncio.to_thread`` are few, serve everybody,
and are waited for when the process ends.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

from dpbb.errors import CheckpointError

P = ParamSpec("P")
T = TypeVar("T")

OPEN_S = 60.0
"""A store has so long to answer when a run is opened: its checkpoints are read."""


def in_thread(
    function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> asyncio.Future[T]:
    """Call a function in a daemon thread; nobody has to wait for it.

    Returns
    -------
    Future
        Of the running event loop. To cancel it leaves the thread alone.
    """
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def call() -> None:
        try:
            result = function(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001  (who waits gets it)
            done.set_exception(error)
        else:
            done.set_result(result)

    threading.Thread(target=call, name="dpbb-store", daemon=True).start()
    return asyncio.wrap_future(done)


async def in_time(
    where: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call a function in a thread; CheckpointError if ``where`` does not answer."""
    try:
        return await asyncio.wait_for(in_thread(function, *args, **kwargs), OPEN_S)
    except TimeoutError as error:
        raise CheckpointError(no_answer(where, OPEN_S)) from error


def no_answer(where: str, seconds: float) -> str:
    """Say that a store hangs."""
    return f"{where} has not answered for {seconds:.0f} s"
