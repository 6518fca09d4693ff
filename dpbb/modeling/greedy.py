"""An iterated greedy search with the compiled text of a model, on all cores.

A job is tried at every place of a sequence. With two sides and no shared fields that
takes one pass from each end: what is before the place is the front of a node, what is
after it its back (E. Taillard, EJOR 47(1), 1990, for any such problem). Else the jobs
after each place are taken one by one.

The search is by Ruiz and Stuetzle, EJOR 177(3), 2007: some jobs are taken out, put back
one after the other where each costs least, then single jobs are moved until that is in
vain. One chain a thread, in rounds; now and then the worst goes on from the best.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.heuristics import AnyProblem, deadline_of
from dpbb.kernels import models
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.cores import physical_cores
from dpbb.kernels.pointers import Ints, Lanes, Words, addresses, aligned_zeros, pointers
from dpbb.kernels.scalar import atomic_load
from dpbb.kernels.sequences import insert, random_below, remove, shuffle
from dpbb.modeling import cpu
from dpbb.modeling.model import Model
from dpbb.options import Heuristics
from dpbb.problem import Incumbent, StartSearch

REMOVED = 5
"""Jobs that are taken out at a time."""

TEMPERATURE = 0.06
"""Of the acceptance: this share of the cost, divided by the number of jobs."""

ROUND_S = 0.1
"""About how long chains run before they are looked at."""

SHARED_ROUNDS = 40
"""Rounds after which the worst chain goes on from the best permutation."""

POLL_S = 0.005
"""How often limits are looked at."""


class Chain(NamedTuple):
    """One search, changed in place by compiled code.

    Parameters
    ----------
    model
        The compiled text with the tables of the instance.
    joins
        1: a node's front and another's back are one permutation. 0: they are not.
    target
        A permutation of this cost ends the chain.
    removed
        Jobs that are taken out at a time.
    temperature
        Of the acceptance, in units of the cost.
    nodes : ndarray
        Nodes of all beginnings and all ends of the sequence, and one more.
    current, best, trial : ndarray of int64, shape (n_jobs + 1,)
        The chain's sequence, the best one it has seen, and scratch memory.
    costs, order : ndarray of int64, shape (n_jobs + 1,)
        Of a job at each place; scratch memory.
    values : ndarray of int64, shape (2,)
        Costs of ``current`` and ``best``.
    rng : ndarray of uint64, shape (1,)
        Pseudo-random stream.
    stop : ndarray of int64, shape (1,)
        Set from outside to end what runs.
    """

    model: Any
    joins: int
    target: int
    removed: int
    temperature: float
    nodes: Lanes
    current: Ints
    best: Ints
    trial: Ints
    costs: Ints
    order: Ints
    values: Ints
    rng: Words
    stop: Ints

    @classmethod
    def at(
        cls, problem: Model, start: Incumbent, search: StartSearch, stream: int
    ) -> Chain:
        """Return a chain at a permutation, with a pseudo-random stream of its own."""
        n_jobs, least = problem.n_jobs, search.lower_bound
        problem = problem.for_costs()
        dtype = cpu.narrowest_dtype(problem, problem.trivial_ub)
        model = cpu.model_of(problem).of(problem, None, dtype)
        joins = len(problem.sides) > 1 and not problem.shared
        sequence = np.append(start.permutation, 0).astype(np.int64)
        seed = np.random.SeedSequence([search.seed, stream])
        return cls(
            model,
            int(joins),
            np.iinfo(np.int64).min if least is None else least,
            min(REMOVED, n_jobs - 1),
            max(TEMPERATURE * abs(start.value) / n_jobs, 1e-9),
            aligned_zeros((2 * n_jobs + 3) * model.node_lanes, dtype),
            sequence,
            sequence.copy(),
            sequence.copy(),
            np.zeros(n_jobs + 1, np.int64),
            np.zeros(n_jobs + 1, np.int64),
            np.full(2, start.value, np.int64),
            seed.generate_state(1, np.uint64) | np.uint64(1),
            np.zeros(1, np.int64),
        )

    def go_on_from(self, permutation: NDArray[np.integer[Any]], value: int) -> None:
        """Go on from a permutation that is no worse than the best so far."""
        self.current[:-1] = self.best[:-1] = permutation
        self.values[:] = value

    def advance(self, iterations: int | None, *, builds: bool = False) -> None:
        """Run so many iterations, or for a round; see ``iterate``."""
        end, lane = time.monotonic() + ROUND_S, self.nodes.dtype.type(0)
        state, done = addresses(self), 0
        while not self.stop[0] and self.values[1] > self.target:
            iterate(state, lane, builds)
            done += 1
            if time.monotonic() >= end if iterations is None else done >= iterations:
                return


@entry
def iterate(chain_in: Chain, lane: np.signedinteger[Any], builds: bool) -> None:
    """Make a sequence by insertions in the order of the current one, or go on from it.

    Ends soon after ``stop[0]`` is set, without a result.
    """
    chain = pointers(chain_in, lane)
    n_jobs = int64(chain.model.n_jobs)
    trial, rng = chain.trial, chain.rng
    for i in range(n_jobs):
        trial[i] = chain.current[i]
    if builds:
        for length in range(1, n_jobs):
            value = put(chain, int64(length), int64(trial[length]))
    else:
        length = n_jobs
        for i in range(chain.removed):
            place = random_below(rng, length)
            chain.order[i] = remove(trial, length, place)
            length -= 1
        for i in range(chain.removed):
            put(chain, length + i, int64(chain.order[i]))
        value = moved(chain, n_jobs)
    if atomic_load(chain.stop, int64(0)):
        return
    worse = value - chain.values[0]
    uniform = random_below(rng, int64(1 << 30)) / (1 << 30)
    if worse > 0 and uniform >= np.exp(-worse / chain.temperature):
        return
    for i in range(n_jobs):
        chain.current[i] = trial[i]
    chain.values[0] = value
    if value < chain.values[1]:
        for i in range(n_jobs):
            chain.best[i] = trial[i]
        chain.values[1] = value


@helper
def moved(chain: Chain, length: int) -> int:
    """Move single jobs to where they cost least, until that is in vain."""
    trial, order = chain.trial, chain.order
    value, vain, cursor = int64(np.iinfo(np.int64).max), int64(0), length
    while vain < length and not atomic_load(chain.stop, int64(0)):
        if cursor == length:
            for i in range(length):
                order[i] = trial[i]
            shuffle(order, length, chain.rng)
            cursor = int64(0)
        job = int64(order[cursor])
        cursor += 1
        place = int64(0)
        while trial[place] != job:
            place += 1
        remove(trial, length, place)
        found = put(chain, length - 1, job)
        vain = int64(0) if found < value else vain + 1
        value = found
    return value


@helper
def put(chain: Chain, length: int, job: int) -> int:
    """Insert a job where it costs least, ties at random; returns the cost."""
    costs = chain.costs
    evaluate(chain, length, job)
    least, ties = int64(costs[0]), int64(0)
    for s in range(length + 1):
        if costs[s] < least:
            least, ties = int64(costs[s]), int64(0)
        ties += int64(costs[s] == least)
    left = random_below(chain.rng, ties)
    for s in range(length + 1):
        if costs[s] == least:
            if left == 0:
                insert(chain.trial, length, int64(s), job)
                break
            left -= 1
    return least


@helper
def evaluate(chain: Chain, length: int, job: int) -> None:
    """Write what a sequence costs with a job at each place."""
    model, nodes, trial = chain.model, chain.nodes, chain.trial
    size = int64(model.node_lanes)
    back = (length + 1) * size
    work = 2 * back
    for lane in range(size):
        nodes[lane] = model.root[lane]
        nodes[back + length * size + lane] = model.root[lane]
    for s in range(length):
        copy(nodes, s * size, (s + 1) * size, size)
        models.grow(model, nodes, (s + 1) * size, int64(trial[s]), int64(0))
    if chain.joins:
        for s in range(length - 1, -1, -1):
            at = back + s * size
            copy(nodes, at + size, at, size)
            models.grow(model, nodes, at, int64(trial[s]), int64(1))
    for s in range(length + 1):
        copy(nodes, s * size, work, size)
        models.grow(model, nodes, work, job, int64(0))
        behind = back + s * size
        if not chain.joins:
            behind = back + length * size
            for t in range(s, length):
                models.grow(model, nodes, work, int64(trial[t]), int64(0))
        chain.costs[s] = models.joined(model, nodes, work, behind)


@helper
def copy(nodes: Lanes, at: int, to: int, lanes: int) -> None:
    """Copy so many lanes."""
    for lane in range(lanes):
        nodes[to + lane] = nodes[at + lane]


# -- what Python calls -----------------------------------------------------------------


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


def first_incumbent(problem: Model, search: StartSearch) -> Incumbent | None:
    """As ``dpbb.heuristics.AnyProblem``, which searches until the text is compiled.

    Then an iteration is what ``iterate`` does, on each thread.
    """
    deadline = deadline_of(problem, search)
    if search.method == Heuristics.NONE or not can_compile(problem):
        return AnyProblem(problem).first_incumbent(search)
    own = np.arange(problem.n_jobs)
    first = Incumbent(problem.trivial_ub, own, "own order", False)
    chain, ready = Chain.at(problem, first, search, 0), Event()

    def load() -> None:
        chain.advance(1, builds=True)
        ready.set()

    Thread(target=load, name="dpbb-ig-load", daemon=True).start()
    start = AnyProblem(problem, all_exist=True).first_incumbent(
        replace(search, should_stop=lambda: search.should_stop() or ready.is_set())
    )
    chain.stop[0] = 1
    if not ready.is_set() or (start is not None and start.proved):
        return start
    start = _better(problem, search, start, chain, "neh")
    if search.method == "neh":
        return start
    return run_chains(problem, start, search, deadline)


def improve(problem: Model, start: Incumbent, search: StartSearch) -> Incumbent:
    """Improve a permutation beside the tree, see ``dpbb.problem.ImprovesSchedules``."""
    return run_chains(problem, start, search, deadline_of(problem, search))


def run_chains(
    problem: Model, best: Incumbent, search: StartSearch, deadline: float
) -> Incumbent:
    """Improve a permutation until the end, and announce what is better."""
    threads, rounds = search.threads or physical_cores(), 0
    chains = [Chain.at(problem, best, search, 1 + i) for i in range(threads)]
    with ThreadPoolExecutor(threads, "dpbb-ig") as pool:
        while time.monotonic() < deadline and not search.should_stop():
            running = [
                pool.submit(chain.advance, search.iterations) for chain in chains
            ]
            while wait(running, POLL_S).not_done:
                if time.monotonic() >= deadline or search.should_stop():
                    for chain in chains:
                        chain.stop[0] = 1
            for one in running:
                one.result()
            first = min(chains, key=lambda chain: int(chain.values[1]))
            best = _better(problem, search, best, first, "ig")
            rounds += 1
            if best.proved or search.iterations is not None:
                break
            if rounds % SHARED_ROUNDS == 0:
                worst = max(chains, key=lambda chain: int(chain.values[0]))
                worst.go_on_from(first.best[:-1], int(first.values[1]))
    return best


def _better(
    problem: Model, search: StartSearch, best: Incumbent | None, chain: Chain, by: str
) -> Incumbent:
    """Return the best permutation, also of a chain; a new one is announced.

    It costs what ``evaluate`` says: no kernel's word is taken.
    """
    order = chain.best[:-1].astype(np.intp)
    cost = problem.evaluate(order)
    if best is not None and cost >= best.value:
        return best
    new = Incumbent(cost, order, by, cost <= chain.target)
    search.on_improvement(new)
    return new
