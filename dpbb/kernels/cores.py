"""The cores of this host: how many there are, and work in parts for all of them."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import TypeVar

from dpbb.options.kinds import whole

T = TypeVar("T")


def usable_cores() -> int:
    """Logical cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def physical_cores() -> int:
    """Physical cores that this process may use, at least 1."""
    import psutil  # takes longer than NEH

    usable = usable_cores()
    return min(usable, psutil.cpu_count(logical=False) or usable)


def thread_count(threads: int | None) -> int:
    """Check a number of threads; None: as many as this process may use cores."""
    if threads is None:
        return usable_cores()
    number: int = whole(1).check(threads, "threads")
    return number


def in_parts(
    part: Callable[[int, int], None], count: int, size: int, threads: int
) -> None:
    """Call ``part(begin, end)`` for all parts of a size, on so many threads."""
    if threads == 1 or count <= size:
        part(0, count)
        return
    with ThreadPoolExecutor(threads, "dpbb-parts") as pool:
        begins = range(0, count, size)
        for done in [pool.submit(part, b, min(b + size, count)) for b in begins]:
            done.result()


def in_daemon(function: Callable[[], T], name: str) -> Future[T]:
    """Call a function in a thread of this name; the process does not wait for it."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def call() -> None:
        try:
            done.set_result(function())
        except BaseException as error:  # noqa: BLE001 (raised by whoever waits)
            done.set_exception(error)

    Thread(target=call, name=name, daemon=True).start()
    return done
