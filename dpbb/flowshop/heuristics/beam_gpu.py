"""Beam search on a GPU: levels of a million nodes and more; the kernels say how."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.beam import NO_KEY, Levels, Runs
from dpbb.flowshop.heuristics.beam import load_polish as load
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.models.lb1_cuda import Lb1
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.heuristics import Search
from dpbb.kernels.cuda_model import quads, words_per_pair
from dpbb.kernels.nvrtc import load_module, require_gpu
from dpbb.problem import Incumbent

__all__ = ["GpuLevels", "beam", "load"]

SOURCE = Path(__file__).with_name("beam.cu")

DEVICE = 0
BLOCK = 256
LANES = 32
CHUNK = 128
BINS = 1 << 12
PASSES = 3
"""Of ``histogram``: 12 bits each, and a key has 31."""

SHARED_ROWS_LIMIT = 64 * 1024
"""Bytes up to which a block copies the jobs' times to shared memory."""

LAUNCH_OPERATIONS = 2_000_000_000
"""Nodes x jobs x machines that are bounded in one go: some ten milliseconds."""

NARROWEST = 1 << 13
"""Up to this width launching and waiting takes more of a run than the kernels do."""

MEMORY_SHARE = 0.8
"""Of the memory that is free, what a beam takes at most."""

MAX_CANDIDATES = 2**32
"""Candidates of a level are counted in 32 bits."""

CONTROL = np.dtype(
    [
        *(("alive", np.uint64), ("rank", np.uint64), ("least", np.int32)),
        *(("most", np.int32), ("low", np.int32), ("shift", np.int32)),
        *(("over", np.uint32), ("unused", np.uint32)),
    ]
)

KERNELS = "expand", "histogram", "choose", "count", "scan", "take", "make", "trace"


def beam(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) by wider and wider beams.

    On the first device; what the beams find is polished on ``search.threads`` threads.
    """
    cupy = require_gpu(DEVICE)
    incumbent = neh(search) if start is None else start
    cupy.cuda.runtime.setDevice(DEVICE)  # a new thread has no context yet
    with cupy.cuda.Device(DEVICE), cupy.cuda.Stream(non_blocking=True) as stream:
        try:
            levels = GpuLevels(search.problem, incumbent.value)
            return Runs(search, incumbent, levels).widen()
        finally:
            stream.synchronize()
            cupy.get_default_memory_pool().free_all_blocks()


class GpuLevels(Levels):
    """Beams on the current stream of a device; the kernels say how.

    ``ub``: upper bound that no run is given a larger one than.

    EngineUnavailable: the kernels do not compile, or the values are too large for them.
    """

    def __init__(self, problem: FlowShopProblem, ub: int) -> None:
        import cupy

        super().__init__(problem)
        self._cupy = cupy
        self._model = model = Lb1.of(problem, ub)
        set_words = -(-model.n_jobs // 32)
        set_at = quads(model.state_words) + model.row_words
        self.record_words = quads(set_at + set_words + 3)
        table = 4 * model.n_jobs * model.row_words
        shared_rows = table <= SHARED_ROWS_LIMIT
        defines = {
            "N_JOBS": model.n_jobs,
            **model.defines,
            "WIDE": int(model.wide),
            "BLOCK": BLOCK,
            "ROWS_SHARED": int(shared_rows),
        }
        module = load_module([model.header, SOURCE], defines, DEVICE)
        self._functions = {name: module.get_function(name) for name in KERNELS}
        pair = words_per_pair(wide=model.wide)
        lanes = LANES * set_words
        warp_words = 2 * -(-model.n_machines // 4) * 4 + lanes * pair + lanes
        self._expand_words = BLOCK // LANES * warp_words + shared_rows * table // 4
        expand_bytes = 4 * self._expand_words
        self._functions["expand"].max_dynamic_shared_size_bytes = expand_bytes
        attributes = cupy.cuda.Device(DEVICE).attributes
        self._multiprocessors = int(attributes["MultiProcessorCount"])
        rows, root = model.pack(problem, np.arange(model.n_jobs))
        self._rows = cupy.asarray(rows)
        self._bins = cupy.zeros(BINS, np.uint32)
        record = np.zeros(self.record_words, np.uint32)
        record[: len(root)] = root
        all_jobs = np.packbits(np.ones(model.n_jobs, np.uint8), bitorder="little")
        record[set_at:].view(np.uint8)[: len(all_jobs)] = all_jobs
        self._first = cupy.asarray(record)
        free, _ = cupy.cuda.runtime.memGetInfo()
        free += cupy.get_default_memory_pool().free_bytes()
        fitting = int(MEMORY_SHARE * free) // self.node_bytes
        widest = max(1, min(fitting, MAX_CANDIDATES // model.n_jobs - 1))
        self.narrowest = NARROWEST
        self.widest = 1 << widest.bit_length() - 1

    @property
    def node_bytes(self) -> int:
        """Device memory that a unit of width takes."""
        return 2 * 4 * self.record_words + 10 * self._n_jobs + 16

    def _begin(self, width: int) -> None:
        empty, n_jobs = self._cupy.empty, self._n_jobs
        self._width, self._level = width, self._first
        self._spare: Any = None  # freed before there is more
        self._keys: Any = None
        self._parents: Any = None
        self._moves: Any = None
        try:
            self._spare = [
                empty(width * self.record_words, np.uint32) for _ in range(2)
            ]
            self._keys = empty(width * n_jobs, np.int32)
            self._sides = empty(width, np.uint8)
            self._totals = empty(2 * -(-width // CHUNK), np.uint32)
            self._parents = empty(width * n_jobs, np.uint32)
            self._moves = empty(width * n_jobs, np.uint16)
            self._taken = empty(width, np.int32)
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise MemoryError from error

    def _expand(
        self, nodes: int, r: int, ub: int, alpha: np.float32, over: Callable[[], bool]
    ) -> int | None:
        fresh = np.zeros(1, CONTROL)
        fresh["least"] = NO_KEY
        self._control = self._cupy.asarray(fresh.view(np.uint32))
        piece = max(1, LAUNCH_OPERATIONS // (r * self._model.n_machines))
        alive = 0
        for first in range(0, nodes, piece):
            if over():
                return None
            last = min(first + piece, nodes)
            self._launch(
                *("expand", -(-(last - first) // (BLOCK // LANES)), self._expand_words),
                *(self._rows, self._level, np.int32(first), np.int32(last)),
                *(np.int32(r), np.int32(ub), alpha, self.lack, np.int32(self.lag)),
                *(self._sides, self._keys, self._control),
                most=8,
            )
            alive = int(self._control.get().view(CONTROL)[0]["alive"])  # waits
        return alive

    def _take(self, depth: int, nodes: int, r: int, alive: int, wanted: int) -> None:
        keys, control, n_wanted = self._keys, self._control, np.uint64(wanted)
        for step in range(PASSES if alive > wanted else 0):
            own = n_wanted, np.int32(step), control, self._bins
            blocks = -(-nodes * r // BLOCK)
            n_keys = np.uint64(nodes * r)
            self._launch("histogram", blocks, BINS, keys, n_keys, *own, most=4)
            self._launch("choose", 1, 0, *own, threads=LANES)
        parts = -(-nodes // CHUNK)
        given = np.int32(nodes), np.int32(r), n_wanted, control, self._totals
        self._launch("count", parts, 2 * CHUNK, keys, *given)
        self._launch("scan", 1, 2 * BLOCK, self._totals, np.int32(parts))
        taken = *self._row(depth), self._taken
        level = self._level, self._sides
        self._launch("take", parts, 2 * CHUNK, *level, keys, *given, *taken)

    def _make(self, depth: int, nodes: int) -> None:
        below = self._spare[depth % 2]
        given = self._rows, self._level, *self._row(depth)
        sizes = np.int32(nodes), self.lack, np.int32(self.lag)
        self._launch("make", -(-nodes // BLOCK), 0, *given, *sizes, below)
        self._level = below

    def _keys_taken(self, nodes: int) -> NDArray[np.int32]:
        found: NDArray[np.int32] = self._taken.get()[:nodes]
        return found

    def _trace(self, depth: int, nodes: NDArray[np.intp]) -> NDArray[np.uint16]:
        if not len(nodes):
            return np.zeros((0, depth), np.uint16)
        paths = self._cupy.empty(len(nodes) * depth, np.uint16)
        self._launch(
            *("trace", -(-len(nodes) // BLOCK), 0, self._parents, self._moves),
            *(np.uint64(self._width), np.int32(depth)),
            *(self._cupy.asarray(nodes.astype(np.uint32)), np.int32(len(nodes)), paths),
        )
        found: NDArray[np.uint16] = paths.get().reshape(len(nodes), depth)
        return found

    def _row(self, depth: int) -> tuple[Any, Any]:
        at = slice(depth * self._width, (depth + 1) * self._width)
        return self._parents[at], self._moves[at]

    def _launch(
        self,
        name: str,
        blocks: int,
        shared_words: int,
        *arguments: Any,
        threads: int = BLOCK,
        most: int | None = None,
    ) -> None:
        """Launch a kernel; ``most``: blocks of a multiprocessor."""
        if most is not None:
            blocks = min(blocks, most * self._multiprocessors)
        self._functions[name](
            (blocks,), (threads,), arguments, shared_mem=4 * shared_words
        )
