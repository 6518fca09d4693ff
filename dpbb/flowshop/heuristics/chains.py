"""Chains of a local-search heuristic on all cores, which share what they find.

One chain a thread, in rounds of a fixed number of iterations. Now and then the chain
that is worst goes on from the best schedule of all. So everything but the number of
rounds is a function of the instance, the start, the seed and the threads.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.chain import BLOCK, JOBS, RECURSIVE, Chain, Moves
from dpbb.flowshop.heuristics.insertion_lanes import narrowest
from dpbb.flowshop.heuristics.loading import tiny_searches
from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.search import Search, improve, machine_times
from dpbb.flowshop.heuristics.steps import iterate
from dpbb.kernels.pointers import addresses
from dpbb.problem import Incumbent

ROUND_OPERATIONS = 40_000_000
"""Iterations x n_jobs^2 x n_machines of one round: some 50 ms."""

SHARED_ROUNDS = 40
"""Rounds after which the worst chain goes on from the best schedule."""

MOST_REMOVED = 6
"""Jobs that any of the methods takes out at a time."""

POLL_S = 0.005
"""How often limits are looked at while the chains run."""


def iterated_greedy(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` by IG_all, with local search on partial sequences.

    Source: Dubois-Lacoste, Pagnozzi and Stuetzle, Computers & Operations Research 81,
    2017, after Ruiz and Stuetzle, EJOR 177(3), 2007: take two random jobs out, search
    locally without them, put them back one by one, search locally again, accept as at
    a constant temperature. Differences: the local search looks at many jobs at a time
    and makes the best move; one chain per thread.
    """
    return run_chains(search, start, Moves(JOBS, removed=2), "ig")


def block_insertion(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` by VBIH, variable block insertion.

    Source: Kizilay, Tasgetiren, Pan and Gao, Algorithms 12(5):100, 2019: take some
    consecutive jobs out, search locally without them, insert them together at the best
    place, search locally again, accept as at a constant temperature. Differences: the
    size of the block is random; local search and chains as in ``iterated_greedy``.
    """
    return run_chains(search, start, Moves(BLOCK, removed=6), "vbih")


def iterated_local_search(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` by iterated local search with recursive k-insert.

    Source: Deroussi, Gourgand and Norre, *New effective neighborhoods for the
    permutation flow shop problem*, 2006: k jobs in turn are taken out and each
    reinserted at its best place, from the sequence that the ones before have changed.
    Differences: the place must be another one, so that this is what leaves a local
    optimum; k is random; local search and chains as in ``iterated_greedy``.
    """
    moves = Moves(RECURSIVE, removed=3, temperature=0.5)
    return run_chains(search, start, moves, "ils")


def run_chains(
    search: Search, start: Incumbent | None, moves: Moves, source: str
) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) until a limit or the lower bound.

    Parameters
    ----------
    search
        Its iterations count for every chain.
    start
        The chains start here; of it the kept jobs stay.
    moves
        What the chains do.
    source
        Name of what is found.
    """
    incumbent = neh(search) if start is None else start
    free = search.instance.n_jobs - sum(search.kept)
    if free <= moves.removed:
        moves = moves._replace(removed=max(free - 1, 0))
    size = search.instance.n_jobs * free * search.instance.n_machines
    each = max(1, ROUND_OPERATIONS // max(size, 1))
    left = search.iterations
    stop = np.zeros(1, np.int64)
    chains = [
        Chain.start(search, incumbent, moves, index, stop)
        for index in range(search.threads)
    ]
    rounds = 0
    with ThreadPoolExecutor(search.threads, f"dpbb-{source}") as pool:
        while moves.removed > 0 and not incumbent.proved and not search.over:
            now = each if left is None else min(each, left)
            if now == 0:
                break
            left = None if left is None else left - now
            try:
                running = [pool.submit(_advance, chain, now) for chain in chains]
                _wait(search, running, stop)
            finally:
                stop[0] = 1  # an exception must not leave the chains running
            stop[0] = 0
            chain = min(chains, key=lambda chain: int(chain.values[1]))
            incumbent = improve(search, incumbent, chain.best[:-1], source)
            rounds += 1
            latest = search.latest(incumbent)
            if latest is not incumbent:
                incumbent = latest
                _worst(chains).restart(incumbent.permutation, incumbent.value)
            elif rounds % SHARED_ROUNDS == 0:
                _share(chains)
    return incumbent


def load(search: Search, start: Incumbent) -> None:
    """Load or compile the kernels, so that it takes no time from a search."""
    times = machine_times(search)
    lanes = [narrowest(times, start.value, out)[0] for out in (0, MOST_REMOVED)]
    for tiny, schedule in tiny_searches(lanes):
        chain = Chain.start(tiny, schedule, Moves(0), 0, np.zeros(1, np.int64))
        _advance(chain, 1)


def _advance(chain: Chain, iterations: int) -> None:
    lane = chain.room.times.dtype.type(0)
    iterate(addresses(chain), lane, iterations)


def _worst(chains: list[Chain]) -> Chain:
    return max(chains, key=lambda chain: int(chain.values[0]))


def _share(chains: list[Chain]) -> None:
    """Let the chain that stands worst go on from the best schedule of all."""
    best, worst = min(chains, key=lambda chain: int(chain.values[1])), _worst(chains)
    if worst.values[0] > best.values[1]:
        worst.restart(best.best[:-1], int(best.values[1]))


def _wait(search: Search, running: list[Future[None]], stop: NDArray[np.int64]) -> None:
    """Wait for a round; set ``stop`` as soon as a limit is reached."""
    pending = set(running)
    while pending:
        left = search.deadline - time.monotonic()
        pending = wait(pending, timeout=max(0.0, min(POLL_S, left))).not_done
        if pending and search.over:
            stop[0] = 1
            pending = wait(pending).not_done
    for future in running:
        future.result()
