"""Heuristics over the workers of a Dask cluster: one start or seed a task.

Nothing of Dask is imported here: the client that is given brings it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpbb.errors import OptionError, shown
from dpbb.flowshop.heuristics.loading import Loading
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.flowshop.heuristics.table import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpbb.problem import Incumbent

Answer = TypeVar("Answer")

POLL_S = 0.02
LATE_S = 10.0
"""Seconds behind the deadline after which nobody is waited for."""


def spread(
    client: Any,  # noqa: ANN401 (distributed.Client)
    search: Search,
    method: str,
    start: Incumbent | None = None,
    *,
    starts: Sequence[Incumbent] = (),
    gpu: bool = False,
) -> Incumbent | None:
    """Run a method on all workers and return the best of what they find.

    Parameters
    ----------
    client
        A synchronous ``distributed.Client``.
    search
        As for a run here: ``threads`` is what a task takes (1 at least), the seed that
        of the first task, which the others count on from. The deadline counts from
        now on every worker. ``on_improvement`` and ``should_stop`` are called here.
    method
        A row of ``HEURISTICS``.
    start
        What is known already; where every task begins that has no start of its own.
    starts
        Starts of the first tasks.
    gpu
        Take the method's function for a GPU, one task for each worker; else one for
        each thread that Dask has.

    Returns
    -------
    Incumbent or None
        ``start`` if nothing is better.

    Raises
    ------
    OptionError
        No client, or no workers.
    """
    seconds = search.deadline - time.monotonic()
    tasks = n_tasks(client, per_thread=not gpu)
    tasks = max(tasks // max(1, 1 if gpu else search.threads), len(starts), 1)
    plain = replace(search, deadline=seconds, on_improvement=None, should_stop=None)
    calls = [
        (
            replace(plain, seed=search.seed + number),
            starts[number] if number < len(starts) else start,
        )
        for number in range(tasks)
    ]
    best = start
    over = search.should_stop or (lambda: False)
    last = search.deadline + LATE_S

    path = path_of(method, "gpu" if gpu else "cpu", strict=True)
    for found in results(
        client, partial(_run, path), calls, lambda: over() or time.monotonic() > last
    ):
        best = improve(search, best, found.permutation, found.source)
        if found.proved and found.value == best.value:
            best = replace(best, proved=True)
        if best.proved:
            break
    return best


def _run(path: str, call: tuple[Search, Incumbent | None]) -> Incumbent:
    """Run on a worker; the deadline comes in seconds from now."""
    search, start = call
    heuristic = Loading([path]).heuristic(path)
    return heuristic(
        replace(search, deadline=time.monotonic() + search.deadline), start
    )


def n_tasks(client: Any, *, per_thread: bool) -> int:  # noqa: ANN401
    """Return how many tasks the workers of a client run side by side."""
    if not callable(getattr(client, "map", None)):
        raise OptionError(f"client: expected a distributed.Client, got {shown(client)}")
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        raise OptionError("client: expected a cluster with workers, got one with none")
    return sum(worker["nthreads"] if per_thread else 1 for worker in workers)


def results(
    client: Any,  # noqa: ANN401
    function: Callable[[Any], Answer],
    arguments: Sequence[Any],
    over: Callable[[], bool] = lambda: False,
) -> Iterator[Answer]:
    """Map a function over the workers; yield what comes back, as it comes.

    Ends early when ``over()``, polled all the time, says so, or when nobody wants the
    next one: what has not begun then never does.
    """
    futures = client.map(function, arguments, pure=False)
    waiting = list(futures)
    try:
        while waiting and not over():
            done = [future for future in waiting if future.done()]
            waiting = [future for future in waiting if future not in done]
            for future in done:
                yield future.result()
            if not done:
                time.sleep(POLL_S)
    finally:
        client.cancel(waiting)
