"""IG_all: iterated greedy with local search on partial sequences, on all cores.

Source: Dubois-Lacoste, Pagnozzi and Stuetzle, Computers & Operations Research 81,
2017, after Ruiz and Stuetzle, EJOR 177(3), 2007: take ``REMOVED`` random jobs out,
search locally without them, put them back one by one, search locally again, accept as
at a constant temperature. Difference: one independent chain per thread.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpbb.flowshop.heuristics.insertion import (
    best_insertion,
    fill_tables,
    insert,
    jit,
    local_search,
    random_below,
    remove,
    workspace,
)
from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.search import (
    Search,
    improve,
    machine_times,
    random_state,
)
from dpbb.flowshop.instance import FlowShopInstance

if TYPE_CHECKING:
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from dpbb.flowshop.heuristics.insertion import Flag, Ints, Random
    from dpbb.problem import Incumbent

REMOVED = 2
"""Jobs taken out in every iteration (d of the paper)."""

TEMPERATURE = 0.7
"""Acceptance temperature, in tenths of the mean processing time (tau)."""

ROUND_OPERATIONS = 1_000_000
"""Iterations x n_jobs^2 x n_machines of one round: about 20 ms."""

POLL_S = 0.02
"""How often limits are looked at while the chains run."""


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """State of one chain, changed in place by ``iterate``.

    Parameters
    ----------
    current, best : ndarray of int32, shape (n_jobs,)
        The chain's sequence and the best one it has seen.
    values : ndarray of int64, shape (2,)
        Their makespans.
    rng : ndarray of uint64, shape (1,)
        Pseudo-random stream.
    """

    current: NDArray[np.int32]
    best: NDArray[np.int32]
    values: NDArray[np.int64]
    rng: NDArray[np.uint64]

    @classmethod
    def start(cls, incumbent: Incumbent, rng: NDArray[np.uint64]) -> Chain:
        """Return a chain at an incumbent."""
        sequence = incumbent.permutation.astype(np.int32)
        values = np.full(2, incumbent.value, dtype=np.int64)
        return cls(sequence.copy(), sequence, values, rng)


def iterated_greedy(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) until a limit or the lower bound.

    Notes
    -----
    The chains run in rounds of a fixed number of iterations, so that everything but
    the number of rounds is a function of the instance, the seed and the threads.
    """
    incumbent = neh(search) if start is None else start
    times = machine_times(search)
    n_machines, n_jobs = times.shape
    iterations = max(1, ROUND_OPERATIONS // (n_jobs * n_jobs * n_machines))
    temperature = max(TEMPERATURE * float(times.mean()) / 10, 1e-9)
    target = search.lower_bound
    stop = np.zeros(1, dtype=np.uint8)
    chains = [
        Chain.start(incumbent, random_state(search.seed, 1 + index))
        for index in range(search.threads)
    ]

    def advance(chain: Chain) -> None:
        state = chain.current, chain.best, chain.values, chain.rng
        iterate(times, *state, temperature, iterations, target, stop)

    with ThreadPoolExecutor(search.threads, "dpbb-ig") as pool:
        while n_jobs > REMOVED and not incumbent.proved and not search.over:
            try:
                _wait(search, [pool.submit(advance, chain) for chain in chains], stop)
            finally:
                stop[0] = 1  # an exception must not leave the chains running
            stop[0] = 0
            chain = min(chains, key=lambda chain: int(chain.values[1]))
            incumbent = improve(search, incumbent, chain.best, "ig")
    return incumbent


def load() -> None:
    """Load or compile the kernels, so that it takes no time from a search."""
    incumbent = neh(Search(FlowShopInstance("load", np.eye(3, 2, dtype=int)), 0))
    chain = Chain.start(incumbent, random_state(0, 0))
    state = chain.current, chain.best, chain.values, chain.rng
    times = np.zeros((2, 3), dtype=np.int32)
    iterate(times, *state, 1.0, 1, 0, np.zeros(1, dtype=np.uint8))


def _wait(search: Search, running: list[Future[None]], stop: NDArray[np.uint8]) -> None:
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


@jit
def iterate(
    times: Ints,
    current: Ints,
    best: Ints,
    values: NDArray[np.int64],
    rng: Random,
    temperature: float,
    iterations: int,
    target: int,
    stop: Flag,
) -> None:
    """Advance one chain, whose state (see ``Chain``) is changed in place.

    Ends at once when its best makespan is at most ``target``, and, cutting the
    iteration under way short, when ``stop[0]`` is set from outside.
    """
    n_jobs = len(current)
    scratch = workspace(times.shape[0], n_jobs)
    trial = np.empty_like(current)
    out = np.empty(REMOVED, np.int32)
    for _ in range(iterations):
        if values[1] <= target or stop[0]:
            return
        trial[:] = current
        length = n_jobs
        for i in range(REMOVED):
            out[i] = remove(trial, length, random_below(rng, length))
            length -= 1
        value = fill_tables(times, trial, length, scratch)
        value = local_search(times, trial, length, value, rng, stop, scratch)
        for job in out:
            value, position = best_insertion(times, trial, length, job, rng, scratch)
            insert(trial, length, position, job)
            length += 1
        value = local_search(times, trial, length, value, rng, stop, scratch)
        worse = value - values[0]
        uniform = random_below(rng, 1 << 30) / (1 << 30)
        if worse <= 0 or uniform < np.exp(-worse / temperature):
            current[:] = trial
            values[0] = value
            if value < values[1]:
                best[:] = trial
                values[1] = value
