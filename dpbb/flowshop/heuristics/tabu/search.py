"""Tabu searches: what is given, checked; the loop; what was found.

Source: the swap neighbourhood with shared columns of "Avoiding duplicated computation
to improve the performance of PFSP on CUDA GPUs", against the baseline of Czapinski and
Barnes, J. Parallel Distrib. Comput. 71(6), 2011. In every generation the best neighbour
that is not tabu becomes the parent, also if it is worse; one better than all before is
always allowed; of equal ones that of the smallest index is taken. If all are tabu the
parent stays for a generation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.flowshop.heuristics.tabu.cpu import CpuSearches
from dpbb.flowshop.heuristics.tabu.gpu import GpuSearches
from dpbb.flowshop.heuristics.tabu.state import Rules, Searches, Sharing, State
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.kernels.cores import physical_cores
from dpbb.kernels.nvrtc import has_gpu, require_gpu
from dpbb.options.kinds import member, whole
from dpbb.options.permutations import check_permutation
from dpbb.problem import Incumbent

DEVICES = ("auto", "cpu", "gpu")
MOST_GENERATIONS = 10**9
"""With a tenure they are counted in 32 bits."""

MOST_TENURE = 10**6

STARTS_SWAPS = 0.25
"""Random swaps, as a share of the jobs, that set a further search's start apart."""


@dataclass(frozen=True, slots=True, eq=False)
class TabuResult:
    """What a tabu search has found.

    Parameters
    ----------
    permutation : ndarray of int64, shape (n_jobs,)
        The best of all searches.
    value
        Its makespan.
    history : ndarray of int64, shape (searches, generations + 1)
        Values of the parents, the start first; the best so far is their running
        minimum.
    moves : ndarray of int32, shape (searches, generations)
        Index of the swap that made the parent, -1 where all were tabu: positions (i, j)
        are numbered row by row.
    seconds
        How long the generations took; compilation came before.
    device
        ``"cpu"`` or ``"gpu"``.
    """

    permutation: NDArray[np.int64]
    value: int
    history: NDArray[np.int64]
    moves: NDArray[np.int32]
    search: int
    tenure: int
    neighbours: int
    seconds: float
    device: str

    @property
    def neighbours_per_s(self) -> float:
        """Neighbours evaluated a second."""
        return self.neighbours / max(self.seconds, 1e-9)


def run_searches(
    rules: Rules,
    starts: NDArray[np.int32],
    generations: int,
    device: str = "auto",
    threads: int | None = None,
) -> TabuResult:
    """Run searches here and return what they have found."""
    where = choose_device(device)
    searches = make_searches(rules, starts, generations, where, threads)
    state = searches.state
    began = time.perf_counter()
    run(searches)
    seconds = time.perf_counter() - began
    values = rules.makespans(state.bests)  # no kernel's word is taken
    search = int(values.argmin())
    return TabuResult(
        state.bests[search].astype(np.int64),
        int(values[search]),
        state.history,
        state.moves,
        search,
        rules.tenure,
        rules.n_neighbours * generations * len(starts),
        seconds,
        where,
    )


def run(
    searches: Searches,
    over: Callable[[], bool] = lambda: False,
    on_part: Callable[[], None] = lambda: None,
) -> None:
    """Advance searches until all generations of their state are done, or ``over``.

    ``on_part`` is called whenever some generations are done.
    """
    state = searches.state
    generations = state.moves.shape[1]
    while state.generation < generations and not over():
        searches.advance(min(generations, state.generation + searches.part))
        on_part()


def make_searches(
    rules: Rules,
    starts: NDArray[np.int32],
    generations: int,
    device: str,
    threads: int | None = None,
) -> Searches:
    """Return searches that are ready to run; compilation is over."""
    state = State.of(rules, starts, generations)
    if device == "gpu":
        return GpuSearches(rules, state)
    load_cpu()
    return CpuSearches(rules, state, threads or physical_cores())


def load_cpu() -> None:
    """Load or compile what runs on cores, so that it takes no time from a search."""
    rules = make_rules(FlowShopInstance("load", np.eye(2, dtype=int)))
    CpuSearches(rules, State.of(rules, np.array([[0, 1]], np.int32), 1)).advance(1)


def choose_device(device: str) -> str:
    """Return ``"gpu"`` or ``"cpu"``."""
    if device == "gpu":
        require_gpu()
    return "gpu" if device != "cpu" and has_gpu() else "cpu"


def make_rules(
    shop: FlowShopInstance,
    tenure: int | None = None,
    sharing: str | None = None,
    kept: tuple[int, int] = (0, 0),
) -> Rules:
    """Return the rules of a search; refuses a value that is not allowed."""
    share = None if sharing is None else member(Sharing, sharing, "sharing")
    if tenure is None:
        tenure = max(7, shop.n_jobs // 4)
    whole(0, MOST_TENURE).check(tenure, "tenure")
    return Rules(shop.times, share, int(tenure), kept)


def make_starts(
    shop: FlowShopInstance, start: Any, searches: int, seed: int
) -> NDArray[np.int32]:
    """Return a permutation for each search, shape (searches, n_jobs)."""
    if start is None:
        given = [neh(Search(shop, lower_bound=0)).permutation]
    else:
        given = list(start) if _are_several(start) else [start]
        given = [
            np.array(check_permutation(one, "start", shop.n_jobs)) for one in given
        ]
    if not 1 <= len(given) <= searches:
        raise OptionError(
            f"start: expected at most one for each of {searches} searches, got "
            f"{len(given)}"
        )
    rng = np.random.default_rng(seed)
    starts = np.empty((searches, shop.n_jobs), np.int32)
    for row, jobs in enumerate(starts):
        jobs[:] = given[min(row, len(given) - 1)]
        if row >= len(given):
            some = max(1, int(STARTS_SWAPS * shop.n_jobs))
            swap_some(rng, jobs, 0, shop.n_jobs, some)
    return starts


def swap_some(
    rng: np.random.Generator, jobs: NDArray[np.int32], first: int, last: int, count: int
) -> None:
    """Exchange some jobs of the positions from ``first`` to ``last`` - 1, in place."""
    for _ in range(count):
        pair = rng.integers(first, last, size=2)
        jobs[pair] = jobs[pair[::-1]]


def _are_several(start: object) -> bool:
    """Whether these are permutations, and not one."""
    try:
        return np.ndim(start) == 2  # type: ignore[arg-type]
    except ValueError:  # rows of different lengths
        return True


ROUND = 200
"""Generations of a round."""

GPU_SEARCHES = 264
KICK = 4
"""Random swaps between the incumbent and the start of a search."""


def tabu(
    search: Search, start: Incumbent | None = None, device: str = "cpu"
) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) on cores, a search for each thread.

    ``iterations`` are generations. Rounds of searches: the first of a round begins at
    the incumbent, the others apart from it by some random swaps; all do in later
    rounds.
    """
    incumbent = neh(search) if start is None else start
    first, last = search.kept[0], search.instance.n_jobs - search.kept[1]
    if last - first < 2:
        return incumbent
    rules = make_rules(search.instance, kept=search.kept)
    rng = np.random.default_rng(search.seed)
    left = math.inf if search.iterations is None else search.iterations
    count = GPU_SEARCHES if device == "gpu" else max(1, search.threads)
    alone = 1  # the first search of the first round begins at the incumbent

    def over() -> bool:
        return incumbent.proved or search.over

    while left > 0 and not over():
        starts = np.tile(incumbent.permutation.astype(np.int32), (count, 1))
        for jobs in starts[alone:]:
            swap_some(rng, jobs, first, last, KICK)
        alone = 0
        generations = int(min(ROUND, left))
        searches = make_searches(rules, starts, generations, device, search.threads)

        def take(state: State = searches.state) -> None:
            nonlocal incumbent
            best = state.bests[state.values[:, 1].argmin()]
            incumbent = improve(search, incumbent, best, "tabu")

        run(searches, over, take)
        left -= searches.state.generation
    return incumbent


def tabu_gpu(search: Search, start: Incumbent | None = None) -> Incumbent:
    """As ``tabu``, but ``GPU_SEARCHES`` on a GPU."""
    return tabu(search, start, "gpu")


def load(_search: Search, _start: Incumbent) -> None:
    """Load or compile what runs on cores, so that it takes no time from a search."""
    load_cpu()
