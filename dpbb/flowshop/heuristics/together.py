"""Several heuristics at once, each in a thread; what one finds the others can see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, NamedTuple

from dpbb.problem import Incumbent

if TYPE_CHECKING:
    from dpbb.flowshop.heuristics.search import Heuristic, Search

POLL_S = 0.005
"""How often limits are looked at."""


class Part(NamedTuple):
    """A heuristic and the number of threads that it may use."""

    heuristic: Heuristic
    threads: int


class _End(NamedTuple):
    """How a part ended."""

    outcome: Incumbent | BaseException


def run_together(search: Search, start: Incumbent, parts: Sequence[Part]) -> Incumbent:
    """Improve ``start`` by all parts until all have ended, or one has a proof.

    The functions of ``search`` are called in this thread; an error of a part ends the
    others and is raised.
    """
    events: SimpleQueue[Incumbent | int | _End] = SimpleQueue()  # int: a bound
    stop = Event()
    best = start

    def run(part: Part) -> None:
        own = replace(
            search,
            threads=part.threads,
            on_improvement=events.put,
            should_stop=stop.is_set,
            on_bound=events.put,
            elsewhere=lambda: best,
        )
        try:
            events.put(_End(part.heuristic(own, start)))
        except BaseException as error:  # noqa: BLE001 (raised by whoever waits)
            events.put(_End(error))

    threads = [Thread(target=run, args=(part,), daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    running = len(threads)
    failure: BaseException | None = None
    try:
        while running:
            if search.over or best.proved:
                stop.set()
            try:
                event = events.get(timeout=POLL_S)
            except Empty:
                continue
            if isinstance(event, int):
                search.on_bound(event)
                continue
            if isinstance(event, Incumbent):
                found = event
            else:
                running -= 1
                if isinstance(event.outcome, BaseException):
                    failure = failure or event.outcome
                    stop.set()
                    continue
                found = event.outcome
            if found.value < best.value:
                best = found
                if search.on_improvement is not None:
                    search.on_improvement(best)
            elif found.value == best.value and found.proved:
                best = replace(best, proved=True)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failure is not None:
        raise failure
    return best
