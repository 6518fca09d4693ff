"""The start heuristics in a thread, which is not waited for longer than there is time.

On a machine with other work even NEH may take longer than there is.
"""

from __future__ import annotations

import time
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import NamedTuple

from dpbb.flowshop.heuristics import default_time_s, first_incumbent
from dpbb.flowshop.heuristics.palmer import palmer
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.options import Heuristics
from dpbb.problem import Incumbent, StartSearch

POLL_S = 0.01

GRACE_S = 0.25
"""Seconds that the first schedule is waited for, if there is none at the end."""

PROVING_MACHINES = 10
"""With no more machines beams prove much: a tree that waits does not end them."""

STOP_S = 0.25
"""Seconds that a heuristic has to end in after a stop."""


class _End(NamedTuple):
    """What came of all."""

    found: Incumbent | None


def incumbent_in_time(
    instance: FlowShopInstance, search: StartSearch, kept: tuple[int, int] = (0, 0)
) -> Incumbent | None:
    """Return what ``first_incumbent`` finds until ``search.end``, or soon after.

    The functions of ``search`` are called in this thread. ``kept`` is that of
    ``first_incumbent``.

    Returns the best so far; if the end came before any, the best of ``initial``, the
    jobs in their own order and in Palmer's.
    """
    at_once = Search(
        instance,
        lower_bound=search.lower_bound or 0,
        kept=kept,
        on_improvement=search.on_improvement,
    )
    if search.method == Heuristics.NONE:
        if search.initial is None:
            return None
        return improve(at_once, None, search.initial, "initial")
    events: SimpleQueue[Incumbent | str | BaseException | _End] = SimpleQueue()
    stop = Event()
    end = search.end
    ours = replace(
        search,
        time_limit_s=_seconds(instance, search),
        on_improvement=events.put,
        should_stop=stop.is_set,
        on_note=events.put,
    )

    def find() -> None:
        try:
            found = first_incumbent(instance, ours, kept)
            events.put(_End(found))
        except BaseException as error:  # noqa: BLE001 (raised by whoever waits)
            events.put(error)

    best: Incumbent | None = None
    thread = Thread(target=find, name="dpbb-heuristics", daemon=True)
    thread.start()
    try:
        while True:
            now = time.monotonic()
            over = end is not None and now >= end
            if end is not None and over and best is None and not stop.is_set():
                over = now >= end + GRACE_S
            wanted = search.should_stop() or (
                instance.n_machines > PROVING_MACHINES and search.tree_waits()
            )
            if not stop.is_set() and wanted:
                stop.set()
                last = time.monotonic() + STOP_S
                end = last if end is None else min(end, last)
            try:
                event = events.get(timeout=0 if over else POLL_S)
            except Empty:
                if over:
                    break
                continue
            if isinstance(event, _End):
                return event.found  # the best, and perhaps proved meanwhile
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, str):
                search.on_note(event)
                continue
            best = event
            search.on_improvement(best)
    finally:
        stop.set()
        thread.join(STOP_S)  # it looks at the stop every few milliseconds
    if best is None:
        if search.initial is not None:
            best = improve(at_once, None, search.initial, "initial")
        best = palmer(at_once, best)
    return best


def _seconds(instance: FlowShopInstance, search: StartSearch) -> float | None:
    """Return how long the heuristics search; None: as long as is usual.

    A third of the time until the end is for what they compile.
    """
    if search.time_limit_s is not None or search.end is None:
        return search.time_limit_s
    left = max(search.end - time.monotonic(), 0.0)
    return min(default_time_s(instance.n_jobs, instance.n_machines), left * 2 / 3)
