"""Beams on cores: the compiled steps, spread over threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.beam_kernels import Bench, Level, expand, make, take
from dpbb.flowshop.heuristics.beam_levels import NO_KEY, Guide, Levels
from dpbb.flowshop.models.lb1_cpu import Lb1
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.pairs import Room
from dpbb.kernels.pointers import addresses

MEMORY = 2**30
"""Bytes that a beam takes at most."""

PIECE_OPERATIONS = 1_000_000
"""Nodes x jobs x machines that a thread bounds in one go: about 2 ms."""


class Desk(NamedTuple):
    """Where one thread works."""

    room: Room
    at: Room
    bench: Bench

    @classmethod
    def of(cls, model: Lb1) -> Desk:
        """Return room for nodes of the model."""
        room = Room.of(model, model.n_jobs, model.root.dtype)
        return cls(room, addresses(room), Bench.of(model))


class CpuLevels(Levels):
    """Beams on cores.

    Parameters
    ----------
    ub
        Upper bound that no run is given a larger one than.
    pool, threads
        Where pieces of a level run; None: in the thread that calls.
    """

    def __init__(
        self,
        problem: FlowShopProblem,
        kept: NDArray[np.uint16],
        ub: int,
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__(problem, kept)
        dtype = Lb1.narrowest_dtype(problem, ub)
        self._lane = dtype(0)
        self._model = Lb1.of(problem, None, dtype)
        self._model_at = addresses(self._model)
        self._pool = pool
        self._desks: SimpleQueue[Desk] = SimpleQueue()
        for _ in range(threads):
            self._desks.put(Desk.of(self._model))
        self._first = Level.root(self._model)
        for move in kept:
            below = Level.empty(self._model, 1)
            self._fill(below, self._first, np.zeros(1, np.int32), np.array([move]))
            self._first = below
        node_bytes = 2 * sum(part.nbytes for part in self._first)
        node_bytes += 10 * self._n_levels + 16
        self.narrowest = 1
        self.widest = 1 << max(1, MEMORY // node_bytes).bit_length() - 1

    def _begin(self, width: int) -> None:
        self._level, self._spare = self._first, []  # before there is more
        self._spare = [Level.empty(self._model, width) for _ in range(2)]
        self._keys = np.empty(width * self._n_levels, np.int32)
        self._sides = np.empty(width, np.uint8)
        self._parents = np.empty((self._n_levels, width), np.int32)
        self._moves = np.empty((self._n_levels, width), np.uint16)
        self._taken = np.empty(width, np.int32)

    def _expand(
        self, nodes: int, r: int, ub: int, guide: Guide, over: Callable[[], bool]
    ) -> int | None:
        alpha = np.float32(1 - (r - 1) / self._n_jobs)
        keys = self._sides, self._keys, self._keys.view(np.float32)

        def part(desk: Desk, first: int, last: int) -> int:
            own = self._model_at, desk.at, self._lane, desk.bench, self._level
            return expand(*own, first, last, r, ub, int(guide), alpha, *keys)

        return self._spread(part, nodes, r * self._model.height, over)

    def _take(self, depth: int, nodes: int, r: int, alive: int, wanted: int) -> None:
        limit, quota = NO_KEY, 0
        if alive > wanted:
            limit, quota = limit_of(self._keys[: nodes * r], wanted)
        given = self._level, nodes, r, limit, quota, self._sides, self._keys
        take(*given, self._parents[depth], self._moves[depth], self._taken)

    def _make(self, depth: int, nodes: int) -> None:
        below = self._spare[depth % 2]
        taken = self._parents[depth, :nodes], self._moves[depth, :nodes]
        self._fill(below, self._level, *taken)
        self._level = below

    def _fill(
        self,
        below: Level,
        level: Level,
        parents: NDArray[np.int32],
        moves: NDArray[np.uint16],
    ) -> None:
        def part(desk: Desk, first: int, last: int) -> int:
            given = self._model_at, desk.at, self._lane, level, parents, moves
            make(*given, first, last, below)
            return 0

        self._spread(part, len(parents), 10 * self._model.height)

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
        part: Callable[[Desk, int, int], int],
        nodes: int,
        operations: int,
        over: Callable[[], bool] = lambda: False,
    ) -> int | None:
        """Sum up ``part`` over pieces of a level; None if ``over``, asked between them.

        ``operations``: what a node costs.
        """
        ended = False

        def task(first: int, last: int) -> int:
            if ended:
                return 0
            desk = self._desks.get()
            try:
                return part(desk, first, last)
            finally:
                self._desks.put(desk)

        piece = max(1, PIECE_OPERATIONS // operations)
        pieces = [(at, min(at + piece, nodes)) for at in range(0, nodes, piece)]
        if self._pool is None or len(pieces) == 1:
            results: Iterator[int] = itertools.starmap(task, pieces)
        else:
            running = [self._pool.submit(task, *cut) for cut in pieces]
            results = (future.result() for future in running)
        total = 0
        for _ in pieces:
            ended = ended or over()
            total += next(results)
        return None if ended else total


def limit_of(keys: NDArray[np.int32], wanted: int) -> tuple[int, int]:
    """Return the largest key among the least, and how many of it are among them."""
    least = np.partition(keys, wanted - 1)[:wanted]
    limit = int(least[-1])
    return limit, wanted - int((least < limit).sum())
