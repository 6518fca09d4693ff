"""Tabu search as a heuristic of the table: rounds of searches from the incumbent.

One search a thread, or many on a GPU, over insertions. The first of a round begins at
the incumbent, the others apart from it by some random swaps; all do in later rounds.
"""

import numpy as np

from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.flowshop.heuristics.tabu.search import make_rules, make_search, swap_some
from dpbb.flowshop.heuristics.tabu.state import Neighbourhood, State
from dpbb.problem import Incumbent

ROUND = 200
"""Generations of a round."""

GPU_SEARCHES = 264
KICK = 4
"""Random swaps between the incumbent and the start of a search."""


def tabu(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) on cores, a search for each thread.

    ``iterations`` are generations.
    """
    return _rounds(search, start, "cpu", max(1, search.threads))


def tabu_gpu(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) on a GPU."""
    return _rounds(search, start, "gpu", GPU_SEARCHES)


def load(_search: Search, _start: Incumbent) -> None:
    """Load or compile what runs on cores, so that it takes no time from a search."""
    from dpbb.flowshop.instance import FlowShopInstance

    tiny = make_rules(FlowShopInstance("load", np.eye(3, 2, dtype=int)), 1)
    make_search(tiny, np.array([[0, 1, 2]], np.int32), "cpu", 1)


def _rounds(
    search: Search, start: Incumbent | None, device: str, searches: int
) -> Incumbent:
    incumbent = neh(search) if start is None else start
    n_jobs = search.instance.n_jobs
    first, last = search.kept[0], n_jobs - search.kept[1]
    if last - first < 2:
        return incumbent
    rules = make_rules(
        search.instance, neighbourhood=Neighbourhood.INSERT, kept=search.kept
    )
    rng = np.random.default_rng(search.seed)
    left = search.iterations
    begun = False
    while not (incumbent.proved or search.over) and (left is None or left > 0):
        generations = ROUND if left is None else min(ROUND, left)
        starts = np.tile(incumbent.permutation.astype(np.int32), (searches, 1))
        for jobs in starts[0 if begun else 1 :]:
            swap_some(rng, jobs, first, last, KICK)
        begun = True

        def take(state: State) -> None:
            nonlocal incumbent
            best = state.bests[state.values[:, 1].argmin()]
            incumbent = improve(search, incumbent, best, "tabu")

        state = State.of(rules, starts, generations)
        make_search(rules, starts, device, search.threads, index=search.device).run(
            state, generations, lambda: incumbent.proved or search.over, take
        )
        if left is not None:
            left -= state.generation
    return incumbent
