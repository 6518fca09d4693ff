"""The heuristics by name, and the first incumbent.

NEH comes at once, then what does best on instances of a size.

Every heuristic runs in a thread of its own, and one loop waits for all of them: never
longer than there is time, though even NEH may take longer on a machine with other work.
What Numba compiles is loaded in a thread, too; plain NumPy searches until then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, NamedTuple

from dpbb.errors import OptionError
from dpbb.flowshop.heuristics.plain import (
    JOHNSON_MACHINES,
    johnson,
    neh,
    palmer,
    plain_search,
)
from dpbb.heuristics import (
    COMPILING,
    NOTE_S,
    POLL_S,
    Heuristic,
    Search,
    half_the_time,
    improve,
)
from dpbb.kernels.cores import in_daemon, physical_cores
from dpbb.kernels.nvrtc import require_gpu
from dpbb.options import PROCESSORS, Heuristics
from dpbb.options.kinds import one_of
from dpbb.problem import Incumbent, StartSearch

if TYPE_CHECKING:
    from dpbb.flowshop.problem import FlowShopProblem

LARGE = 500**2 * 20
"""With more jobs^2 x machines NEH takes longer than a moment: Palmer's order first."""

FEW_JOBS = 60
"""Up to here local search does best."""

FEW_MACHINES = 20
"""Up to here beams are better than local search with more jobs than few."""

VERY_FEW_MACHINES = 10
"""Up to here beams often prove the optimum in a second, and a tree that waits does not
end them."""

GRACE_S = 0.25
"""Seconds that the first schedule is waited for, if there is none at the end."""

STOP_S = 0.25
"""Seconds that a heuristic has to end in after a stop."""


class Method(NamedTuple):
    """Where a heuristic is and what it is good for.

    Parameters
    ----------
    cpu, gpu
        Its function for this kind of device as ``"module:function"``; None: there is
        none. The function is a ``Heuristic``; a function ``load`` of the same module,
        if there is one, loads what it compiles.
    improves
        Whether it runs beside the tree, too: in one thread, from a given schedule.
    """

    cpu: str
    gpu: str | None = None
    improves: bool = False


_HERE = "dpbb.flowshop.heuristics"

HEURISTICS: dict[str, Method] = {
    "neh": Method(f"{_HERE}.plain:neh"),
    "ig": Method("dpbb.modeling.greedy:iterated_greedy", improves=True),
    "beam": Method(f"{_HERE}.beam_cpu:beam", f"{_HERE}.beam_gpu:beam", improves=True),
    "tabu": Method(f"{_HERE}.tabu:tabu", f"{_HERE}.tabu:tabu_gpu", improves=True),
}
"""All heuristics; the option ``heuristics`` takes these names."""


def path_of(name: str, device: str, *, strict: bool = False) -> str:
    """Return where a heuristic is; one without a function for a GPU uses the cores.

    OptionError: there is no such device, or, of those that are strict, no function for
    it.
    """
    one_of(*PROCESSORS).check(device, "device")
    row = HEURISTICS[name]
    if device == "gpu" and row.gpu is None and strict:
        raise OptionError(
            f"device: expected cpu, as the heuristic {name!r} has no function for "
            f"another, got {device!r}"
        )
    return (row.gpu if device == "gpu" else None) or row.cpu


def loaded(path: str, search: Search, start: Incumbent) -> Heuristic:
    """Return the heuristic ``"module:function"``; waits until it is compiled."""
    name, _, function = path.partition(":")
    module = import_module(name)
    if hasattr(module, "load"):
        module.load(search, start)
    return getattr(module, function)


def default_time_s(n_jobs: int, n_machines: int, device: str) -> float:
    """Seconds that ``first_incumbent`` takes unless told otherwise.

    Grows with the instance: 0.3 s at 20x5, 1.2 s at 20x20, 5 s at 50x20 and 10 s at
    100x20. With few machines it is a second for every ten jobs from there on, and 50 at
    most: a beam that proves a shop of 500x20 on two cores may run for 14 s itself, and
    beside the tree it has one core. A GPU, whose beams find more, has a quarter more,
    but 12.5 s from 100x20 on and 20 s from 500x20 on.
    """
    size, many = n_jobs**1.5 * n_machines, n_jobs * (n_machines <= FEW_MACHINES)
    if device == "gpu":
        return min(max(12.5, min(many / 25, 20.0)), max(0.375, size / 1200))
    return min(max(10.0, min(many / 10, 50.0)), max(0.3, size / 1500))


def first_incumbent(problem: FlowShopProblem, wanted: StartSearch) -> Incumbent | None:
    """Find a good schedule quickly; the functions of ``wanted`` are called here.

    Parameters
    ----------
    wanted
        Without a time limit it takes ``default_time_s``. Loading the compiled code, and
        compiling it on the first use after installation, come on top; NumPy searches
        meanwhile, unless there is a limit of iterations, which counts for each
        heuristic that runs. Heuristics that have no function for a GPU use the cores.
        No schedule is below the root's LB1, whatever its ``lower_bound``.

    Notes
    -----
    Up to two machines have Johnson's order, which is optimal, whatever the method.

    Returns
    -------
    Incumbent or None
        The best until ``wanted.end``, or soon after; if the end came before any, the
        jobs in their own order or in Palmer's. None only for ``"none"`` without
        ``initial``.

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
    problem = problem.plain
    root = problem.root_bound
    own = replace(wanted, lower_bound=max(root, wanted.lower_bound or root))
    threads = wanted.threads or physical_cores()
    search = replace(Search.of(problem, own, threads), should_stop=None)
    incumbent = None
    if wanted.initial is not None:
        incumbent = improve(search, None, wanted.initial, "initial")
    if method == Heuristics.NONE or (incumbent is not None and incumbent.proved):
        return incumbent
    if method != Heuristics.AUTO:
        path_of(method, device, strict=True)  # refused before anything runs
    if device == "gpu":
        require_gpu()
    if problem.n_machines <= JOHNSON_MACHINES:
        return johnson(search, incumbent)
    run = _Run(search, wanted, incumbent)
    run.wait_for(_course(run))
    return palmer(search) if run.best is None else run.best


def improve_schedule(
    problem: FlowShopProblem, start: Incumbent, wanted: StartSearch
) -> Incumbent:
    """Improve a schedule beside the tree; see ``dpbb.problem.ImprovesSchedules``.

    OptionError: no such method, or one that does not run beside the tree.
    """
    if wanted.method == Heuristics.AUTO:
        wanted = replace(wanted, initial=start.permutation.tolist())
        return first_incumbent(problem, wanted) or start
    one_of(*problem.plain.improving_methods).check(wanted.method, "method")
    least = wanted.lower_bound or 0
    limit = math.inf if wanted.time_limit_s is None else wanted.time_limit_s
    own = replace(wanted, lower_bound=least, iterations=None)
    search = Search.of(problem.plain, own, deadline=time.monotonic() + limit)
    start = replace(start, proved=start.value <= least)
    heuristic = loaded(path_of(wanted.method, "cpu"), search, start)
    return start if start.proved or search.over else heuristic(search, start)


class Part(NamedTuple):
    """A heuristic that runs by itself or beside others.

    Parameters
    ----------
    until
        True ends it, as the end of the run does.
    """

    heuristic: Callable[[Search, Incumbent | None], Incumbent | None]
    threads: int = 1
    deadline: float = math.inf
    until: Callable[[], bool] = lambda: False


Course = Generator[Sequence[Part]]
"""Groups of heuristics that run one after the other."""


class _Run:
    """Heuristics at work in threads, and the loop that waits for them."""

    def __init__(
        self, search: Search, wanted: StartSearch, best: Incumbent | None
    ) -> None:
        self.search, self.wanted, self.best = search, wanted, best
        self._events: SimpleQueue[Incumbent | Future[Incumbent | None]] = SimpleQueue()
        self._stop = Event()

    def wait_for(self, course: Course) -> None:
        """Run groups of parts one after the other until the last one, or the end.

        What they find is told in this thread. All end with a proof; an error of a part
        ends the others and is raised here.
        """
        end, begun, running = self.wanted.end, list[Future[Incumbent | None]](), 0
        try:
            while True:
                if not running:
                    done = self._stop.is_set() or self._enough()
                    parts = None if done else next(course, None)
                    if parts is None:
                        return
                    begun = [self._begin(part) for part in parts]
                    running = len(parts)
                now = time.monotonic()
                if not self._stop.is_set() and self._enough():
                    self._stop.set()
                    end = min(now + STOP_S, math.inf if end is None else end)
                # nothing at the end is waited for a little longer, but not after a stop
                grace = GRACE_S * (self.best is None and not self._stop.is_set())
                over = end is not None and now >= end + grace
                try:
                    event = self._events.get(timeout=0 if over else POLL_S)
                except Empty:
                    if over:
                        return
                    continue
                if isinstance(event, Future):
                    running -= 1
                    self._take(event.result())
                else:
                    self._take(event)
        finally:
            course.close()
            self._stop.set()
            wait(begun, STOP_S)  # each looks at the stop every few milliseconds

    def _enough(self) -> bool:
        """Whether all is to end."""
        if (self.best is not None and self.best.proved) or self.wanted.should_stop():
            return True
        many = self.search.problem.n_machines > VERY_FEW_MACHINES
        return many and self.wanted.tree_waits()

    def _take(self, found: Incumbent | None) -> None:
        """Tell what is better than all before."""
        if found is None:
            return
        if self.best is None or found.value < self.best.value:
            self.best = found
            self.wanted.on_improvement(found)
        elif found.value == self.best.value and found.proved:
            self.best = replace(self.best, proved=True)

    def _begin(self, part: Part) -> Future[Incumbent | None]:
        start = self.best
        search = replace(
            self.search,
            threads=part.threads,
            deadline=part.deadline,
            on_improvement=self._events.put,
            should_stop=lambda: self._stop.is_set() or part.until(),
            elsewhere=lambda: self.best,
        )
        done = in_daemon(lambda: part.heuristic(search, start), "dpbb-heuristics")
        done.add_done_callback(self._events.put)
        return done


def _course(run: _Run) -> Course:
    """Yield what runs next, side by side, when all that ran before has ended."""
    search, wanted = run.search, run.wanted
    n_jobs, n_machines = search.problem.times.shape
    if n_jobs**2 * n_machines > LARGE:
        yield [Part(palmer)]
    yield [Part(neh)]
    if wanted.method == "neh" or run.best is None:
        return
    limit_s = wanted.time_limit_s
    if limit_s is None:
        limit_s = default_time_s(n_jobs, n_machines, wanted.device)
        if wanted.end is not None:  # a third is for what is compiled
            left = max(wanted.end - time.monotonic(), 0.0)
            limit_s = min(limit_s, left * 2 / 3)
    in_turn = search.threads == 1 or search.iterations is not None
    stages = _stages(wanted.method, wanted.device, n_jobs, n_machines, in_turn=in_turn)
    paths = {n: path_of(n, wanted.device) for names, _ in stages for n in names}
    loads = start_loading(paths, search, run.best)
    spent = 0.0
    try:
        for names, until in stages:
            waited = [loads[name] for name in names]
            yield from _until_loaded(waited, run)
            heuristics = [load.result() for load in waited]
            threads = _shares(search.threads, wanted.device, len(heuristics))
            began = time.monotonic()
            deadline = began + until * limit_s - spent
            yield [
                Part(*part, deadline) for part in zip(heuristics, threads, strict=True)
            ]
            spent += time.monotonic() - began
    finally:
        for load in loads.values():
            load.cancel()


def _stages(
    method: str, device: str, n_jobs: int, n_machines: int, *, in_turn: bool
) -> tuple[tuple[tuple[str, ...], float], ...]:
    """Which heuristics run, several at once, until which share of the time.

    Beams do best with many jobs on at most 20 machines, and prove the optimum where
    that is easy; with few jobs local search does. On a GPU a beam leaves the cores to
    it. Repeatable is only what runs in turn.
    """
    if method != Heuristics.AUTO:
        return (((method,), 1.0),)
    for_beams = n_jobs > FEW_JOBS and n_machines <= FEW_MACHINES
    proves = n_machines <= VERY_FEW_MACHINES
    if in_turn or (device == "cpu" and (for_beams or proves)):
        return (("beam",), 0.85 if for_beams else 0.5), (("ig",), 1.0)
    return ((("ig", "beam"), 1.0),)


def _shares(threads: int, device: str, parts: int) -> list[int]:
    """Divide the threads: a beam on a GPU needs few, other heuristics as many each."""
    others = max(1, threads // (4 if device == "gpu" else parts))
    return [max(1, threads - others * (parts - 1))] + [others] * (parts - 1)


def start_loading(
    paths: Mapping[str, str], search: Search, start: Incumbent
) -> dict[str, Future[Heuristic]]:
    """Load heuristics one after the other in a thread: Numba may compile for seconds.

    ``paths``: by name. Nothing interrupts a compilation, so nobody should have to wait
    for one.
    """
    loads: dict[str, Future[Heuristic]] = {name: Future() for name in paths}

    def load() -> None:
        for name, future in loads.items():
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(loaded(paths[name], search, start))
                except BaseException as error:  # noqa: BLE001 (raised by who waits)
                    future.set_exception(error)

    Thread(target=load, name="dpbb-loading", daemon=True).start()
    return loads


def _until_loaded(loads: Sequence[Future[Heuristic]], run: _Run) -> Course:
    """Yield what runs until all is loaded; of iterations none are spent on it."""

    def ready() -> bool:
        return all(load.done() for load in loads)

    repeatable = run.search.iterations is not None
    meanwhile = [_wait] if repeatable else [_wait, _search_half_the_time]
    if not ready():
        pause = time.monotonic() + NOTE_S
        yield [Part(one, deadline=pause, until=ready) for one in meanwhile]
    if not ready():
        run.wanted.on_note(COMPILING)
        try:
            yield [Part(one, until=ready) for one in meanwhile]
        finally:
            run.wanted.on_note("")


def _search_half_the_time(search: Search, start: Incumbent | None) -> Incumbent:
    stop = half_the_time(lambda: search.over)
    return plain_search(replace(search, should_stop=stop), start)


def _wait(search: Search, start: Incumbent | None) -> Incumbent | None:
    while not search.over:
        time.sleep(POLL_S)
    return start
