"""Tabu search over exchanges of two jobs, by itself and as a heuristic.

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
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.heuristics.tabu_cpu import CpuSearches, Searches
from dpbb.flowshop.heuristics.tabu_gpu import GpuSearches
from dpbb.flowshop.instance import FlowShopInstance, check_columns
from dpbb.flowshop.makespan import makespans
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.heuristics import Search, improve
from dpbb.kernels.cores import physical_cores
from dpbb.kernels.nvrtc import has_gpu, require_gpu
from dpbb.options import DEVICES, DeviceName, Processor
from dpbb.options.kinds import one_of, whole
from dpbb.options.permutations import check_permutation
from dpbb.problem import Incumbent

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


def tabu_search(
    instance: Any,  # whatever names an instance
    start: Any = None,
    *,
    generations: int = 1000,
    tenure: int | None = None,
    searches: int = 1,
    seed: int = 0,
    device: DeviceName = "auto",
    threads: int | None = None,
) -> TabuResult:
    """Improve a schedule by tabu search over exchanges of two jobs.

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
        Generations for which the same two jobs are not exchanged; default: a quarter of
        the jobs, at least 7.
    searches
        How many, side by side.
    seed
        Of the random swaps of further starts.
    device
        ``"cpu"``, ``"gpu"``, or ``"auto"``: a GPU if there is one. Same trajectories.
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
    check_columns(shop, "makespan")
    if tenure is not None:
        whole(0, MOST_TENURE).check(tenure, "tenure")
    whole(0, MOST_GENERATIONS).check(generations, "generations")
    whole(1).check(searches, "searches")
    whole(0).check(seed, "seed")
    if threads is not None:
        whole(1).check(threads, "threads")
    where = _chosen(device)
    starts = make_starts(shop, start, searches, seed)
    run = make_searches(
        shop, starts, generations, where, tenure=tenure, threads=threads
    )
    began = time.perf_counter()
    run.run()
    seconds = time.perf_counter() - began
    # no kernel's word is taken
    values = makespans(shop.times, run.bests.astype(np.intp))
    search = int(values.argmin())
    return TabuResult(
        run.bests[search].astype(np.int64),
        int(values[search]),
        run.history,
        run.moves,
        search,
        run.tenure,
        run.n_neighbours * generations * searches,
        seconds,
        where,
    )


def swap_makespans(
    instance: Any,  # whatever names an instance
    permutation: Any,
    *,
    device: DeviceName = "cpu",
) -> NDArray[np.int32]:
    """Return the makespans after every exchange of two jobs.

    Parameters
    ----------
    instance
        A ``FlowShopInstance``, or what ``dpbb.read_instance`` reads.
    permutation
        All jobs, in the order of processing.
    device
        ``"cpu"``, ``"gpu"`` or ``"auto"``.

    Returns
    -------
    ndarray of int32, shape (n_jobs * (n_jobs - 1) // 2,)
        Of the positions i < j row by row: (0, 1), (0, 2), ..., (n - 2, n - 1).

    Raises
    ------
    InstanceError, OptionError, EngineUnavailable
        As ``dpbb.tabu_search``.
    """
    shop = read_instance(instance)
    check_columns(shop, "makespan")
    starts = make_starts(shop, permutation, 1, 0)
    searches = make_searches(shop, starts, 1, _chosen(device), threads=1)
    return searches.neighbours().astype(np.int32)


def _chosen(device: DeviceName) -> Processor:
    """Return ``"gpu"`` or ``"cpu"``."""
    one_of(*DEVICES).check(device, "device")
    if device == "gpu":
        require_gpu()
    return "gpu" if device != "cpu" and has_gpu() else "cpu"


def make_searches(
    shop: FlowShopInstance,
    starts: NDArray[np.int32],
    generations: int,
    device: str,
    *,
    tenure: int | None = None,
    kept: tuple[int, int] = (0, 0),
    threads: int | None = None,
) -> Searches:
    """Return searches that are ready to run; compilation is over."""
    if tenure is None:
        tenure = max(7, (shop.n_jobs - sum(kept)) // 4)
    how = shop.times, starts, generations, tenure, kept
    if device == "gpu":
        return GpuSearches(*how)
    _load_cpu()
    return CpuSearches(threads or physical_cores(), *how)


def make_starts(
    shop: FlowShopInstance, start: Any, searches: int, seed: int
) -> NDArray[np.int32]:
    """Return a permutation for each search, shape (searches, n_jobs)."""
    if start is None:
        given = [neh(Search(FlowShopProblem(shop), lower_bound=0)).permutation]
    else:
        several = hasattr(start, "__len__") and any(np.ndim(one) for one in start)
        given = [
            np.array(check_permutation(one, "start", shop.n_jobs))
            for one in (start if several else [start])
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
            _swap_some(rng, jobs, 0, shop.n_jobs, some)
    return starts


def _swap_some(
    rng: np.random.Generator, jobs: NDArray[np.int32], first: int, last: int, count: int
) -> None:
    """Exchange some jobs of the positions from ``first`` to ``last`` - 1, in place."""
    for _ in range(count):
        pair = rng.integers(first, last, size=2)
        jobs[pair] = jobs[pair[::-1]]


ROUND = 200
"""Generations of a round."""

GPU_SEARCHES = 264
KICK = 4
"""Random swaps between the incumbent and the start of a search."""


def tabu(
    search: Search, start: Incumbent | None = None, device: Processor = "cpu"
) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) on cores, a search for each thread.

    ``iterations`` are generations. Rounds of searches: the first of a round begins at
    the incumbent, the others apart from it by some random swaps; all do in later
    rounds.
    """
    incumbent = neh(search) if start is None else start
    given = search.problem.given
    shop, kept = given.instance, (len(given.front), len(given.back))
    first, last = kept[0], shop.n_jobs - kept[1]
    if last - first < 2:
        return incumbent
    rng = np.random.default_rng(search.seed)
    left = math.inf if search.iterations is None else search.iterations
    count = GPU_SEARCHES if device == "gpu" else max(1, search.threads)
    alone = 1  # the first search of the first round begins at the incumbent

    def over() -> bool:
        return incumbent.proved or search.over

    while left > 0 and not over():
        sequence = np.array(given.whole(incumbent.permutation), np.int32)
        starts = np.tile(sequence, (count, 1))
        for jobs in starts[alone:]:
            _swap_some(rng, jobs, first, last, KICK)
        alone = 0
        generations = int(min(ROUND, left))
        searches = make_searches(
            shop, starts, generations, device, kept=kept, threads=search.threads
        )

        def take(searches: Searches = searches) -> None:
            nonlocal incumbent
            best = searches.bests[searches.values[:, 1].argmin()]
            found = given.between(best.tolist(), "tabu")
            incumbent = improve(search, incumbent, found, "tabu")

        searches.run(over, take)
        left -= searches.generation
    return incumbent


def tabu_gpu(search: Search, start: Incumbent | None = None) -> Incumbent:
    """As ``tabu``, but ``GPU_SEARCHES`` on a GPU."""
    return tabu(search, start, "gpu")


def load(_search: Search, _start: Incumbent) -> None:
    """Load or compile what runs on cores, so that it takes no time from a search."""
    _load_cpu()


def _load_cpu() -> None:
    shop, starts = np.eye(2, dtype=np.int64), np.array([[0, 1]], np.int32)
    CpuSearches(1, shop, starts, 1, 7).advance(1)
