"""Heuristics over the workers of a Dask cluster: one start or seed a task.

Nothing of Dask is imported here: the client that is given brings it.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from dpbb.errors import OptionError, shown
from dpbb.problem import HasHeuristics, Incumbent, StartSearch

Answer = TypeVar("Answer")

POLL_S = 0.02
LATE_S = 10.0
"""Seconds behind the time limit after which nobody is waited for."""


def spread(
    client: Any,  # distributed.Client
    problem: HasHeuristics,
    search: StartSearch,
    starts: int | None = None,
) -> Incumbent | None:
    """Search on all workers and return the best of what they find.

    Parameters
    ----------
    problem
        A copy goes to every task.
    search
        As for a search here: ``threads`` is what a task takes, default one; the seed is
        that of the first task, from which the others count on. The time limit counts
        on every worker from the start of its task, with what has to be compiled.
        ``on_improvement`` and ``should_stop`` are called here, with what tasks return,
        ``on_note`` nowhere.
    starts
        How many tasks; default: as many as run side by side, with a GPU one for each
        worker, else by the threads that Dask has.

    Returns
    -------
    Incumbent or None
        None if no task answered in time.

    Raises
    ------
    OptionError
        No client, or no workers.
    """
    gpu, threads = search.device == "gpu", search.threads or 1
    tasks = n_tasks(client, per_thread=not gpu)
    if starts is None:
        starts = max(1, tasks if gpu else tasks // threads)
    limit = search.time_limit_s
    shared = {
        "method": search.method,
        "time_limit_s": limit,
        "threads": threads,
        "iterations": search.iterations,
        "device": search.device,
        "initial": search.initial,
        "lower_bound": search.lower_bound,
    }
    calls = [{**shared, "seed": search.seed + number} for number in range(starts)]
    rounds = -(-starts // max(1, tasks if gpu else tasks // threads))
    last = None if limit is None else time.monotonic() + rounds * limit + LATE_S

    def over() -> bool:
        late = last is not None and time.monotonic() > last
        return late or search.should_stop()

    best: Incumbent | None = None
    for found in results(client, partial(_search, problem), calls, over):
        if best is None or (found.value, not found.proved) < (
            best.value,
            not best.proved,
        ):
            better = best is None or found.value < best.value
            best = found
            if better:
                search.on_improvement(found)
        if best.proved:
            break
    return best


def _search(problem: HasHeuristics, values: dict[str, Any]) -> Incumbent:
    """Search on a worker; return the schedule."""
    limit = values["time_limit_s"]
    end = None if limit is None else time.monotonic() + limit
    search = StartSearch(end=end, **values)
    found = problem.first_incumbent(search)
    if found is None:
        raise OptionError(f"method: expected one that runs, got {values['method']}")
    return found


def n_tasks(client: Any, *, per_thread: bool) -> int:
    """Return how many tasks the workers of a client run side by side."""
    if not callable(getattr(client, "map", None)):
        raise OptionError(f"client: expected a distributed.Client, got {shown(client)}")
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        raise OptionError("client: expected a cluster with workers, got one with none")
    return sum(worker["nthreads"] if per_thread else 1 for worker in workers)


def results(
    client: Any,
    function: Callable[[Any], Answer],
    arguments: Sequence[Any],
    over: Callable[[], bool] = lambda: False,
) -> Iterator[Answer]:
    """Map a function over the workers; yield what comes back, as it comes.

    Ends early when ``over()``, polled all the time, says so, or when nobody wants the
    next one: what has not begun then never does.
    """
    # Each argument goes to one worker, once, and again where that worker is lost: there
    # is nothing in it that a future would save, whatever Dask warns of.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")
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
