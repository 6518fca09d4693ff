"""Pieces of a tree explored again, as tasks of Dask's, for a verification."""

from collections.abc import Sequence
from contextlib import closing, nullcontext
from threading import Lock
from typing import Any

from distributed import Reschedule, get_worker

from dpbb.cluster.internals import is_cancelled as cancelled_in_dask
from dpbb.cluster.internals import stop_deadly_profiler_here
from dpbb.engines.base import Device
from dpbb.engines.registry import choose_engine
from dpbb.options import TreeOptions
from dpbb.problem import Problem
from dpbb.proof.exploring import Explorer, Found, Task

_gpu = Lock()


def explore_again(
    problem: Problem[Any],
    tree: TreeOptions,
    all_optima: bool,
    engine: str,
    tasks: Sequence[tuple[int, Task]],
) -> list[tuple[int, Found]]:
    """Explore pieces, each with the number of what it is of.

    With one thread: a worker runs as many such tasks at a time as it has. On a GPU one
    after the other.

    Reschedule: the task was cancelled, so a piece may not be whole: if somebody wants
    it after all, Dask repeats it.
    """
    stop_deadly_profiler_here()
    chosen, _ = choose_engine(engine, problem, tree)
    device = next(iter(chosen.devices(1)), Device("cpu", "verify"))
    worker: Any = get_worker()
    key = worker.get_current_task()

    cancelled = False

    def is_cancelled() -> bool:
        nonlocal cancelled
        cancelled |= cancelled_in_dask(worker, key)
        return cancelled

    explorer = Explorer(problem, tree, all_optima, chosen, device)
    found = []
    with _gpu if device.kind == "cuda" else nullcontext(), closing(explorer):
        for number, task in tasks:
            if not is_cancelled():
                found.append((number, explorer.explore(task, is_cancelled)))
            if cancelled:
                raise Reschedule
    return found
