"""Chains of a local-search heuristic on all cores, which share what they find.

One chain a thread, in rounds of a fixed number of iterations. Now and then the chain
that is worst goes on from the best schedule of all. So everything but the number of
rounds is a function of the instance, the start, the seed and the threads. In every
iteration something is taken out of the schedule, put back elsewhere and searched
locally; the heuristics differ in what they take out and how (``Moves``).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.insertion_lanes import (
    NOBODY,
    Room,
    bit,
    evaluate_block,
    least_cost,
    local_search,
    narrowest,
    pick,
    put,
)
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.heuristics.search import (
    Search,
    improve,
    random_state,
    tiny_searches,
    wait_for,
)
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.pointers import Ints, Words, addresses, pointers
from dpbb.kernels.scalar import atomic_load
from dpbb.kernels.sequences import insert, random_below, remove
from dpbb.problem import Incumbent

JOBS = 0
"""Single jobs, all at once; a local search without them; then one by one back."""

BLOCK = 1
"""As JOBS, but at most so many consecutive jobs, which stay together."""

RECURSIVE = 2
"""At most so many single jobs, each put elsewhere before the next is taken out."""


class Moves(NamedTuple):
    """What a chain does.

    Parameters
    ----------
    kind
        What is taken out in an iteration: ``JOBS``, ``BLOCK`` or ``RECURSIVE``.
    removed
        How many jobs, or at most how many.
    temperature
        Of the acceptance, in tenths of the mean processing time.
    """

    kind: int
    removed: int
    temperature: float = 0.7


class Chain(NamedTuple):
    """One chain, changed in place by compiled code.

    Parameters
    ----------
    room : Room
        The instance, and scratch memory.
    limit
        No schedule with a longer makespan is gone on from.
    target
        A schedule of this makespan ends the chain.
    moves : Moves
        What it does; the temperature in time units.
    current, best, trial : ndarray of int64, shape (n_jobs + 1,)
        The chain's sequence, the best one it has seen, and scratch memory.
    out : ndarray of int64, shape (n_jobs,)
        Jobs that are taken out.
    values : ndarray of int64, shape (2,)
        Makespans of ``current`` and ``best``.
    rng : ndarray of uint64, shape (1,)
        Pseudo-random stream.
    stop : ndarray of int64, shape (1,)
        Set from outside to end what runs.
    """

    room: Room
    limit: int
    target: int
    moves: Moves
    current: Ints
    best: Ints
    trial: Ints
    out: Ints
    values: Ints
    rng: Words
    stop: Ints

    @classmethod
    def start(
        cls,
        search: Search,
        incumbent: Incumbent,
        moves: Moves,
        stream: int,
        stop: NDArray[np.int64],
    ) -> Chain:
        """Return a chain at an incumbent, with a pseudo-random stream of its own."""
        problem, n_jobs = search.problem, search.problem.n_jobs
        dtype, limit = narrowest(problem, incumbent.value, moves.removed)
        temperature = moves.temperature * float(problem.times.mean()) / 10
        sequence = np.zeros(n_jobs + 1, np.int64)
        sequence[:n_jobs] = incumbent.permutation
        return cls(
            Room.of(problem, dtype),
            limit,
            search.lower_bound,
            moves._replace(temperature=max(temperature, 1e-9)),
            sequence,
            sequence.copy(),
            sequence.copy(),
            np.zeros(n_jobs, np.int64),
            np.full(2, incumbent.value, np.int64),
            random_state(search.seed, 1 + stream),
            stop,
        )

    def restart(self, permutation: NDArray[np.integer[Any]], value: int) -> None:
        """Go on from another schedule, which is no worse than the best so far."""
        self.current[:-1] = self.best[:-1] = permutation
        self.values[:] = value


ROUND_OPERATIONS = 40_000_000
"""Iterations x n_jobs^2 x n_machines of one round: some 50 ms."""

SHARED_ROUNDS = 40
"""Rounds after which the worst chain goes on from the best schedule."""

MOST_REMOVED = 6
"""Jobs that any of the methods takes out at a time."""


def iterated_greedy(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` by IG_all, with local search on partial sequences.

    Source: Dubois-Lacoste, Pagnozzi and Stuetzle, Computers & Operations Research 81,
    2017, after Ruiz and Stuetzle, EJOR 177(3), 2007. Difference, of the others, too:
    the local search looks at many jobs at a time and makes the best move.
    """
    return run_chains(search, start, Moves(JOBS, removed=2), "ig")


def block_insertion(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` by VBIH, variable block insertion.

    Source: Kizilay, Tasgetiren, Pan and Gao, Algorithms 12(5):100, 2019. Difference:
    the size of the block is random.
    """
    return run_chains(search, start, Moves(BLOCK, removed=6), "vbih")


def iterated_local_search(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` by iterated local search with recursive k-insert.

    Source: Deroussi, Gourgand and Norre, *New effective neighborhoods for the
    permutation flow shop problem*, 2006. Differences: the place of a job must be
    another one, so that this is what leaves a local optimum; k is random.
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
        The chains start here.
    """
    incumbent = neh(search) if start is None else start
    n_jobs, n_machines = search.problem.times.shape
    moves = moves._replace(removed=min(moves.removed, n_jobs - 1))
    each = max(1, ROUND_OPERATIONS // (n_jobs**2 * n_machines))
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
            running = [pool.submit(_advance, chain, now) for chain in chains]
            wait_for(running, search, stop)
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
    value, outs = start.value, (0, MOST_REMOVED)
    lanes = [narrowest(search.problem, value, out)[0] for out in outs]
    for tiny, schedule in tiny_searches(lanes):
        chain = Chain.start(tiny, schedule, Moves(JOBS, 2), 0, np.zeros(1, np.int64))
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


@entry
def iterate(chain_in: Chain, lane: np.signedinteger[Any], iterations: int) -> int:
    """Advance a chain, whose arrays are changed in place; return how many were done.

    Parameters
    ----------
    chain_in, lane
        The chain with addresses, and any integer of its room's element type.
    iterations
        Ends earlier at the chain's target and when it is stopped, which cuts an
        iteration short.
    """
    chain = pointers(chain_in, lane)
    n_jobs = int64(chain.room.n_jobs)
    for done in range(iterations):
        if chain.values[1] <= chain.target:
            return done
        for i in range(n_jobs):
            chain.trial[i] = chain.current[i]
        if chain.moves.kind == RECURSIVE:
            reinsert_in_turn(chain)
        else:
            rebuild(chain, chain.moves.kind == BLOCK)
        value = local_search(chain.room, chain.trial, n_jobs, chain.rng, chain.stop)
        if atomic_load(chain.stop, int64(0)):
            return done
        accept(chain, value)
    return iterations


@helper
def rebuild(chain: Chain, together: bool) -> None:
    """Take jobs out of the trial, search locally without them, put them back."""
    room, trial, out, rng = chain.room, chain.trial, chain.out, chain.rng
    length = int64(room.n_jobs)
    size = int64(chain.moves.removed)
    if together:
        size = min(1 + random_below(rng, size), length - 1)
        place = random_below(rng, length - size + 1)
    for i in range(size):
        if not together:
            place = random_below(rng, length)
        out[i] = remove(trial, length, place)
        length -= 1
    local_search(room, trial, length, rng, chain.stop)
    if together:
        nobody = bit(int64(NOBODY))
        evaluate_block(room, trial, length, out, size)
        value = least_cost(room, length, nobody)
        _, slot = pick(room, length, nobody, value, rng)
        for i in range(size):
            insert(trial, length + i, slot + i, out[i])
    else:
        for i in range(size):
            put(room, trial, length + i, int64(out[i]), int64(-1), rng)


@helper
def reinsert_in_turn(chain: Chain) -> None:
    """Take jobs out of the trial one after the other, each to its best other place."""
    room, trial, rng = chain.room, chain.trial, chain.rng
    n_jobs = int64(room.n_jobs)
    for _ in range(1 + random_below(rng, chain.moves.removed)):
        place = random_below(rng, n_jobs)
        job = remove(trial, n_jobs, place)
        put(room, trial, n_jobs - 1, job, place, rng)


@helper
def accept(chain: Chain, value: int) -> None:
    """Go on from the trial if it is no worse, or as the temperature allows."""
    worse = value - chain.values[0]
    uniform = random_below(chain.rng, int64(1 << 30)) / (1 << 30)
    if worse > 0 and uniform >= np.exp(-worse / chain.moves.temperature):
        return
    if value > chain.limit:
        return
    for i in range(chain.room.n_jobs):
        chain.current[i] = chain.trial[i]
    chain.values[0] = value
    if value < chain.values[1]:
        for i in range(chain.room.n_jobs):
            chain.best[i] = chain.trial[i]
        chain.values[1] = value
