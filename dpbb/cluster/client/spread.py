"""Heuristics over the workers of a Dask cluster: one start or seed a task."""

import time
from dataclasses import replace
from typing import Any

from dpbb.cluster.internals import stop_deadly_profiler_here
from dpbb.errors import OptionError
from dpbb.problem import HasHeuristics, Incumbent, StartSearch

POLL_S = 0.02
LATE_S = 10.0
"""Seconds behind the time limit after which nobody is waited for."""


def spread(
    client: Any,  # distributed.Client
    problem: HasHeuristics,
    search: StartSearch,
) -> Incumbent | None:
    """Search on all workers and return the best of what they find.

    There are as many tasks as run side by side, with a GPU one for each worker, else by
    the threads that Dask has.

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

    Returns
    -------
    Incumbent or None
        None if no task answered in time.

    Raises
    ------
    OptionError
        No workers.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        raise OptionError("client: expected a cluster with workers, got one with none")
    search = replace(search, threads=search.threads or 1)
    tasks = len(workers)
    if search.device != "gpu":
        threads = sum(worker["nthreads"] for worker in workers)
        tasks = max(1, threads // (search.threads or 1))
    last = float("inf")
    if search.time_limit_s is not None:
        last = time.monotonic() + search.time_limit_s + LATE_S
    told = "end", "on_improvement", "should_stop", "tree_waits", "on_note"
    here = {name: getattr(StartSearch(), name) for name in told}
    calls = [
        replace(search, seed=search.seed + number, **here) for number in range(tasks)
    ]
    waiting = client.map(_search, calls, problem=problem, pure=False)
    best: Incumbent | None = None
    try:
        while waiting and time.monotonic() <= last and not search.should_stop():
            done = [future for future in waiting if future.done()]
            waiting = [future for future in waiting if future not in done]
            for found in client.gather(done):
                if best is None or found.value < best.value:
                    best = found
                    search.on_improvement(found)
                elif found.value == best.value and found.proved:
                    best = found
            if best is not None and best.proved:
                break
            if not done:
                time.sleep(POLL_S)
    finally:
        client.cancel(waiting)
    return best


def _search(search: StartSearch, problem: HasHeuristics) -> Incumbent:
    """Search on a worker; return the schedule."""
    stop_deadly_profiler_here()
    if search.time_limit_s is not None:
        search = replace(search, end=time.monotonic() + search.time_limit_s)
    found = problem.first_incumbent(search)
    if found is None:
        raise OptionError(f"method: expected one that runs, got {search.method}")
    return found
