"""What the scheduler's threads take from each other: one interpreter has one lock.

A real scheduler collects garbage, checks reports in threads and encodes checkpoints in
one more, all under the lock of one Python process. The simulation makes the calls of
the event loop one after the other, in a process that holds the simulated seats as well;
so what it does not see is measured here, and charged to the loop by the models below.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_THREADS = 3
"""Two check reports, one writes checkpoints."""

BURST = 40
"""Calls in a row that are timed together."""


# -- garbage ------------------------------------------------------------------------


class Collector:
    """When the scheduler's process collects garbage, and how long that takes.

    As CPython up to 3.13 does it: the young objects after every ``threshold`` that came
    to stay, older ones every tenth time, all of them when a quarter is new. Objects
    that die by themselves meanwhile are gone through all the same: a bound from above.

    Parameters
    ----------
    n_objects
        Objects of the process that collections go through.
    object_s
        Seconds for each.
    """

    def __init__(self, n_objects: int, object_s: float) -> None:
        self._old = n_objects
        self._object_s = object_s
        self._thresholds = gc.get_threshold()
        self._young = self._middle = self._pending = 0
        self._rounds = [0, 0]
        self.full = 0  # collections of all objects

    def made(self, n_objects: int) -> float:
        """Note objects that a call left behind (or took away); seconds collecting."""
        self._young = max(0, self._young + n_objects)
        if self._young <= self._thresholds[0]:
            return 0.0
        seen = self._young
        self._middle += self._young
        self._young = 0
        self._rounds[0] += 1
        if self._rounds[0] > self._thresholds[1]:
            seen = self._middle
            self._pending += self._middle
            self._middle = self._rounds[0] = 0
            self._rounds[1] += 1
            if self._rounds[1] > self._thresholds[2] and self._pending > self._old / 4:
                seen = self._old + self._pending
                self._pending = self._rounds[1] = 0
                self.full += 1
        return seen * self._object_s


def object_seconds() -> float:
    """Seconds that a full collection of this process takes for each object."""
    gc.collect()
    n_objects = len(gc.get_objects())
    least = float("inf")
    for _ in range(3):
        begin = time.thread_time()
        gc.collect()
        least = min(least, time.thread_time() - begin)
    return least / n_objects


def count_objects(make: Callable[[], object]) -> int:
    """How many objects a call leaves that collections go through."""
    gc.collect()
    before = len(gc.get_objects())
    kept = make()
    gc.collect()
    left = len(gc.get_objects()) - before
    del kept
    return left


# -- the lock -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sharing:
    """What busy threads cost; the index is how many of them are busy, 0 to 3.

    Parameters
    ----------
    message_s
        Seconds of the loop, for each message: it lets go of the lock to send and to
        receive, and waits to have it back.
    loop
        Factor of what the loop computes, past the time for which nobody takes the lock.
    idle, busy
        Factor of a check's own time beside an idle and beside a busy loop; the check
        itself is one of those that are busy.
    """

    message_s: tuple[float, ...]
    loop: tuple[float, ...]
    idle: tuple[float, ...]
    busy: tuple[float, ...]

    def check(self, n_busy: int, load: float) -> float:
        """Factor of a check, beside a loop that is busy for this share of its time."""
        n = min(n_busy, MOST_THREADS)
        return (1 - load) * self.idle[n] + load * self.busy[n]

    def loop_s(self, seconds: float, messages: int, n_busy: int) -> float:
        """Seconds that some work of the loop takes, and its messages."""
        n = min(n_busy, MOST_THREADS)
        long_s = max(0.0, seconds - sys.getswitchinterval())
        return seconds + long_s * (self.loop[n] - 1) + messages * self.message_s[n]


NOTHING_SHARED = Sharing(*((first,) * (MOST_THREADS + 1) for first in (0.0, 1.0, 1, 1)))
"""As if every thread had an interpreter of its own."""


def measure_sharing(check: Callable[[], object], repeat: int) -> Sharing:
    """Measure with real messages of Dask and real checks; takes some seconds.

    These are times on the clock, for waiting takes no processor; medians, as others may
    use the cores meanwhile. A message goes to and fro within one loop, so that half of
    it is one side's.
    """
    return asyncio.run(_measure(check, repeat))


async def _measure(check: Callable[[], object], repeat: int) -> Sharing:
    from distributed.core import Server, rpc

    server: Any = Server({"nothing": _nothing})
    await server.listen("tcp://127.0.0.1:0")
    remote: Any = rpc(server.address)

    async def messages() -> None:
        for _ in range(BURST):
            await remote.nothing()

    async def computing() -> None:
        _compute()

    async def checking() -> None:
        check()

    async def usual(action: Callable[[], Any]) -> float:
        times = []
        for _ in range(repeat):
            begin = time.perf_counter()
            await action()
            times.append(time.perf_counter() - begin)
        return statistics.median(times)

    message, loop, idle, busy = [], [], [1.0], [1.0]
    try:
        await messages()
        alone = await usual(checking)
        for n in range(MOST_THREADS + 1):
            with _busy(check, n):
                message.append(await usual(messages) / BURST / 2)
                loop.append(await usual(computing))
                if n < MOST_THREADS:  # and this one
                    idle.append(await usual(checking) / alone)
            if n:
                busy.append(await _beside(check, n, messages) / alone)
    finally:
        await remote.close_rpc()
        await server.close()
    return Sharing(
        _rising([s - message[0] for s in message]),
        _rising([s / loop[0] for s in loop]),
        _rising(idle),
        _rising(busy),
    )


def _rising(values: list[float]) -> tuple[float, ...]:
    """More threads never cost less: what looks so is other work on the machine."""
    return tuple(np.maximum.accumulate(values).tolist())


async def _nothing() -> None:
    """Answer a message."""


def _compute() -> None:
    """Do what a coordinator does for some milliseconds: dictionaries, small numbers."""
    table = {}
    for number in range(20_000):
        table[number] = (number, np.intp(number))
    for number in range(20_000):
        del table[number]


@contextmanager
def _busy(check: Callable[[], object], n_threads: int) -> Iterator[None]:
    """Have threads check all the time."""
    over = Event()

    def work() -> None:
        while not over.is_set():
            check()

    threads = [Thread(target=work, daemon=True) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


async def _beside(
    check: Callable[[], object], n_threads: int, load: Callable[[], Any]
) -> float:
    """Seconds of a check, of threads beside a loop that is always busy."""
    times: list[float] = []

    def timed() -> None:
        begin = time.perf_counter()
        check()
        times.append(time.perf_counter() - begin)

    with _busy(timed, n_threads):
        while len(times) < 10 * n_threads:
            await load()
    return statistics.median(times)
