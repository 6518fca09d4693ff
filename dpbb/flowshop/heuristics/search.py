"""What every heuristic is given and gives back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbb.errors import OptionError
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options.kinds import one_of
from dpbb.options.permutations import check_permutation
from dpbb.problem import Incumbent

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What a heuristic searches, and its limits; the same for all of them.

    Parameters
    ----------
    problem
        The flow shop to schedule; with given ends its jobs are those between.
    lower_bound
        A schedule of this makespan is optimal: stop there.
    deadline
        ``time.monotonic()`` at which to stop, in seconds.
    threads
        Number of threads to use, at least 1.
    seed
        Start of all pseudo-random choices, at least 0.
    iterations
        Steps of the method's own kind after which to stop; None: no such limit. With
        one thread, a seed and this limit a search can be repeated exactly.
    on_improvement, should_stop
        As of ``dpbb.problem.StartSearch``.
    elsewhere
        Returns the best incumbent of all searches that run at once, if there is one;
        asked now and then.
    """

    problem: FlowShopProblem
    lower_bound: int
    deadline: float = math.inf
    threads: int = 1
    seed: int = 0
    iterations: int | None = None
    on_improvement: Callable[[Incumbent], None] | None = None
    should_stop: Callable[[], bool] | None = None
    elsewhere: Callable[[], Incumbent | None] | None = None

    @property
    def over(self) -> bool:
        """Whether the time is up or a stop was asked for."""
        if time.monotonic() >= self.deadline:
            return True
        return self.should_stop is not None and self.should_stop()

    @property
    def machine_times(self) -> NDArray[np.int32]:
        """Processing times of the jobs, shape (n_machines, n_jobs)."""
        return np.ascontiguousarray(self.problem.times.T, dtype=np.int32)

    def latest(self, own: Incumbent) -> Incumbent:
        """Return a better incumbent than one's own if there is one elsewhere."""
        other = None if self.elsewhere is None else self.elsewhere()
        return own if other is None or other.value >= own.value else other


Heuristic = Callable[[Search, Incumbent | None], Incumbent]
"""From a task and an incumbent to a better incumbent or the same.

It runs until it is done, a limit, or an incumbent that is proved optimal.
"""


def improve(
    search: Search, old: Incumbent | None, permutation: ArrayLike, source: str
) -> Incumbent:
    """Return the new schedule, announced, if it is better than ``old``; else ``old``.

    The makespan is computed here, from the instance: no kernel's word is taken.
    """
    order = check_permutation(permutation, n_jobs=search.problem.n_jobs)
    jobs = np.array(order, np.intp)
    value = search.problem.evaluate(jobs)
    if old is not None and value >= old.value:
        return old
    new = Incumbent(value, jobs, source, proved=value <= search.lower_bound)
    if search.on_improvement is not None:
        search.on_improvement(new)
    return new


def random_state(seed: int, stream: int) -> NDArray[np.uint64]:
    """Return the state of one pseudo-random stream, shape (1,), never zero."""
    state = np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)
    return state | np.uint64(1)


POLL_S = 0.005
"""How often limits are looked at while heuristics run in threads."""


def wait_for(
    running: Sequence[Future[Found]], search: Search, stop: NDArray[np.int64]
) -> list[Found]:
    """Return what threads find; set ``stop[0]`` as soon as a limit is reached."""
    try:
        while wait(running, POLL_S).not_done and not search.over:
            pass
    finally:
        stop[0] = 1  # an exception must not leave them running
    return [future.result() for future in running]


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
    "ig": Method(f"{_HERE}.chains:iterated_greedy", improves=True),
    "vbih": Method(f"{_HERE}.chains:block_insertion", improves=True),
    "ils": Method(f"{_HERE}.chains:iterated_local_search", improves=True),
    "beam": Method(f"{_HERE}.beam_cpu:beam", f"{_HERE}.beam_gpu:beam", improves=True),
    "tabu": Method(f"{_HERE}.tabu:tabu", f"{_HERE}.tabu:tabu_gpu", improves=True),
}
"""All heuristics; the option ``heuristics`` takes these names."""

DEVICES = ("cpu", "gpu")
"""Kinds of devices that a ``Method`` may have a function for."""


def path_of(name: str, device: str, *, strict: bool = False) -> str:
    """Return where a heuristic is; one without a function for a GPU uses the cores.

    OptionError: there is no such device, or, of those that are strict, no function for
    it.
    """
    one_of(*DEVICES).check(device, "device")
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


def tiny_searches(
    lanes: Iterable[type[np.signedinteger[Any]]],
) -> Iterator[tuple[Search, Incumbent]]:
    """Yield a search of milliseconds, two iterations, for each of these integers.

    ``lanes``: ``int16``, or ``int32``, which the times of the shop are made too large
    for.
    """
    times = np.random.default_rng(0).integers(1, 9, (5, 3))
    for lane in set(lanes):
        scale = 1 if lane is np.int16 else np.iinfo(np.int16).max
        shop = FlowShopProblem(FlowShopInstance("load", times * scale))
        search = Search(shop, 0, iterations=2)
        yield search, improve(search, None, range(5), "load")
