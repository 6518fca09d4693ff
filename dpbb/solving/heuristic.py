"""``dpbb.heuristic``: a good schedule in a given time, without a tree."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpbb.cluster.client.connect import leave_worker
from dpbb.heuristics import heuristics_of
from dpbb.options import OPTIONS, PROCESSORS, Heuristics, SolveOptions, kinds
from dpbb.problem import StartSearch, proving_bound
from dpbb.result import Termination
from dpbb.solving.arguments import called, planned
from dpbb.solving.results import done, result_without_tree
from dpbb.solving.start import searched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dpbb.options import Processor
    from dpbb.options.derived import StyleName
    from dpbb.progress import Progress
    from dpbb.result import Result

SECONDS = 10.0
"""Default time of a search."""


def heuristic(
    instance: Any,  # names, paths, tables, instances, problems
    method: str | Callable[..., Any] = Heuristics.AUTO,
    *,
    front: Iterable[Any] = (),
    back: Iterable[Any] = (),
    time_limit_s: float | None = None,
    device: Processor = "cpu",
    threads: int | None = None,
    seed: int = 0,
    iterations: int | None = None,
    initial: Sequence[int] | None = None,
    client: Any = None,
    scheduler: str | None = None,
    progress: Progress | StyleName | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Find a good schedule; ``solve`` does that first, and then proves one.

    Parameters
    ----------
    instance, front, back
        As in ``solve``.
    method
        Name of a heuristic that the problem has (of flow shops: the rows of
        ``dpbb.flowshop.heuristics.HEURISTICS``), or ``"auto"``: what does best. Or a
        function of one's own, see ``dpbb.heuristics.OwnHeuristic``.
    time_limit_s
        Seconds from the call to its end, with what is compiled on the first use after
        an installation; default: 10, or as long as ``iterations`` take.
    device
        ``"cpu"`` or ``"gpu"``; with ``auto`` what has no function for a GPU uses the
        cores.
    threads
        Default: all physical cores; over a cluster, one for each search.
    seed
        Start of all pseudo-random choices.
    iterations
        Steps of the method's own kind after which it ends: with one thread, a seed
        and this limit a search can be repeated exactly.
    initial
        A permutation to start from.
    client, scheduler
        A ``distributed.Client``, or the address of a scheduler: searches with seeds
        that count on from ``seed`` are spread over its workers, as many as they run
        side by side. Default: as in ``solve``, but for a cluster of its own.
    progress, should_stop
        As in ``solve``.

    Returns
    -------
    Result
        With the schedule, the trajectory and the root's lower bound. Its status is
        optimal where that bound proves it.

    Raises
    ------
    InstanceError, OptionError
        Bad input; says what was expected and what came.
    EngineUnavailable
        ``device="gpu"`` without one.
    ClusterError
        Nobody answers at ``scheduler``.
    Interrupted
        Somebody pressed Ctrl-C; see ``solve``.

    Examples
    --------
    >>> dpbb.heuristic("ta051", time_limit_s=30).makespan  # doctest: +SKIP
    3868
    """
    limit = OPTIONS["heuristic_time_s"].kind.check(time_limit_s, "time_limit_s")
    own = method if callable(method) else None
    named = method if own is None else Heuristics.AUTO
    named = OPTIONS["heuristics"].kind.check(named, "method")
    kinds.one_of(*PROCESSORS).check(device, "device")
    iterations = kinds.optional(kinds.whole(1)).check(iterations, "iterations")
    options = SolveOptions(
        threads=threads, seed=seed, initial=initial, scheduler=scheduler
    )
    call = called(client, options, {}, progress, should_stop)
    plan = planned(instance, call, front, back)
    options, shown = plan.options.replace(heuristics=named), call.progress
    client, address = call.client, options.scheduler
    if limit is None:
        limit = SECONDS if iterations is None else math.inf
    searcher = heuristics_of(plan.problem, own)
    kinds.one_of(*Heuristics, *searcher.heuristics).check(named, "method")
    bound = proving_bound(plan.problem)
    plan = replace(plan, options=options, root_bound=bound)
    if call.where:
        shown.note(call.where)
    shown.begin(plan.name)
    with ExitStack() as stack:
        stack.enter_context(closing(shown))
        call = stack.enter_context(call.interruptible())
        if client is not None:
            leave_worker()
        elif address is not None:
            from dpbb.cluster.client.connect import connect

            client = stack.enter_context(connect(address))
        run = searcher.first_incumbent
        if client is not None:
            from dpbb.cluster.client.spread import spread

            run = partial(spread, client, searcher)
        search = StartSearch(
            named,
            time_limit_s=limit,
            end=None if limit == math.inf else call.began + limit,
            threads=options.threads,
            seed=options.seed,
            iterations=iterations,
            device=device,
            initial=options.initial,
            lower_bound=bound,
            on_note=shown.waiting,
            should_stop=call.should_stop,
        )
        plan = searched(plan, search, run, shown)
        late = time.monotonic() - call.began >= limit
        end = Termination.TIME_LIMIT if late else Termination.DONE
        if plan.proved:
            end = Termination.EXHAUSTED
        elif call.should_stop():
            end = Termination.STOPPED
        return done(call, result_without_tree(plan, end))
