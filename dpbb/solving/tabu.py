"""``dpbb.tabu_search``: tabu search by itself, here or over a cluster."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.cluster.client.connect import connect
from dpbb.cluster.client.which import leave_worker, which_cluster
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.heuristics.spread import n_tasks, results
from dpbb.flowshop.heuristics.tabu.search import (
    DEVICES,
    MOST_GENERATIONS,
    TabuResult,
    joined,
    make_rules,
    make_starts,
    run_searches,
)
from dpbb.flowshop.heuristics.tabu.state import Neighbourhood, Objective
from dpbb.options.kinds import one_of, whole


def tabu_search(
    instance: Any,  # whatever names an instance
    start: Any = None,
    *,
    generations: int = 1000,
    tenure: int | None = None,
    neighbourhood: str = Neighbourhood.SWAP,
    sharing: str | None = None,
    objective: str = Objective.MAKESPAN,
    searches: int = 1,
    seed: int = 0,
    device: str = "auto",
    client: Any = None,
    scheduler: str | None = None,
    threads: int | None = None,
) -> TabuResult:
    """Improve a schedule by tabu search over swaps or insertions.

    Parameters
    ----------
    instance
        An instance of a flow shop, or what ``dpbb.read_instance`` reads.
    start
        A permutation, or one for each search; default: that of NEH. Where there are
        fewer than ``searches``, further ones are the last with some random swaps.
    generations
        Moves of every search.
    tenure
        Generations for which the two jobs of a swap (of an insertion: the job and the
        one at whose place it comes) are not moved against each other; default: a
        quarter of the jobs, at least 7.
    neighbourhood
        ``"swap"``: exchanges of two jobs; ``"insert"``: a job goes to another place
        (Taillard's acceleration).
    sharing
        What neighbours by swap share of their parent's columns on a GPU: ``"none"``,
        ``"prefix"`` or ``"both"``; the values are the same. Default: what is fastest:
        nothing for few searches of a small shop, else as much as the objective allows
        (total flow time has no tails to share).
    objective
        ``"makespan"`` or ``"flow-time"``: the sum of the ends of all jobs.
    searches
        How many, side by side.
    seed
        Of the random swaps of further starts.
    device
        ``"cpu"``, ``"gpu"``, or ``"auto"``: a GPU if there is one. Same trajectories.
    client, scheduler
        A ``distributed.Client``, or the address of a scheduler: the starts are spread
        over the workers. Default: as in ``solve``, but for a cluster of its own.
    threads
        Of the CPU, a search each; default: all physical cores.

    Raises
    ------
    InstanceError, OptionError
        Bad input; says what was expected and what came.
    EngineUnavailable
        ``device="gpu"`` without one.

    Examples
    --------
    >>> import dpbb
    >>> dpbb.tabu_search([[3, 2], [1, 4], [2, 2]], generations=5, device="cpu").value
    9
    """
    shop = read_instance(instance)
    rules = make_rules(shop, tenure, neighbourhood, sharing, objective)
    whole(0, MOST_GENERATIONS).check(generations, "generations")
    whole(1).check(searches, "searches")
    whole(0).check(seed, "seed")
    if threads is not None:
        whole(1).check(threads, "threads")
    one_of(*DEVICES).check(device, "device")
    starts = make_starts(shop, start, searches, seed)
    run = partial(
        run_searches, rules, generations=generations, device=device, threads=threads
    )
    which = which_cluster(client, scheduler)
    client = which.client
    if not which.is_one:
        return run(starts)
    # the rules travel once a task: some kilobytes of times
    job = partial(_numbered, partial(run, threads=threads or 1))
    with ExitStack() as stack:
        if client is None:
            client = stack.enter_context(connect(str(which.scheduler)))
        else:
            leave_worker()
        parts = np.array_split(
            starts, min(len(starts), n_tasks(client, per_thread=device != "gpu"))
        )
        began = time.perf_counter()
        found = dict(results(client, job, list(enumerate(parts))))
    seconds = time.perf_counter() - began
    return joined([found[number] for number in range(len(parts))], seconds)


def _numbered(
    run: Callable[[NDArray[np.int32]], TabuResult], part: tuple[int, NDArray[np.int32]]
) -> tuple[int, TabuResult]:
    """Run some of the starts on a worker."""
    number, starts = part
    return number, run(starts)
