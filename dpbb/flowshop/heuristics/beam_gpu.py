"""Beam search on a GPU: levels of a million nodes and more; the kernels say how."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.beam import load, widen
from dpbb.flowshop.heuristics.beam_levels import NO_KEY, Guide, Outcome, Root, best_of
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.heuristics.search import Search
from dpbb.flowshop.models.lb1_cuda import Lb1, quads
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.cuda_pairs import pack_pairs, words_per_pair
from dpbb.kernels.nvrtc import load_module, require_gpu
from dpbb.options import LB1
from dpbb.problem import Incumbent

logger = logging.getLogger(__name__)

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
        ("alive", np.uint64),
        ("rank", np.uint64),
        ("least", np.int32),
        ("most", np.int32),
        ("low", np.int32),
        ("shift", np.int32),
        ("over", np.uint32),
        ("unused", np.uint32),
    ]
)


def beam(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) by wider and wider beams.

    On the first device; what the beams find is polished on ``search.threads`` threads.
    """
    cupy = require_gpu(DEVICE)
    incumbent = neh(search) if start is None else start
    cupy.cuda.runtime.setDevice(DEVICE)  # a new thread has no context yet
    with cupy.cuda.Device(DEVICE), cupy.cuda.Stream(non_blocking=True) as stream:
        try:
            return widen(
                search,
                incumbent,
                lambda problem, root: GpuLevels(problem, root, incumbent.value),
            )
        finally:
            stream.synchronize()
            cupy.get_default_memory_pool().free_all_blocks()


class GpuLevels:
    """Beams from one root on one device; see ``dpbb.flowshop.heuristics.beam_levels``.

    Works on the current stream.

    ``ub``: upper bound that no run is given a larger one than.

    EngineUnavailable: the kernels do not compile, or the values are too large for them.
    """

    def __init__(self, problem: FlowShopProblem, root: Root, ub: int) -> None:
        import cupy

        self._cupy = cupy
        self._model = model = Lb1.of(problem.with_bound(LB1), ub)
        self._n_jobs, self._root = model.n_jobs, root
        self._set_words = -(-model.n_jobs // 32)
        idle_at = quads(model.state_words)
        self._set_at = idle_at + model.row_words
        self.record_words = quads(self._set_at + self._set_words + 3)
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
        self._functions = {
            name: module.get_function(name)
            for name in (
                *("expand", "histogram", "choose", "count", "scan", "take", "make"),
                "trace",
            )
        }
        pair = words_per_pair(wide=model.wide)
        lanes = LANES * self._set_words
        warp_words = 2 * -(-model.n_machines // 4) * 4 + lanes * pair + lanes
        self._expand_bytes = shared_rows * table + BLOCK // LANES * 4 * warp_words
        self._functions["expand"].max_dynamic_shared_size_bytes = self._expand_bytes
        attributes = cupy.cuda.Device(DEVICE).attributes
        self._multiprocessors = int(attributes["MultiProcessorCount"])
        rows, _ = model.pack(problem, np.arange(model.n_jobs))
        self._rows = cupy.asarray(rows)
        self._bins = cupy.zeros(BINS, np.uint32)
        self._first = cupy.asarray(self._record(root))
        free, _ = cupy.cuda.runtime.memGetInfo()
        free += cupy.get_default_memory_pool().free_bytes()
        fitting = int(MEMORY_SHARE * free) // self.node_bytes
        widest = max(1, min(fitting, MAX_CANDIDATES // model.n_jobs - 1))
        self.narrowest: int = NARROWEST
        self.widest: int = 1 << widest.bit_length() - 1

    @property
    def node_bytes(self) -> int:
        """Device memory that a unit of width takes."""
        depth = len(self._root.jobs)
        return 2 * 4 * self.record_words + 4 * depth + 6 * depth + 16

    def run(
        self, width: int, ub: int, guide: Guide, rows: int, over: Callable[[], bool]
    ) -> Outcome | None:
        """See ``Levels``; None, too, if there is no memory left for the width."""
        try:
            return self._run(width, ub, guide, rows, over)
        except self._cupy.cuda.memory.OutOfMemoryError:
            logger.info("no device memory for a beam of %d nodes", width)
            return None

    def _run(
        self, width: int, ub: int, guide: Guide, rows: int, over: Callable[[], bool]
    ) -> Outcome | None:
        empty = self._cupy.empty
        n_levels = len(self._root.jobs)
        chunks = -(-width // CHUNK)
        records = self._first
        levels = [empty(width * self.record_words, np.uint32) for _ in range(2)]
        keys = empty(width * n_levels, np.int32)
        sides, totals = empty(width, np.uint8), empty(2 * chunks, np.uint32)
        parents = empty(width * n_levels, np.uint32)
        moves = empty(width * n_levels, np.uint16)
        taken = empty(width, np.int32)
        nodes, expanded, uncut = 1, 0, True
        depth = 0
        for r in range(n_levels, 0, -1):
            last = r == 1
            control = self._expand(
                *(records, nodes, r, ub, Guide.BOUND if last else guide),
                *(sides, keys, over),
            )
            if control is None:
                return None
            expanded += nodes
            alive = int(self._read(control)["alive"])
            if not alive:
                break
            wanted = min(width, rows) if last else width
            if alive > wanted:
                uncut &= last  # of complete schedules the best are enough
                for step in range(PASSES):
                    self._select(keys, nodes * r, wanted, step, control)
            at = slice(depth * width, (depth + 1) * width)
            row = parents[at], moves[at]
            sizes = np.int32(nodes), np.int32(r), np.uint64(wanted)
            parts = -(-nodes // CHUNK)
            given = *sizes, control, totals
            self._launch("count", parts, keys, *given, shared_words=2 * CHUNK)
            self._launch("scan", 1, totals, np.int32(parts), shared_words=2 * BLOCK)
            self._launch(
                *("take", parts, records, sides, keys, *given, *row, taken),
                shared_words=2 * CHUNK,
            )
            nodes = min(alive, wanted)
            depth += 1
            if not last:
                below = levels[depth % 2]
                self._launch(
                    "make",
                    -(-nodes // BLOCK),
                    *(self._rows, records, *row),
                    *(np.int32(nodes), below),
                )
                records = below
        found = taken.get()[: nodes if depth else 0]
        best = best_of(found, rows)
        whole = depth == n_levels and len(best) > 0
        return Outcome(
            self._trace(parents, moves, width, depth, best),
            uncut,
            expanded,
            int(found[best[0]]) if whole else None,
        )

    def _record(self, root: Root) -> NDArray[np.uint32]:
        """Record of the root, as the kernels have it."""
        model = self._model
        record = np.zeros(self.record_words, np.uint32)
        ends = pack_pairs(*root.ends, wide=model.wide)
        record[: len(ends)] = ends
        half = model.half
        record[model.row_words : model.state_words] = pack_pairs(
            root.remain[:half], root.remain[::-1][:half], wide=model.wide
        )
        idle = pack_pairs(*root.idle, wide=model.wide)
        at = quads(model.state_words)
        record[at : at + len(idle)] = idle
        members = np.zeros(32 * self._set_words, np.uint8)
        members[root.jobs] = 1
        bits = np.packbits(members, bitorder="little").view("<u4")
        record[self._set_at : self._set_at + len(bits)] = bits
        at = self._set_at + len(bits)
        record[at] = root.used[0] + 2 * root.used[1]
        record[at + 1 : at + 3] = root.weights.view(np.uint32)
        return record

    def _launch(
        self,
        name: str,
        blocks: int,
        *arguments: Any,
        threads: int = BLOCK,
        shared_words: int = 0,
    ) -> None:
        self._functions[name](
            (blocks,), (threads,), arguments, shared_mem=4 * shared_words
        )

    def _read(self, control: Any) -> np.void:
        return control.get().view(CONTROL)[0]

    def _expand(
        self,
        records: Any,
        nodes: int,
        r: int,
        ub: int,
        guide: Guide,
        sides: Any,
        keys: Any,
        over: Callable[[], bool],
    ) -> Any:
        """Bound all children of a level; return its control block, None if ``over``."""
        fresh = np.zeros(1, CONTROL)
        fresh["least"] = NO_KEY
        control = self._cupy.asarray(fresh.view(np.uint32))
        alpha = np.float32(1 - (r - 1) / self._n_jobs)
        piece = max(1, LAUNCH_OPERATIONS // (r * self._model.n_machines))
        blocks = 8 * self._multiprocessors
        for first in range(0, nodes, piece):
            if over():
                return None
            last = min(first + piece, nodes)
            self._functions["expand"](
                (min(blocks, -(-(last - first) // (BLOCK // LANES))),),
                (BLOCK,),
                (
                    *(self._rows, records, np.int32(first), np.int32(last)),
                    *(np.int32(r), np.int32(ub), np.int32(guide), alpha),
                    *(sides, keys, control),
                ),
                shared_mem=self._expand_bytes,
            )
            if last < nodes:
                self._read(control)  # waits
        return control

    def _select(
        self, keys: Any, n_keys: int, wanted: int, step: int, control: Any
    ) -> None:
        blocks = min(4 * self._multiprocessors, -(-n_keys // BLOCK))
        self._launch(
            "histogram",
            blocks,
            *(keys, np.uint64(n_keys), np.uint64(wanted), np.int32(step)),
            *(control, self._bins),
            shared_words=BINS,
        )
        self._launch(
            *("choose", 1, np.uint64(wanted), np.int32(step), control, self._bins),
            threads=LANES,
        )

    def _trace(
        self, parents: Any, moves: Any, width: int, depth: int, best: NDArray[np.intp]
    ) -> NDArray[np.uint16]:
        if not len(best):
            return np.zeros((0, depth), np.uint16)
        paths = self._cupy.empty(len(best) * depth, np.uint16)
        self._launch(
            "trace",
            -(-len(best) // BLOCK),
            *(parents, moves, np.uint64(width), np.int32(depth)),
            *(self._cupy.asarray(best.astype(np.uint32)), np.int32(len(best)), paths),
        )
        return paths.get().reshape(len(best), depth)
