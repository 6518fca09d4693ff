"""Iterative bidirectional beam search with targets.

Source: Libralesso, Focke, Secardin and Jost, EJOR 301(1), 2022: breadth first over
partial schedules that grow at either end, keeping at each depth the nodes with the
best guide; the width doubles from run to run. Differences:

- Bounds use the least heads and tails on empty sides.
- *Two guides*, from 100 jobs to 25 for each machine, by turns from width to width: that
  of the source, and one that knows, too, which machines are about to wait. Each finds
  what the other does not; elsewhere the first finds more.
- *Targets.* The source prunes at the incumbent's makespan. Here beams prune at a
  target below it: that takes most of what the guide would keep in vain, and lets the
  fewer children decide on which side nodes grow. What reaches the end is that much
  better, or nothing does, soon, and the next target is nearer to the incumbent.
- A run that kept every node below its target has left nothing out: no later target is
  below it, and beams end when they have looked at all below the incumbent.
- The best nodes of a run, complete or not, are completed and searched locally by
  insertion.

Devices have the steps of a level: ``beam_cpu`` and ``beam_gpu`` keep the same nodes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpbb.errors import InvariantError
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.heuristics import Search, improve, random_state, wait_for
from dpbb.kernels.compiling import entry, int64
from dpbb.kernels.pointers import addresses, pointer_of, pointers
from dpbb.modeling.insertions import Room, local_search, narrowest, put
from dpbb.problem import Incumbent

logger = logging.getLogger(__name__)

MOST_POLISHED = 256
"""Nodes of a run that are completed and searched locally, at most."""

POLISHED_SHARE = 64
"""One node of so many is, of the width."""

POLISHED_OUT = 1
"""Jobs that are out of a sequence at a time while it is searched locally."""

NO_LACK, LACK = np.float32(0), np.float32(0.075)
"""What a machine weighs that ends together with the one before it; by turns."""

LACK_JOBS = 100
"""Jobs from which on they take turns.

Measured on two cores, 12 s each: by turns all of five shops of 100 to 800 jobs got a
better schedule than by the first guide alone (ta081, ta101, VFR100_40_7, VFR300_60_1,
VFR800_40_1), ta055 and ta056 one as good, VFR60_20_1 a worse one.
"""

LACK_JOBS_A_MACHINE = 25
"""Jobs for each machine from which on they take no turns again.

Nine of Taillard's of 500x20 by ``dpbb campaign`` on two cores: proved in 192 s by turns
(ta113 alone in 132), in 79 s by the first guide alone (ta113 in 8).
"""

NO_KEY = 2**31 - 1
"""Key of a candidate that is pruned or on the other side."""

FIRST_TARGET = 400
"""The first target of a width is at most one part of so many below the incumbent.

A hundredth was reached at 14 of 185 widths. Measured against it (``dpbb heuristic NAME
--method beam --device cpu --threads 1 --time 12``): of 14 shops of 50 to 200 jobs four
got a better schedule (VFR60_20_1, VFR100_40_1, VFR100_60_1, VFR200_40_1), the others
one as good. An H200 had 3683 for ta056 after 3.1 s, not 3.9, 3648 for ta053 after 2.1,
not 2.7.
"""

BACK = 1 << 15
"""In a move: the job goes before the suffix."""


class Outcome(NamedTuple):
    """What a run of some width found.

    Parameters
    ----------
    moves : ndarray of uint16, shape (rows, depth)
        The best nodes of the deepest level, best first: how they came about, a job
        each, plus ``BACK``.
    uncut
        No node below the upper bound was ever dropped: so no schedule is better than
        the best of ``moves``; there is none at all if they are not complete.
    nodes
        Nodes expanded.
    value
        Bound of the best node if it is complete: its makespan. Else None.
    """

    moves: NDArray[np.uint16]
    uncut: bool
    nodes: int
    value: int | None


class Levels:
    """Beams of one problem on one kind of device, which has the steps.

    Candidates of a level are compared by their *guide*. With the bound LB, the weight W
    and the share alpha of the jobs that are scheduled it is alpha LB + (1 - alpha) W
    LB, and LB for children that are complete. While a side holds no job it is very
    large: taken as 0, its idle time would fill the beam with one-sided nodes.

    W is a sum over all machines of each side but its first: of idle time / end, plus
    lack * (max(0, lag - l) / lag)^2 where the side ends on the machine l after it ends
    on the one before. Machines that follow so closely soon wait again.

    Attributes
    ----------
    lack
        Of the runs to come: ``NO_LACK``, the guide of the source, or ``LACK``.
    lag
        Half as much again as the longest time: a machine so far behind does not wait.
    narrowest, widest
        A width of which a run takes hardly longer than one of 1; the largest one that
        memory allows.
    """

    narrowest: int
    widest: int

    def __init__(self, problem: FlowShopProblem) -> None:
        self._n_jobs = problem.n_jobs
        self.lack = NO_LACK
        self.lag = max(1, 3 * int(problem.instance.times.max()) // 2)

    def alpha(self, r: int) -> np.float32:
        """Share of the jobs that are scheduled in children of nodes of r free jobs."""
        return np.float32(1 - (r - 1) / self._n_jobs)

    def run(
        self, width: int, ub: int, rows: int, over: Callable[[], bool]
    ) -> Outcome | None:
        """Search below ``ub``; None if ``over``, asked again and again, says so.

        None, too, if there is no memory left for the width. ``rows``: how many nodes of
        the deepest level are wanted.
        """
        try:
            self._begin(width)
        except MemoryError:
            logger.info("no memory for a beam of %d nodes", width)
            return None
        nodes, expanded, uncut, depth = 1, 0, True, 0
        for r in range(self._n_jobs, 0, -1):
            last = r == 1
            alive = self._expand(nodes, r, ub, self.alpha(r), over)
            if alive is None:
                return None
            expanded += nodes
            if not alive:
                break
            wanted = min(width, rows) if last else width
            uncut &= last or alive <= wanted  # of complete ones the best are enough
            self._take(depth, nodes, r, alive, wanted)
            nodes = min(alive, wanted)
            if not last:
                self._make(depth, nodes)
            depth += 1
        keys = self._keys_taken(nodes if depth else 0)
        best = best_of(keys, rows)
        whole = depth == self._n_jobs and len(best) > 0
        value = int(keys[best[0]]) if whole else None
        return Outcome(self._trace(depth, best), uncut, expanded, value)

    def _begin(self, width: int) -> None:
        """Make room for levels of a width, with the root as the first one."""
        raise NotImplementedError

    def _expand(
        self, nodes: int, r: int, ub: int, alpha: np.float32, over: Callable[[], bool]
    ) -> int | None:
        """Bound all children, r a node; return how many live, None if ``over``."""
        raise NotImplementedError

    def _take(self, depth: int, nodes: int, r: int, alive: int, wanted: int) -> None:
        """List those with the least keys, as many as wanted, in their order."""
        raise NotImplementedError

    def _make(self, depth: int, nodes: int) -> None:
        """Make the next level of those that were taken."""
        raise NotImplementedError

    def _keys_taken(self, nodes: int) -> NDArray[np.int32]:
        """Return the keys of those that were taken last."""
        raise NotImplementedError

    def _trace(self, depth: int, nodes: NDArray[np.intp]) -> NDArray[np.uint16]:
        """Return the moves from the root to some nodes of a level."""
        raise NotImplementedError


def best_of(keys: NDArray[np.int32], rows: int) -> NDArray[np.intp]:
    """Where the least keys are, least first; of equal ones the first come first."""
    least = np.arange(len(keys))
    if len(keys) > rows:
        limit = np.partition(keys, rows - 1)[rows - 1]
        below, equal = np.flatnonzero(keys < limit), np.flatnonzero(keys == limit)
        least = np.sort(np.concatenate([below, equal[: rows - len(below)]]))
    return least[np.argsort(keys[least], kind="stable")]


def tiny_search(lane: type[np.signedinteger[Any]]) -> tuple[Search, Incumbent]:
    """Return a search of milliseconds, two iterations, with these integers.

    ``lane``: ``int16``, or ``int32``, which the times of the shop are made too large
    for.
    """
    times = np.random.default_rng(0).integers(1, 9, (5, 3))
    scale = 1 if lane is np.int16 else np.iinfo(np.int16).max
    shop = FlowShopProblem(FlowShopInstance("load", times * scale))
    search = Search(shop, 0, iterations=2)
    return search, improve(search, None, np.arange(5), "load")


def load_polish(search: Search, start: Incumbent) -> None:
    """Load or compile what polishes nodes, so that it takes no time from a search."""
    lane, _ = narrowest(search.problem.as_text, start.value, POLISHED_OUT)
    tiny, first = tiny_search(lane)
    Polish(tiny, first.value)(np.zeros((1, 0), np.uint16))


class Runs:
    """Beams one after the other, and what they have shown.

    Attributes
    ----------
    incumbent
        The best schedule of these beams. What is found elsewhere does not count: from a
        better one on, targets are so near that beams find less (measured at 100x20 and
        200x20).
    lower_bound
        No schedule is below.
    """

    def __init__(self, search: Search, incumbent: Incumbent, levels: Levels) -> None:
        self._search = search
        self._polish = Polish(search, incumbent.value)
        self._ended = incumbent.proved
        self._count = 0
        self.levels = levels
        self.incumbent = incumbent
        self.lower_bound = search.lower_bound

    @property
    def over(self) -> bool:
        """Whether nothing is left to do, or a limit is reached."""
        return (
            self._ended
            or self._search.over
            or self._count == self._search.iterations
            or self.incumbent.value <= self.lower_bound
        )

    @property
    def depth(self) -> int:
        """How far below the incumbent the first target of a width is."""
        value = self.incumbent.value
        return min((value - self.lower_bound) // 4, max(1, value // FIRST_TARGET))

    def widen(self) -> Incumbent:
        """Run beams of doubled width, with targets nearer and nearer to the incumbent.

        Proved if none is below.
        """
        width = min(self.levels.narrowest, self.levels.widest)
        problem = self._search.problem
        most = LACK_JOBS_A_MACHINE * problem.n_machines
        both = LACK_JOBS <= problem.n_jobs < most
        lacks = cycle((NO_LACK, LACK) if both else (NO_LACK,))
        while width <= self.levels.widest and not self.over:
            self.levels.lack = next(lacks)
            depth = self.depth
            while not self.over:
                target = max(self.incumbent.value - depth, self.lower_bound + 1)
                if self.run(width, target):
                    depth *= 2
                elif target >= self.incumbent.value:
                    break
                else:
                    depth //= 4
            width *= 2
        proved = self.lower_bound >= self.incumbent.value
        return replace(self.incumbent, proved=True) if proved else self.incumbent

    def run(self, width: int, target: int) -> bool:
        """Run a beam that prunes at a target; return whether a schedule got better."""
        rows = min(MOST_POLISHED, 1 + width // POLISHED_SHARE)
        run = self.levels.run(width, target, rows, lambda: self._search.over)
        if run is None:
            self._ended = True
            return False
        self._count += 1
        before = self.incumbent.value
        found = self._polish(run.moves, alone=run.uncut)
        if run.value is not None:
            value = self._search.problem.evaluate(found[0])
            if value != run.value:
                raise InvariantError(
                    f"beam: the bound of a complete schedule is {run.value}, its "
                    f"makespan {value}"
                )
        for one in found:
            self.incumbent = improve(self._search, self.incumbent, one, "beam")
        if run.uncut:
            self.lower_bound = target if run.value is None else run.value
            if self.incumbent.value < self.lower_bound:
                raise InvariantError(
                    f"beam: no schedule is below {self.lower_bound}, but there is one "
                    f"of {self.incumbent.value}"
                )
        logger.debug(
            "beam of %d below %d: %d nodes, depth %d, uncut %d, incumbent %d",
            *(width, target, run.nodes, run.moves.shape[1], run.uncut),
            self.incumbent.value,
        )
        return self.incumbent.value < before


class OwnRoom(threading.local):
    """Where a thread searches locally."""

    def __init__(self, problem: FlowShopProblem, dtype: DTypeLike) -> None:
        self.room = Room.of(problem.as_text, dtype)


class Polish:
    """Completes nodes of a beam and searches locally from them.

    ``value``: makespan of a schedule; much longer ones are not gone on from.
    """

    def __init__(self, search: Search, value: int) -> None:
        self._search, problem = search, search.problem
        self._by_work = np.argsort(-problem.times.sum(axis=1), kind="stable")
        dtype, self._limit = narrowest(problem.as_text, value, POLISHED_OUT)
        self._lane = dtype(0)
        self._own = OwnRoom(problem, dtype)
        self._runs = 0

    def __call__(
        self, moves: NDArray[np.uint16], *, alone: bool = False
    ) -> list[NDArray[np.int64]]:
        """Return schedules made of nodes, the best node's as it is if it is complete.

        Parameters
        ----------
        moves : ndarray of uint16, shape (rows, depth)
            Of an ``Outcome``.
        alone
            Return the best node's alone: there is nothing better.
        """
        starts = [self.sequence(row) for row in moves]
        n_jobs = len(self._by_work)
        found = [start for start in starts[:1] if len(start) == n_jobs]
        if alone or n_jobs < 2:
            return found
        stop = np.zeros(1, np.int64)
        self._runs += 1

        def improved(index: int, start: NDArray[np.int64]) -> NDArray[np.int64] | None:
            rest = self._by_work[~np.isin(self._by_work, start)]
            sequence = np.concatenate([start, rest, [0]])
            rng = random_state(self._search.seed, self._runs << 16 | index)
            own = addresses(self._own.room), self._lane
            done = complete(*own, sequence, len(start), self._limit, rng, stop)
            return sequence[:-1] if done else None

        with ThreadPoolExecutor(self._search.threads, "dpbb-polish") as pool:
            running = [pool.submit(improved, *item) for item in enumerate(starts)]
            better = wait_for(running, self._search, stop)
        return found + [one for one in better if one is not None]

    def sequence(self, moves: NDArray[np.uint16]) -> NDArray[np.int64]:
        """Return the jobs of a node in the order of the schedule, with a gap."""
        jobs = (moves % BACK).astype(np.int64)
        back = moves >= BACK
        return np.concatenate([jobs[~back], jobs[back][::-1]])


@entry
def complete(
    room_in: Room,
    lane: np.signedinteger[Any],
    sequence: NDArray[np.int64],
    length: int,
    limit: int,
    rng: NDArray[np.uint64],
    stop: NDArray[np.int64],
) -> bool:
    """Insert what follows ``length`` first jobs, search locally; whether all are in.

    Parameters
    ----------
    room_in, lane
        Room with addresses, and any integer of its element type.
    sequence : ndarray of int64, shape (n_jobs + 1,)
        The jobs that are in, and then the others, in the order of insertion.
    limit
        With a makespan above this nothing is done.
    """
    room = pointers(room_in, lane)
    jobs, state, flag = pointer_of(sequence), pointer_of(rng), pointer_of(stop)
    for group in range(room.n_groups):  # whatever this thread has searched before
        room.order[group] = group
    for at in range(length, room.model.n_jobs):
        value = put(room, jobs, int64(at), int64(jobs[at]), int64(-1), state)
        if value > limit or stop[0]:
            return False
    local_search(room, jobs, int64(room.model.n_jobs), state, flag)
    return True
