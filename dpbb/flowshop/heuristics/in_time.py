"""The start heuristics in a thread, which is not waited for longer than there is time.

Nothing interrupts Numba while it compiles, for some ten seconds in all on the first use
after an installation: who has less time, or is to stop, goes on without the heuristics.
"""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.flowshop.heuristics import first_incumbent
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.options import Heuristics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpbb.flowshop.heuristics import Incumbent
    from dpbb.flowshop.instance import FlowShopInstance

POLL_S = 0.01
STOP_S = 0.25
"""Seconds that a heuristic has to end in after a stop."""


def incumbent_in_time(
    instance: FlowShopInstance,
    *,
    end: float | None,
    method: Heuristics,
    initial: Sequence[int] | None = None,
    on_improvement: Callable[[Incumbent], None],
    should_stop: Callable[[], bool],
    **how: Any,  # noqa: ANN401
) -> Incumbent | None:
    """Return what ``first_incumbent`` finds until the end.

    Parameters
    ----------
    end
        ``time.monotonic()`` after which it is not waited for; None: never.
    method, initial, on_improvement, should_stop
        As there; the functions are called in this thread.
    **how
        Other arguments of it.

    Returns
    -------
    Incumbent or None
        The best so far; if the end came before any, the best of ``initial``, the jobs
        in their own order and in Palmer's.
    """
    events: SimpleQueue[Incumbent | BaseException | None] = SimpleQueue()  # None: end
    stop = Event()

    def search() -> None:
        try:
            first_incumbent(
                instance,
                method=method,
                initial=initial,
                on_improvement=events.put,
                should_stop=stop.is_set,
                **how,
            )
            events.put(None)
        except BaseException as error:  # noqa: BLE001 (raised by whoever waits)
            events.put(error)

    best: Incumbent | None = None
    Thread(target=search, name="dpbb-heuristics", daemon=True).start()
    try:
        while end is None or time.monotonic() < end:
            if not stop.is_set() and should_stop():
                stop.set()
                last = time.monotonic() + STOP_S
                end = last if end is None else min(end, last)
            try:
                event = events.get(timeout=POLL_S)
            except Empty:
                continue
            if event is None:
                return best
            if isinstance(event, BaseException):
                raise event
            best = event
            on_improvement(best)
    finally:
        stop.set()
    if best is None:
        search_now = Search(instance, lower_bound=0, on_improvement=on_improvement)
        if initial is not None:
            best = improve(search_now, None, initial, "initial")
        if method != Heuristics.NONE:
            best = improve(search_now, best, range(instance.n_jobs), "own order")
            best = improve(search_now, best, palmer(instance), "palmer")
    return best


def palmer(instance: FlowShopInstance) -> NDArray[np.intp]:
    """Return the jobs by falling slope: those whose times grow come first.

    Nothing to compile, milliseconds at any size.

    Notes
    -----
    Slope index of Palmer, Oper. Res. Q. 16(1), 1965.
    """
    weights = 2 * np.arange(instance.n_machines) - (instance.n_machines - 1)
    return np.argsort(-(instance.times @ weights), kind="stable")
