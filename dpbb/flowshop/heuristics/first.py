"""The first incumbent: NEH at once, then what does best on instances of a size.

What Numba compiles is imported in a thread when it is wanted, and plain NumPy searches
until then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import NamedTuple

from dpbb.flowshop.bounds.lb1 import root_bound
from dpbb.flowshop.heuristics.loading import Loading
from dpbb.flowshop.heuristics.palmer import JOHNSON_MACHINES, johnson, palmer
from dpbb.flowshop.heuristics.plain import neh, plain_search
from dpbb.flowshop.heuristics.search import (
    HEURISTICS,
    Heuristic,
    Search,
    improve,
    path_of,
)
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.kernels.cores import physical_cores
from dpbb.kernels.nvrtc import require_gpu
from dpbb.options import Heuristics
from dpbb.options.kinds import one_of
from dpbb.problem import Incumbent, StartSearch

Stages = tuple[tuple[tuple[str, ...], float], ...]
"""Names of heuristics that run at once, until which share of the time."""

LARGE = 500**2 * 20
"""With more jobs^2 x machines NEH takes longer than a moment: Palmer's order first."""

FEW_JOBS = 60
"""Up to here local search does best that takes out blocks, beyond it single jobs."""

FEW_MACHINES = 20
"""Up to here beams are better than local search with more jobs than few."""

VERY_FEW_MACHINES = 10
"""Up to here beams often prove the optimum in a second."""

NOTE_S = 1.0
"""Seconds that are waited for compiled code before a word is said about it."""


def default_time_s(n_jobs: int, n_machines: int) -> float:
    """Seconds that ``first_incumbent`` takes unless told otherwise.

    Grows with the instance: 0.3 s at 20x5, 1.2 s at 20x20, 5 s at 50x20 and 10 s, the
    most, from 100x20 on.
    """
    size = n_jobs**1.5 * n_machines
    return float(min(10.0, max(0.3, size / 1500)))


def first_incumbent(
    instance: FlowShopInstance, wanted: StartSearch, kept: tuple[int, int] = (0, 0)
) -> Incumbent | None:
    """Find a good schedule quickly; the functions of ``wanted`` are called here.

    Parameters
    ----------
    wanted
        Without a time limit it takes ``default_time_s``. Loading the compiled code, and
        compiling it on the first use after installation, come on top; NumPy searches
        meanwhile, unless there is a limit of iterations, which counts for each
        heuristic that runs. Heuristics that have no function for a GPU use the cores.
        No schedule is below the root's LB1, whatever its ``lower_bound``. Nobody looks
        at ``end`` and ``tree_waits``.
    kept
        So many of the first jobs of the instance are the front of every schedule, in
        their order, and so many of the last ones the back.

    Notes
    -----
    Up to two machines have Johnson's order, which is optimal, whatever the method.

    Returns
    -------
    Incumbent or None
        None only for ``"none"`` without ``initial``.

    Raises
    ------
    OptionError
        Unknown method, or ``initial`` is no permutation of the jobs; a method that has
        no function for this device.
    EngineUnavailable
        There is no GPU for ``device="gpu"``, whatever would have used it.
    """
    method, device = wanted.method, wanted.device
    one_of(*Heuristics, *HEURISTICS).check(method, "heuristics")
    root = root_bound(instance.times)
    search = Search(
        instance,
        lower_bound=max(root, wanted.lower_bound or root),
        threads=wanted.threads or physical_cores(),
        seed=wanted.seed,
        iterations=wanted.iterations,
        on_improvement=wanted.on_improvement,
        should_stop=wanted.should_stop,
        kept=kept,
    )
    incumbent = None
    if wanted.initial is not None:
        incumbent = improve(search, None, wanted.initial, "initial")
    if method == Heuristics.NONE or (incumbent is not None and incumbent.proved):
        return incumbent

    if method != Heuristics.AUTO:
        path_of(method, device, strict=True)  # refused before anything runs
    if device == "gpu":
        require_gpu()
    if instance.n_machines <= JOHNSON_MACHINES:
        return johnson(search, incumbent)
    if instance.n_jobs**2 * instance.n_machines > LARGE:
        incumbent = palmer(search, incumbent)
    incumbent = neh(search, incumbent)
    if method == "neh" or incumbent.proved:
        return incumbent
    limit_s = wanted.time_limit_s
    if limit_s is None:
        limit_s = default_time_s(instance.n_jobs, instance.n_machines)
    stages = _stages(
        method,
        device,
        instance.n_jobs,
        instance.n_machines,
        in_turn=search.threads == 1 or search.iterations is not None,
    )
    paths = [path_of(name, device) for names, _ in stages for name in names]
    loading = Loading(paths, search, incumbent)
    spent = 0.0
    try:
        for names, until in stages:
            paths = [path_of(name, device) for name in names]
            if search.iterations is None:  # else it could not be repeated
                incumbent = _until_loaded(
                    search, incumbent, loading, paths, wanted.on_note
                )
            if incumbent.proved or search.over:
                break
            parts = [loading.heuristic(path) for path in paths]
            started = time.monotonic()
            limited = replace(search, deadline=started + until * limit_s - spent)
            if len(parts) == 1:
                incumbent = parts[0](limited, incumbent)
            else:
                shared = _shared(search.threads, device, parts)
                incumbent = run_together(limited, incumbent, shared)
            spent += time.monotonic() - started
        return incumbent
    finally:
        loading.end()


def _shared(threads: int, device: str, parts: list[Heuristic]) -> list[Part]:
    """Divide the threads: a beam on a GPU needs few, other heuristics as many each."""
    others = max(1, threads // (4 if device == "gpu" else len(parts)))
    most = max(1, threads - others * (len(parts) - 1))
    return [Part(part, most if i == 0 else others) for i, part in enumerate(parts)]


def _until_loaded(
    search: Search,
    incumbent: Incumbent,
    loading: Loading,
    paths: list[str],
    on_note: Callable[[str], None],
) -> Incumbent:
    """Search with what there is until all is loaded, or until a stop."""
    started = time.monotonic()
    noted = False
    heuristic: Heuristic = plain_search
    for path in paths:

        def over(path: str = path) -> bool:
            nonlocal noted
            if not noted and time.monotonic() - started > NOTE_S:
                on_note("compiling the heuristics; another search runs meanwhile")
                noted = True
            return loading.ready(path) or search.over

        if not loading.ready(path):
            incumbent = heuristic(replace(search, should_stop=over), incumbent)
        if incumbent.proved or search.over:
            break
        heuristic = loading.heuristic(path)
    if noted:
        on_note("")
    return incumbent


def _stages(
    method: str, device: str, n_jobs: int, n_machines: int, *, in_turn: bool
) -> Stages:
    """Which heuristics run, several at once, until which share of the time.

    Beams do best with many jobs on at most 20 machines, and prove the optimum where
    that is easy; with few jobs local search does, which takes blocks out of these, and
    of many single jobs in turn. On a GPU a beam leaves the cores to it. Repeatable is
    only what runs in turn.
    """
    if method != Heuristics.AUTO:
        return (((method,), 1.0),)
    local = "vbih" if n_jobs <= FEW_JOBS else "ils"
    for_beams = n_jobs > FEW_JOBS and n_machines <= FEW_MACHINES
    proves = n_machines <= VERY_FEW_MACHINES
    if in_turn or (device == "cpu" and (for_beams or proves)):
        return (("beam",), 0.85 if for_beams else 0.5), ((local,), 1.0)
    return (((local, "beam"), 1.0),)


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
    events: SimpleQueue[Incumbent | _End] = SimpleQueue()
    stop = Event()
    best = start

    def run(part: Part) -> None:
        own = replace(
            search,
            threads=part.threads,
            on_improvement=events.put,
            should_stop=stop.is_set,
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
