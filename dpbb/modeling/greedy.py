"""An iterated greedy search with the compiled text of a model, on all cores.

Sources: Ruiz and Stuetzle, EJOR 177(3), 2007: some jobs are taken out, put back one
after the other where each costs least, then the sequence is searched locally. With few
jobs it is searched without them first (Dubois-Lacoste, Pagnozzi and Stuetzle, Computers
& Operations Research 81, 2017); of many each is put elsewhere before the next is taken
out (Deroussi, Gourgand and Norre, *New effective neighborhoods for the permutation flow
shop problem*, 2006). Difference: the local search looks at many jobs at a time and
makes the best move (``dpbb.modeling.insertions``). Where sides do not join it takes one
job after the other (``dpbb.modeling.fronts``), and of any number jobs are taken out at
once.

One chain a thread, in rounds of a fixed number of iterations. Now and then the chain
that is worst goes on from the best permutation of all; from a better one that is found
elsewhere all do. So everything but the number of rounds, and what is found elsewhere,
is a function of the instance, the start, the seed and the threads.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.heuristics import (
    COMPILING,
    MOST_S,
    NOTE_S,
    POLL_S,
    AnyProblem,
    Search,
    deadline_of,
    half_the_time,
    improve,
    random_state,
    wait_for,
)
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.cores import in_daemon, physical_cores
from dpbb.kernels.pointers import Ints, Words, addresses, pointers
from dpbb.kernels.scalar import atomic_load
from dpbb.kernels.sequences import random_below, remove
from dpbb.modeling import cpu, fronts
from dpbb.modeling.insertions import Room, joined, local_search, narrowest, put
from dpbb.modeling.model import Model, text_of
from dpbb.modeling.node_lanes import LANES
from dpbb.options import Heuristics
from dpbb.problem import Incumbent, StartSearch

logger = logging.getLogger(__name__)

FEW_JOBS = 60
"""Up to here jobs are taken out at once, beyond it in turn."""

REMOVED = 3
"""Jobs that are taken out at a time, at most."""

TEMPERATURE = 0.05
"""Of the acceptance: this share of the cost, divided by the number of jobs."""

ROUND_OPERATIONS = 30_000_000
"""Values that the iterations of a round change, about: some 50 ms."""

SHARED_ROUNDS = 40
"""Rounds after which the worst chain goes on from the best permutation."""


class Chain(NamedTuple):
    """One search, changed in place by compiled code.

    Parameters
    ----------
    room : Room
        The instance, and scratch memory.
    limit
        No permutation of a larger cost is gone on from.
    target
        A permutation of this cost ends the chain.
    in_turn
        1: jobs are taken out in turn, at most ``removed``. 0: so many at once.
    removed
        See there.
    temperature
        Of the acceptance, in units of the cost.
    current, best, trial : ndarray of int64, shape (n_jobs + 1,)
        The chain's sequence, the best one it has seen, and scratch memory.
    out : ndarray of int64, shape (n_jobs,)
        Jobs that are taken out.
    values : ndarray of int64, shape (2,)
        Costs of ``current`` and ``best``.
    rng : ndarray of uint64, shape (1,)
        Pseudo-random stream.
    stop : ndarray of int64, shape (1,)
        Set from outside to end what runs.
    """

    room: Room
    limit: int
    target: int
    in_turn: int
    removed: int
    temperature: float
    current: Ints
    best: Ints
    trial: Ints
    out: Ints
    values: Ints
    rng: Words
    stop: Ints

    @property
    def model(self) -> Any:
        """What compiled code depends on."""
        return self.room.model

    @classmethod
    def at(
        cls, search: Search, start: Incumbent, stream: int, stop: NDArray[np.int64]
    ) -> Chain:
        """Return a chain at a permutation, with a pseudo-random stream of its own."""
        text = text_of(search.problem).for_costs()
        n_jobs = text.n_jobs
        joins = joined(text)
        few = n_jobs <= FEW_JOBS
        dtype, limit = narrowest(text, start.value, REMOVED)
        sequence = np.append(start.permutation, 0).astype(np.int64)
        return cls(
            Room.of(text, dtype),
            limit,
            search.lower_bound,
            int(joins and not few),
            min(REMOVED - (joins and few), n_jobs - 1),
            max(TEMPERATURE * abs(start.value) / n_jobs, 1e-9),
            sequence,
            sequence.copy(),
            sequence.copy(),
            np.zeros(n_jobs, np.int64),
            np.full(2, start.value, np.int64),
            random_state(search.seed, 1 + stream),
            stop,
        )

    @property
    def round(self) -> int:
        """Iterations of a round."""
        n_jobs, room = len(self.out), self.room
        each = n_jobs**2 * (room.size or LANES * int(room.model.node_lanes))
        return max(1, ROUND_OPERATIONS // each)

    def go_on_from(self, permutation: NDArray[np.integer[Any]], value: int) -> None:
        """Go on from a permutation that is no worse than the best so far."""
        self.current[:-1] = self.best[:-1] = permutation
        self.values[:] = value

    def advance(self, iterations: int, *, builds: bool = False) -> None:
        """Run so many iterations, see ``iterate``."""
        lane = self.room.own.dtype.type(0)
        iterate(addresses(self), lane, iterations, builds, self.room.joins or None)


@entry
def iterate(
    chain_in: Chain,
    lane: np.signedinteger[Any],
    iterations: int,
    builds: bool,
    joins: int | None,
) -> None:
    """Go on from the current sequence, or make one by insertions in its order.

    Ends earlier at the chain's target and when it is stopped, which cuts an iteration
    short. ``joins``: None where sides do not join, and what is for it is not compiled.
    """
    chain = pointers(chain_in, lane)
    n_jobs = int64(chain.room.model.n_jobs)
    for _ in range(iterations):
        if chain.values[1] <= chain.target:
            return
        for i in range(n_jobs):
            chain.trial[i] = chain.current[i]
        if builds:
            for at in range(n_jobs):
                chain.out[at] = chain.trial[at]
            value = put_back(chain, int64(0), n_jobs, joins)
        else:
            disturb(chain, n_jobs, joins)
            value = search(chain, n_jobs, joins)
        if atomic_load(chain.stop, int64(0)):
            return
        accept(chain, value)


@helper
def disturb(chain: Chain, n_jobs: int, joins: int | None) -> None:
    """Take jobs out of the trial, and put them elsewhere."""
    room, trial, rng = chain.room, chain.trial, chain.rng
    if joins is not None and chain.in_turn:
        for _ in range(1 + random_below(rng, int64(chain.removed))):
            place = random_below(rng, n_jobs)
            job = remove(trial, n_jobs, place)
            put(room, trial, n_jobs - 1, job, place, rng)
        return
    length = n_jobs
    for i in range(chain.removed):
        chain.out[i] = remove(trial, length, random_below(rng, length))
        length -= 1
    search(chain, length, joins)
    put_back(chain, length, int64(chain.removed), joins)


@helper
def search(chain: Chain, length: int, joins: int | None) -> int:
    """Search the first jobs of the trial locally; returns their cost."""
    if joins is None:
        return fronts.search(chain.room, chain.trial, length, chain.rng, chain.stop)
    return local_search(chain.room, chain.trial, length, chain.rng, chain.stop)


@helper
def put_back(chain: Chain, length: int, size: int, joins: int | None) -> int:
    """Put so many jobs back into the trial, one after the other; returns the cost."""
    value = int64(0)
    for i in range(size):
        if not atomic_load(chain.stop, int64(0)):
            job, at = int64(chain.out[i]), length + i
            if joins is None:
                value = fronts.put(chain.room, chain.trial, at, job, chain.rng)
            else:
                value = put(chain.room, chain.trial, at, job, int64(-1), chain.rng)
    return value


@helper
def accept(chain: Chain, value: int) -> None:
    """Go on from the trial if it is no worse, or as the temperature allows."""
    worse = value - chain.values[0]
    uniform = random_below(chain.rng, int64(1 << 30)) / (1 << 30)
    if worse > 0 and uniform >= np.exp(-worse / chain.temperature):
        return
    if value > chain.limit:
        return
    for i in range(chain.room.model.n_jobs):
        chain.current[i] = chain.trial[i]
    chain.values[0] = value
    if value < chain.values[1]:
        for i in range(chain.room.model.n_jobs):
            chain.best[i] = chain.trial[i]
        chain.values[1] = value


# -- what Python calls -----------------------------------------------------------------


def iterated_greedy(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve a permutation until a limit or the lower bound.

    Parameters
    ----------
    search
        Of a problem that is a text or has one. Its iterations count for every chain.
    start
        The chains start here (default: the jobs in their own order).
    """
    n_jobs = search.problem.n_jobs
    best = start or improve(search, None, np.arange(n_jobs), "own order")
    left, stop, rounds = search.iterations, np.zeros(1, np.int64), 0
    chains = [Chain.at(search, best, index, stop) for index in range(search.threads)]
    with ThreadPoolExecutor(search.threads, "dpbb-ig") as pool:
        while n_jobs > 1 and not best.proved and not search.over and left != 0:
            now = chains[0].round if left is None else min(chains[0].round, left)
            left = None if left is None else left - now
            running = [pool.submit(chain.advance, now) for chain in chains]
            wait_for(running, search, stop)
            stop[0] = 0
            first = min(chains, key=lambda chain: int(chain.values[1]))
            worst = max(chains, key=lambda chain: int(chain.values[0]))
            best = improve(search, best, first.best[:-1], "ig")
            rounds += 1
            latest = search.latest(best)
            if latest is not best:
                best = latest
                for chain in chains:
                    chain.go_on_from(best.permutation, best.value)
            elif rounds % SHARED_ROUNDS == 0 and worst.values[0] > first.values[1]:
                worst.go_on_from(first.best[:-1], int(first.values[1]))
    return best


def load(search: Search, start: Incumbent) -> None:
    """Load or compile the kernels, so that it takes no time from a search."""
    text = text_of(search.problem).for_costs()
    values = (start.value, max(search.lower_bound, 0))  # and any on the way
    lanes = {narrowest(text, value, REMOVED)[0]: value for value in values}
    for value in lanes.values():
        chain = Chain.at(search, replace(start, value=value), 0, np.ones(1, np.int64))
        chain.advance(1)


def can_compile(problem: Model) -> bool:
    """Whether every permutation has a cost, and the text can be compiled."""
    sources = problem.text.sources
    if problem.n_jobs == 1 or not problem.text.is_whole or "absent" in sources:
        return False
    try:
        cpu.narrowest_dtype(problem, problem.trivial_ub)
    except ValueError:  # no integers are wide enough
        return False
    return cpu.obstacle(problem) is None


WAIT_S = 60.0
"""A search is waited for so long while it is compiled, or half of a time limit."""

SMALL = 10
"""Trees of so few jobs are explored sooner than a search is compiled."""


def first_incumbent(problem: Model, wanted: StartSearch) -> Incumbent | None:
    """As ``dpbb.heuristics.AnyProblem``, which searches until the text is compiled.

    Then an iteration is what ``iterate`` does, on each thread. Without a limit it goes
    on as long as the second half of its time found something, at most ``MOST_S``; for
    few jobs nothing is compiled then.
    """
    if wanted.method == Heuristics.NONE or not can_compile(problem):
        return AnyProblem(problem).first_incumbent(wanted)
    unlimited = wanted.time_limit_s is None and wanted.iterations is None
    plain = AnyProblem(problem, all_exist=True)
    if unlimited and problem.n_jobs <= SMALL:
        return plain.first_incumbent(wanted)
    began, deadline = time.monotonic(), deadline_of(problem, wanted)
    threads = wanted.threads or physical_cores()
    search = Search.of(problem, wanted, threads, deadline)
    if search.over:
        return plain.first_incumbent(wanted)
    own = np.arange(problem.n_jobs)
    first = Incumbent(problem.evaluate(own), own, "own order", False)
    chain = Chain.at(search, first, 0, np.zeros(1, np.int64))

    def build() -> None:
        chain.advance(1, builds=True)
        load(search, replace(first, value=int(chain.values[1])))

    building, note_at = in_daemon(build, "dpbb-ig-load"), began + NOTE_S
    if wanted.iterations is not None:  # then no step depends on how long it takes
        while wait([building], POLL_S).not_done and not search.over:
            pass

    def stop() -> bool:
        nonlocal note_at
        if time.monotonic() >= note_at:
            wanted.on_note(COMPILING)
            note_at = inf
        return wanted.should_stop() or building.done()

    limit = wanted.time_limit_s
    if unlimited:
        limit = WAIT_S if wanted.end is None else min(WAIT_S, (wanted.end - began) / 2)
    meanwhile = replace(wanted, should_stop=half_the_time(stop), time_limit_s=limit)
    start = plain.first_incumbent(meanwhile)
    wanted.on_note("")
    chain.stop[0] = 1
    if start is not None and start.proved:
        return start
    error = building.exception() if building.done() else None
    if error is not None:
        logger.warning("no compiled heuristics: %s", error)
    if error is not None or not building.done():
        return start or improve(search, None, own, "own order")
    start = improve(search, start, chain.best[:-1], "neh")
    if unlimited and wanted.method != "neh":
        return while_it_pays(search, start, wanted)
    return start if wanted.method == "neh" else iterated_greedy(search, start)


def while_it_pays(search: Search, start: Incumbent, wanted: StartSearch) -> Incumbent:
    """Search until the second half of the time was in vain."""
    began = time.monotonic()
    seconds = (deadline_of(search.problem, wanted) - began) / 2
    end = began + MOST_S if wanted.end is None else min(began + MOST_S, wanted.end)
    while True:
        now = min(time.monotonic() + seconds, end)
        best = iterated_greedy(replace(search, deadline=now), start)
        now = time.monotonic()
        stopped = search.should_stop is not None and search.should_stop()
        if best.value == start.value or best.proved or now >= end or stopped:
            return best
        start, seconds = best, now - began


def improve_beside(problem: Model, start: Incumbent, wanted: StartSearch) -> Incumbent:
    """Improve a permutation beside the tree, see ``dpbb.problem.ImprovesSchedules``."""
    threads, deadline = wanted.threads or physical_cores(), deadline_of(problem, wanted)
    return iterated_greedy(Search.of(problem, wanted, threads, deadline), start)
