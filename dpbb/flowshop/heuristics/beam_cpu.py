"""Beams on cores: the compiled steps, spread over threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from dpbb.flowshop.heuristics.beam_kernels import (
    Bench,
    Level,
    expand,
    make,
    root_node,
    take,
    trace,
)
from dpbb.flowshop.heuristics.beam_levels import NO_KEY, Guide, Outcome, Root, best_of
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


class CpuLevels:
    """Beams from one root on cores; see ``dpbb.flowshop.heuristics.beam_levels``.

    Parameters
    ----------
    ub
        Upper bound that no run is given a larger one than.
    pool
        Where pieces of a level run; None: in the thread that calls.
    """

    def __init__(
        self,
        problem: FlowShopProblem,
        root: Root,
        ub: int,
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:
        dtype = Lb1.narrowest_dtype(problem, ub)
        self._lane = dtype(0)
        self._model = Lb1.of(problem, None, dtype)
        self._model_at = addresses(self._model)
        self._root = root
        self._pool = pool
        self._desks: SimpleQueue[Desk] = SimpleQueue()
        for _ in range(threads):
            self._desks.put(Desk.of(self._model))
        first = self._level(root)
        self._first = first
        node_bytes = 2 * sum(part.nbytes for part in first) + 10 * len(root.jobs) + 16
        self.narrowest = 1
        self.widest: int = 1 << max(1, MEMORY // node_bytes).bit_length() - 1

    def run(
        self, width: int, ub: int, guide: Guide, rows: int, over: Callable[[], bool]
    ) -> Outcome | None:
        """See ``Levels``."""
        n_levels = len(self._root.jobs)
        level, spare = self._first, [Level.empty(self._model, width) for _ in range(2)]
        keys = np.empty(width * n_levels, np.int32)
        sides = np.empty(width, np.uint8)
        parents = np.empty((n_levels, width), np.int32)
        moves = np.empty((n_levels, width), np.uint16)
        taken = np.empty(width, np.int32)
        nodes, expanded, uncut = 1, 0, True
        depth = 0
        for r in range(n_levels, 0, -1):
            last = r == 1
            alive = self._expand(
                level, nodes, r, ub, Guide.BOUND if last else guide, sides, keys, over
            )
            if alive is None:
                return None
            expanded += nodes
            if not alive:
                break
            wanted = min(width, rows) if last else width
            limit, quota = NO_KEY, 0
            if alive > wanted:
                uncut &= last  # of complete schedules the best are enough
                limit, quota = limit_of(keys[: nodes * r], wanted)
            row = parents[depth], moves[depth]
            nodes = take(level, 0, nodes, r, limit, quota, sides, keys, *row, taken)
            depth += 1
            if not last:
                below = spare[depth % 2]
                if not self._make(level, *row, nodes, below, over):
                    return None
                level = below
        best = best_of(taken[: nodes if depth else 0], rows)
        paths = np.empty((len(best), depth), np.uint16)
        trace(parents, moves, best, paths)
        whole = depth == n_levels and len(best) > 0
        value = int(taken[best[0]]) if whole else None
        return Outcome(paths, uncut, expanded, value)

    def _level(self, root: Root) -> Level:
        model = self._model
        level = Level.empty(model, 1)
        level.nodes[0] = root_node(model, root)
        level.idle[0] = root.idle
        for job in root.jobs:
            level.jobs[0, job // 64] |= np.uint64(1 << int(job) % 64)
        level.used[0] = root.used
        level.weights[0] = root.weights
        return level

    def _expand(
        self,
        level: Level,
        nodes: int,
        r: int,
        ub: int,
        guide: Guide,
        sides: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
        keys: np.ndarray[tuple[int, ...], np.dtype[np.int32]],
        over: Callable[[], bool],
    ) -> int | None:
        """Bound all children of a level; return how many live, None if ``over``."""
        alpha = np.float32(1 - (r - 1) / self._model.n_jobs)
        model, lane = self._model_at, self._lane

        def part(desk: Desk, first: int, last: int) -> int:
            return expand(
                *(model, desk.at, lane, desk.bench, level, first, last, r, ub),
                *(int(guide), alpha, sides, keys, keys.view(np.float32)),
            )

        alive = self._spread(part, nodes, r * self._model.height, over)
        return None if alive is None else sum(alive)

    def _make(
        self,
        level: Level,
        parents: np.ndarray[tuple[int, ...], np.dtype[np.int32]],
        moves: np.ndarray[tuple[int, ...], np.dtype[np.uint16]],
        nodes: int,
        below: Level,
        over: Callable[[], bool],
    ) -> bool:
        model, lane = self._model_at, self._lane

        def part(desk: Desk, first: int, last: int) -> int:
            make(model, desk.at, lane, level, parents, moves, first, last, below)
            return 0

        return self._spread(part, nodes, 10 * self._model.height, over) is not None

    def _spread(
        self,
        part: Callable[[Desk, int, int], int],
        nodes: int,
        operations: int,
        over: Callable[[], bool],
    ) -> list[int] | None:
        """Call ``part`` for pieces of a level; None if ``over``, asked between them.

        ``operations``: what a node costs.
        """
        piece = max(1, PIECE_OPERATIONS // operations)
        pieces = [(at, min(at + piece, nodes)) for at in range(0, nodes, piece)]
        done = []
        if self._pool is None or len(pieces) == 1:
            desk = self._desks.get()
            try:
                for first, last in pieces:
                    if over():
                        return None
                    done.append(part(desk, first, last))
            finally:
                self._desks.put(desk)
            return done
        ended = False

        def task(first: int, last: int) -> int:
            if ended:
                return 0
            desk = self._desks.get()
            try:
                return part(desk, first, last)
            finally:
                self._desks.put(desk)

        for future in [self._pool.submit(task, *cut) for cut in pieces]:
            ended = ended or over()
            done.append(future.result())
        return None if ended else done


def limit_of(
    keys: np.ndarray[tuple[int, ...], np.dtype[np.int32]], wanted: int
) -> tuple[int, int]:
    """Return the largest key among the least, and how many of it are among them."""
    least = np.partition(keys, wanted - 1)[:wanted]
    limit = int(least[-1])
    return limit, wanted - int((least < limit).sum())
