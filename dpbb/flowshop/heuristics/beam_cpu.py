"""Beams on cores: compiled steps of a level, spread over threads.

A level is a set of arrays with one row per node (``Level``). Its candidates, all
children of all nodes, are keys alone; only those that are taken become nodes. Nodes
and their bounds are those of ``dpbb.flowshop.models.makespan``; what is the beam's own
is the idle time, which its guide is made of. Twin: ``beam.cu``, to the bit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.beam import (
    BACK,
    NO_KEY,
    Levels,
    Runs,
    load_polish,
    tiny_search,
)
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.heuristics import Search
from dpbb.kernels.compiling import entry, helper, inlined, int64
from dpbb.kernels.models import step
from dpbb.kernels.pairs import (
    PAIR_LANES,
    TILE_4,
    Room,
    bound_children,
    groups_of,
    preference,
)
from dpbb.kernels.pointers import Lanes, addresses, pointer_of, pointers
from dpbb.kernels.scalar import ctz, popcount
from dpbb.kernels.simd import blend, less, splat, zeros
from dpbb.kernels.simd import load as load_vector
from dpbb.modeling.cpu import model_of, narrowest_dtype
from dpbb.problem import Incumbent

MEMORY = 2**30
"""Bytes that a beam takes at most."""

PIECE_OPERATIONS = 1_000_000
"""Nodes x jobs x machines that a thread bounds in one go: about 2 ms."""

float32: Any = np.float32
int32: Any = np.int32

ONE_SIDED = np.float32(1e25)
"""The guide of a node without prefix or without suffix is its bound times this."""

ONE = np.uint64(1)


class Level(NamedTuple):
    """Nodes of equal depth.

    Parameters
    ----------
    nodes : ndarray of int16 or int32, shape (size, node_lanes)
        As the model has them.
    idle : ndarray of int32, shape (size, 2, n_machines)
        Idle time of each machine before the prefix ends, and behind the start of the
        suffix, the machines of the latter in reverse.
    jobs : ndarray of uint64, shape (size, words)
        Set of the unscheduled jobs.
    used : ndarray of uint8, shape (size, 2)
        1 where the prefix (suffix) holds a job.
    weights : ndarray of float32, shape (size, 2)
        Of each side; see ``Levels``.
    """

    nodes: NDArray[Any]
    idle: NDArray[np.int32]
    jobs: NDArray[np.uint64]
    used: NDArray[np.uint8]
    weights: NDArray[np.float32]

    @classmethod
    def empty(cls, model: Any, size: int) -> Level:
        """Return room for nodes."""
        return cls(
            nodes=np.zeros((size, model.node_lanes), model.root.dtype),
            idle=np.zeros((size, 2, model.height), np.int32),
            jobs=np.zeros((size, -(-model.n_jobs // 64)), np.uint64),
            used=np.zeros((size, 2), np.uint8),
            weights=np.zeros((size, 2), np.float32),
        )

    @classmethod
    def root(cls, model: Any) -> Level:
        """Return the level above all others."""
        level = cls.empty(model, 1)
        level.nodes[0] = model.root
        for job in range(model.n_jobs):
            level.jobs[0, job // 64] |= ONE << np.uint64(job % 64)
        return level


@inlined
def front_at(model: Any, nodes: Lanes, at: int, machine: int, side: int) -> int:
    """Front of a node on a machine, or its back on ``n_machines - 1 - machine``.

    On an empty side the least head or tail.
    """
    front: int = int64(nodes[at + model.at_front + 2 * machine + side])
    return front


@helper
def list_jobs(jobs: NDArray[np.uint64], row: int, room: Room) -> None:
    """List the unscheduled jobs of a node, ascending."""
    slot = int64(0)
    for word in range(jobs.shape[1]):
        bits = jobs[row, word]
        while bits:
            room.slot_jobs[slot] = 64 * word + ctz(bits)
            bits &= bits - ONE
            slot += 1


@helper
def side_below(room: Room, n_children: int, ub: int) -> int:
    """Side with fewer children below ``ub``; of equal numbers the larger sum of them.

    MinBranch with the live UB, but for children that are pruned, which are not summed.
    """
    four = zeros(room.bounds, TILE_4)
    limit = splat(ub, four)
    key = 0
    for word in range((groups_of(n_children) + 3) // 4):
        bounds = load_vector(room.bounds, word * TILE_4, four)
        alive = less(bounds, limit)
        key += preference(alive, blend(alive, bounds, four))
    side: int = int64(key < 0)
    return side


@inlined
def lacking(lack: np.float32, lag: int, behind: int) -> np.float32:
    """Return what a machine weighs that is so far behind the one before it."""
    part = float32(max(int32(int32(lag) - behind), int32(0))) / float32(lag)
    return lack * (part * part)


@helper
def weigh(
    model: Any,
    level: Level,
    node: int,
    side: int,
    lack: np.float32,
    lag: int,
    room: Room,
    r: int,
    slots: NDArray[np.int32],
    work: NDArray[np.int32],
    weights: NDArray[np.float32],
) -> bool:
    """Weigh that side of a node's survivors, whose slots there are.

    Returns whether the weights lie side by side, as the survivors are; else by slot.
    ``work``: scratch memory, int32, shape (2, r).
    """
    count, times, ends = int64(len(slots)), work[0], work[1]
    nodes, at = pointer_of(level.nodes), node * model.node_lanes
    dense = 2 * count > r
    total = int64(r if dense else count)
    stride = groups_of(r) * PAIR_LANES
    used = level.used[node, side]
    for i in range(total):
        ends[i] = int32(0)
        weights[i] = float32(0.0)
    for k in range(model.height):
        front = int32(front_at(model, nodes, at, k, side))
        past = int32(level.idle[node, side, k] - (front if used else int32(0)))
        row = k * stride + side
        if dense:
            for i in range(total):
                times[i] = int32(room.columns[row + 2 * i])
        else:
            for i in range(total):
                times[i] = int32(room.columns[row + 2 * slots[i]])
        if k == 0:
            for i in range(total):
                ends[i] = front + times[i]
            continue
        for i in range(total):
            before = ends[i]
            start = int32(max(before, front))
            end = int32(start + times[i])
            ends[i] = end
            share = float32(int32(past + start)) / float32(max(end, int32(1)))
            weights[i] += share
            if lack > 0:
                weights[i] += lacking(lack, lag, int32(end - before))
    return not dense


@entry
def expand(
    model_in: Any,
    room_in: Room,
    lane: np.signedinteger[Any],
    level: Level,
    first: int,
    last: int,
    r: int,
    ub: int,
    alpha: np.float32,
    lack: np.float32,
    lag: int,
    sides: NDArray[np.uint8],
    keys: NDArray[np.int32],
    floats: NDArray[np.float32],
) -> int:
    """Bound the children of the nodes ``first`` to ``last`` - 1; return how many live.

    Parameters
    ----------
    model_in, room_in, lane
        Model and room with addresses, and any integer of their lanes' type.
    ub
        Children with bound >= ub are dropped.
    alpha
        Share of the jobs that are scheduled in the children.
    lack, lag
        See ``Levels``.
    sides, keys
        Receive the side of each node and r keys of its children.
    """
    model = pointers(model_in, lane)
    room = pointers(room_in, lane)
    nodes = pointer_of(level.nodes)
    rest = float32(1.0) - alpha
    slots, work = np.empty(r, np.int32), np.empty((2, r), np.int32)
    weights = np.empty(r, np.float32)
    total = 0
    for node in range(first, last):
        list_jobs(level.jobs, node, room)
        at = node * model.node_lanes
        bound_children(model, nodes, at, room, r, model.largest)
        side = side_below(room, r, ub)
        sides[node] = side
        place = node * r
        count = int64(0)
        for slot in range(r):
            if room.bounds[2 * slot + side] < ub:
                slots[count] = slot
                count += 1
            else:
                keys[place + slot] = NO_KEY
        total += count
        one_sided = level.used[node, 1 - side] == 0
        packed = True
        if r > 1 and not one_sided:
            alive = slots[:count]
            given = level, node, side, lack, lag, room
            packed = weigh(model, *given, r, alive, work, weights)
        other = level.weights[node, 1 - side]
        for i in range(count):
            slot = slots[i]
            bound = int64(room.bounds[2 * slot + side])
            if r == 1:
                keys[place + slot] = bound
                continue
            value = float32(bound)
            weight = weights[i if packed else slot] + other
            if one_sided:
                value = ONE_SIDED * value
            else:
                value = alpha * value + (rest * weight) * value
            floats[place + slot] = value
    return total


@entry
def take(
    level: Level,
    nodes: int,
    r: int,
    limit: int,
    quota: int,
    sides: NDArray[np.uint8],
    keys: NDArray[np.int32],
    parents: NDArray[np.int32],
    moves: NDArray[np.uint16],
    taken: NDArray[np.int32],
) -> int:
    """List the candidates with keys below ``limit`` and ``quota`` of those equal to it.

    Returns how many: parents, moves and keys in the order of candidates.
    """
    count: int = int64(0)
    for node in range(nodes):
        place = node * r
        word, slots = int64(0), int64(0)
        bits = level.jobs[node, 0]
        for slot in range(r):
            key = keys[place + slot]
            if key > limit or (key == limit and quota <= 0):
                continue
            quota -= key == limit
            while slots + popcount(bits) <= slot:
                slots += popcount(bits)
                word += 1
                bits = level.jobs[node, word]
            while slots < slot:
                bits &= bits - ONE
                slots += 1
            parents[count] = node
            moves[count] = 64 * word + ctz(bits) + sides[node] * BACK
            taken[count] = key
            count += 1
    return count


@entry
def make(
    model_in: Any,
    room_in: Room,
    lane: np.signedinteger[Any],
    level: Level,
    parents: NDArray[np.int32],
    moves: NDArray[np.uint16],
    first: int,
    last: int,
    lack: np.float32,
    lag: int,
    below: Level,
) -> None:
    """Write the nodes ``first`` to ``last`` - 1 of those taken."""
    model = pointers(model_in, lane)
    room = pointers(room_in, lane)
    nodes = pointer_of(level.nodes)
    children = pointer_of(below.nodes)
    for row in range(first, last):
        node = int64(parents[row])
        job = int64(moves[row] % BACK)
        side = int64(moves[row] // BACK)
        at = node * model.node_lanes
        to = row * model.node_lanes
        step(model, nodes, at, children, to, room.scratch, job, side)
        used = level.used[node, side]
        for k in range(model.height):
            below.idle[row, 0, k] = level.idle[node, 0, k]
            below.idle[row, 1, k] = level.idle[node, 1, k]
        weight = float32(0.0)
        times = 2 * job * model.height + side
        end = front_at(model, children, to, 0, side)
        for k in range(1, model.height):
            before, end = end, front_at(model, children, to, k, side)
            start = end - int64(model.t_times[times + 2 * k])
            wait = start - (front_at(model, nodes, at, k, side) if used else int64(0))
            idle = int32(level.idle[node, side, k] + wait)
            below.idle[row, side, k] = idle
            weight += float32(idle) / float32(max(end, int64(1)))
            weight += lacking(lack, lag, int32(end - before))
        below.weights[row, side] = weight
        below.weights[row, 1 - side] = level.weights[node, 1 - side]
        below.used[row, side] = 1
        below.used[row, 1 - side] = level.used[node, 1 - side]
        for word in range(level.jobs.shape[1]):
            below.jobs[row, word] = level.jobs[node, word]
        below.jobs[row, job // 64] &= ~(ONE << np.uint64(job % 64))


def beam(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) by wider and wider beams.

    Ends at a limit (``search.iterations``: runs), with a proof, or when memory does not
    allow a wider beam. The incumbent is ``proved`` if a beam below its makespan was
    never cut.
    """
    incumbent = neh(search) if start is None else start
    with ThreadPoolExecutor(search.threads, "dpbb-beam") as pool:
        spread = pool if search.threads > 1 else None
        levels = CpuLevels(search.problem, incumbent.value, spread)
        return Runs(search, incumbent, levels).widen()


def load(search: Search, start: Incumbent) -> None:
    """Load or compile the kernels, so that it takes no time from a search."""
    load_polish(search, start)
    lane = narrowest_dtype(search.problem, start.value)
    beam(*tiny_search(lane))


class Desk(threading.local):
    """Where a thread works."""

    def __init__(self, model: Any) -> None:
        self._room = Room.of(model, model.n_jobs, model.root.dtype)
        self.at = addresses(self._room)


class CpuLevels(Levels):
    """Beams on cores.

    Parameters
    ----------
    ub
        Upper bound that no run is given a larger one than.
    pool
        Where pieces of a level run; None: in the thread that calls.
    """

    def __init__(
        self, problem: FlowShopProblem, ub: int, pool: ThreadPoolExecutor | None = None
    ) -> None:
        super().__init__(problem)
        dtype = narrowest_dtype(problem, ub)
        self._lane = dtype(0)
        self._model = model_of(problem).of(problem, None, dtype)
        self._model_at = addresses(self._model)
        self._pool = pool
        self._desk = Desk(self._model)
        self._first = Level.root(self._model)
        node_bytes = 2 * sum(part.nbytes for part in self._first)
        node_bytes += 10 * self._n_jobs + 16
        self.narrowest = 1
        self.widest = 1 << max(1, MEMORY // node_bytes).bit_length() - 1

    def _begin(self, width: int) -> None:
        self._level, self._spare = self._first, []  # before there is more
        self._spare = [Level.empty(self._model, width) for _ in range(2)]
        self._keys = np.empty(width * self._n_jobs, np.int32)
        self._sides = np.empty(width, np.uint8)
        self._parents = np.empty((self._n_jobs, width), np.int32)
        self._moves = np.empty((self._n_jobs, width), np.uint16)
        self._taken = np.empty(width, np.int32)

    def _expand(
        self, nodes: int, r: int, ub: int, alpha: np.float32, over: Callable[[], bool]
    ) -> int | None:
        keys = self._sides, self._keys, self._keys.view(np.float32)

        def part(first: int, last: int) -> int:
            own = self._model_at, self._desk.at, self._lane, self._level
            return expand(*own, first, last, r, ub, alpha, self.lack, self.lag, *keys)

        return self._spread(part, nodes, r * self._model.height, over)

    def _take(self, depth: int, nodes: int, r: int, alive: int, wanted: int) -> None:
        limit, quota = NO_KEY, 0
        if alive > wanted:
            limit, quota = limit_of(self._keys[: nodes * r], wanted)
        given = self._level, nodes, r, limit, quota, self._sides, self._keys
        take(*given, self._parents[depth], self._moves[depth], self._taken)

    def _make(self, depth: int, nodes: int) -> None:
        level, below = self._level, self._spare[depth % 2]
        taken = self._parents[depth, :nodes], self._moves[depth, :nodes]

        def part(first: int, last: int) -> int:
            given = self._model_at, self._desk.at, self._lane, level, *taken
            make(*given, first, last, self.lack, self.lag, below)
            return 0

        self._spread(part, nodes, 10 * self._model.height)
        self._level = below

    def _keys_taken(self, nodes: int) -> NDArray[np.int32]:
        return self._taken[:nodes]

    def _trace(self, depth: int, nodes: NDArray[np.intp]) -> NDArray[np.uint16]:
        paths = np.empty((len(nodes), depth), np.uint16)
        for level in range(depth - 1, -1, -1):
            paths[:, level] = self._moves[level, nodes]
            nodes = self._parents[level, nodes].astype(np.intp)
        return paths

    def _spread(
        self,
        part: Callable[[int, int], int],
        nodes: int,
        operations: int,
        over: Callable[[], bool] = lambda: False,
    ) -> int | None:
        """Sum up ``part`` over pieces of a level; None if ``over``, asked between them.

        ``operations``: what a node costs.
        """
        piece = max(1, PIECE_OPERATIONS // operations)
        firsts = range(0, nodes, piece)
        lasts = [min(first + piece, nodes) for first in firsts]
        spread = map if self._pool is None or len(firsts) == 1 else self._pool.map
        results, total = iter(spread(part, firsts, lasts)), 0
        for _ in firsts:
            if over():
                return None
            total += next(results)
        return total


def limit_of(keys: NDArray[np.int32], wanted: int) -> tuple[int, int]:
    """Return the largest key among the least, and how many of it are among them."""
    least = np.partition(keys, wanted - 1)[:wanted]
    limit = int(least[-1])
    return limit, wanted - int((least < limit).sum())
