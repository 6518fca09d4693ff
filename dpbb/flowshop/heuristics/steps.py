"""The iterations of the local-search heuristics, compiled.

All take something out of the chain's schedule, put it back elsewhere and search
locally; they differ in what they take out and how (``Moves``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbb.flowshop.heuristics.chain import BLOCK, RECURSIVE, Chain
from dpbb.flowshop.heuristics.insertion_lanes import (
    NOBODY,
    bit,
    evaluate_block,
    insert,
    least_cost,
    local_search,
    pick,
    put,
    random_below,
    remove,
)
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.pointers import pointers
from dpbb.kernels.scalar import atomic_load


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
    n_jobs = chain.room.n_jobs
    for done in range(iterations):
        if chain.values[1] <= chain.target:
            return done
        for i in range(n_jobs):
            chain.trial[i] = chain.current[i]
        if chain.moves.kind == RECURSIVE:
            reinsert_in_turn(chain)
        else:
            rebuild(chain, chain.moves.kind == BLOCK)
        value = search_locally(chain, n_jobs)
        if atomic_load(chain.stop, int64(0)):
            return done
        accept(chain, value)
    return iterations


@helper
def rebuild(chain: Chain, together: bool) -> None:
    """Take jobs out of the trial, search locally without them, put them back."""
    room, trial, out, rng = chain.room, chain.trial, chain.out, chain.rng
    length = int64(room.n_jobs)
    last = int64(chain.last)
    size = int64(chain.moves.removed)
    if together:
        size = min(1 + random_below(rng, size), last - chain.first - 1)
        place = chain.first + random_below(rng, last - chain.first - size + 1)
    for i in range(size):
        if not together:
            place = chain.first + random_below(rng, last - chain.first)
        out[i] = remove(trial, length, place)
        length -= 1
        last -= 1
    search_locally(chain, length)
    if together:
        first, nobody = int64(chain.first), bit(int64(NOBODY))
        evaluate_block(room, trial, length, first, last, out, size)
        value = least_cost(room, first, last, nobody)
        _, slot = pick(room, first, last, nobody, value, rng)
        for i in range(size):
            insert(trial, length + i, slot + i, out[i])
    else:
        for i in range(size):
            put(
                room,
                trial,
                length + i,
                int64(chain.first),
                last + i,
                int64(out[i]),
                int64(-1),
                rng,
            )


@helper
def reinsert_in_turn(chain: Chain) -> None:
    """Take jobs out of the trial one after the other, each to its best other place."""
    room, trial, rng = chain.room, chain.trial, chain.rng
    first, last, n_jobs = int64(chain.first), int64(chain.last), int64(room.n_jobs)
    for _ in range(1 + random_below(rng, chain.moves.removed)):
        place = first + random_below(rng, last - first)
        job = remove(trial, n_jobs, place)
        put(room, trial, n_jobs - 1, first, last - 1, job, place, rng)


@helper
def search_locally(chain: Chain, length: int) -> int:
    """Search from the trial, of which the first jobs are there; return its makespan."""
    return local_search(
        chain.room,
        chain.trial,
        int64(length),
        int64(chain.first),
        int64(chain.last) - (chain.room.n_jobs - length),
        float(chain.moves.patience),
        chain.rng,
        chain.stop,
    )


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
