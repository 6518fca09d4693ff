"""The flow shop's side of the pool engine on a GPU: ``pool_parents.cu``, its tables."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.flowshop.bounds.cascade import cascade_of
from dpbb.flowshop.bounds.lb2 import JohnsonTables
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.nvrtc import load_module, require_gpu
from dpbb.kernels.pairs import EqualJobs
from dpbb.options import BranchingRule, TreeOptions
from dpbb.tree.branching import order_of

SOURCE = Path(__file__).with_name("pool_parents.cu")

WARPS = 4
"""Warps of a block, if they fit."""

CHILDREN_PER_MULTIPROCESSOR = 64
"""Those of a first batch, of each of the threads that send nodes."""

ALIGNED = 64
"""Bytes; an array on the device begins at a multiple of it."""

BACK_BIT = 1 << 15
NO_UB = int(np.iinfo(np.int32).max)
"""Above every bound."""

C_TYPES = {1: "u8", 2: "u16", 4: "u32"}


def narrowest(values: NDArray[Any]) -> NDArray[Any]:
    """Return the values in the narrowest unsigned integers."""
    return np.ascontiguousarray(values, np.min_scalar_type(int(values.max(initial=0))))


class PoolDevice:
    """A flow shop with its tree on one CUDA device; a ``Brancher`` of the pool engine.

    Parameters
    ----------
    problem, tree
        What the tree is a function of.
    device
        CUDA ordinal.
    block_size
        Threads of a block; None: the kernel's own.
    pairs : ndarray of intp, shape (n_pairs, 2)
        Machines whose two-machine bounds tighten children of all depths; default: as
        the tree's bound says.

    Raises
    ------
    EngineUnavailable
        No such device, or its compiler refused the kernel.
    OptionError
        A node does not fit shared memory.
    """

    least_part = 256

    def __init__(
        self,
        problem: FlowShopProblem,
        tree: TreeOptions,
        device: int,
        *,
        block_size: int | None = None,
        pairs: NDArray[np.intp] | None = None,
    ) -> None:
        self._cupy = require_gpu(device)
        self._device = device
        self._own = threading.local()
        attributes = self._cupy.cuda.Device(device).attributes
        self._multiprocessors = int(attributes["MultiProcessorCount"])
        self.n_jobs, n_machines = problem.times.shape
        self.first_size = self._multiprocessors * CHILDREN_PER_MULTIPROCESSOR
        times = problem.times[order_of(tree, self.n_jobs)]
        first, last = 1, self.n_jobs
        if pairs is None:
            cascade = cascade_of(tree.bound, *times.shape)
            pairs = np.empty((0, 2), np.intp)
            if cascade is not None:
                first, last = cascade.first, cascade.last
                pairs = np.array(cascade.pairs, np.intp)
        self._numbers = first, last, min(tree.branching_ub or 0, NO_UB)
        johnson = JohnsonTables.of(times, pairs)
        steps = narrowest(
            np.stack(
                [johnson.order, johnson.first, johnson.lag, johnson.second], axis=2
            )
        )
        kind = np.uint32 if steps.itemsize > 2 else np.uint16
        pitch = -(-len(pairs) // 32) * 32
        table = np.zeros((self.n_jobs, pitch, 4), kind)
        table[:, : len(pairs)] = steps.transpose(1, 0, 2)
        equal = EqualJobs.of(problem, tree)
        kinds = np.arange(self.n_jobs) if equal is None else equal.kinds
        small_times = narrowest(times)
        is_short = problem.trivial_ub <= 1 << 16
        limit = int(attributes["MaxSharedMemoryPerBlockOptin"])
        warps = WARPS if block_size is None else block_size // 32
        per_warp = warp_bytes(self.n_jobs, n_machines, 2 if is_short else 4)
        while warps > 1 and warps * per_warp > limit:
            warps //= 2
        self._warps, self._shared_bytes = warps, warps * per_warp
        if self._shared_bytes > limit:
            raise OptionError(
                f"engine: expected cpu or gpu, as a node of {self.n_jobs} jobs takes "
                f"{per_warp} bytes of shared memory of {limit} in engine pool"
            )
        defines: dict[str, int | str] = {
            "N_JOBS": self.n_jobs,
            "N_MACHINES": n_machines,
            "N_PAIRS": len(pairs),
            "PITCH": pitch,
            "WARPS": warps,
            "RULE": list(BranchingRule).index(tree.branching),
            "TIME": C_TYPES[small_times.itemsize],
            "STEP": C_TYPES[table.itemsize],
            "END": "u16" if is_short else "u32",
        }
        ends = problem.least_heads, problem.least_tails
        with self._cupy.cuda.Device(device):
            module = load_module([SOURCE], defines, device)
            self._kernel = module.get_function("branch_pool")
            self._kernel.max_dynamic_shared_size_bytes = self._shared_bytes
            self._tables = [
                self._cupy.asarray(part)
                for part in (
                    small_times,
                    pairs.astype(np.uint16),
                    table,
                    *(end.astype(np.int32) for end in ends),
                    kinds.astype(np.uint16),
                )
            ]
            # The streams of threads do not wait for this one, and its copies may be
            # late: a busy device once bounded nodes by tables that were not there.
            self._cupy.cuda.get_current_stream().synchronize()

    @staticmethod
    def obstacle(problem: FlowShopProblem) -> str | None:
        """None for a flow shop whose digits fit 15 bits."""
        if problem.n_jobs >= BACK_BIT:
            return f"expected less than {BACK_BIT} jobs, got {problem.n_jobs}"
        return None

    def branch(
        self, nodes: Any, ub: int
    ) -> tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.int32]]:
        """Return the open children of nodes, in any order; waits for them.

        ``nodes`` has ``rows``, ``front`` and ``back``; see ``dpbb.engines.pool.nodes``.
        """
        cupy, count = self._cupy, len(nodes.rows)
        fixed = nodes.front.sum(dtype=np.int64) + nodes.back.sum(dtype=np.int64)
        most = self.n_jobs * count - int(fixed)
        with cupy.cuda.Device(self._device), self._stream() as stream:
            mail = self._own.mail
            given = nodes.rows, nodes.front, nodes.back
            total, *there = mail.send(stream, np.zeros(1, np.uint32), *given)
            found = [
                cupy.empty((most,), kind) for kind in (np.int32, np.uint16, np.int32)
            ]
            blocks = min(-(-count // self._warps), 16 * self._multiprocessors)
            numbers = map(np.int32, (*self._numbers, min(ub, NO_UB), count))
            self._kernel(
                (blocks,),
                (32 * self._warps,),
                (*there, *self._tables, *numbers, total, *found),
                shared_mem=self._shared_bytes,
            )
            made = int(mail.fetch(stream, total)[0][0])
            parent, code, bounds = mail.fetch(stream, *(part[:made] for part in found))
            return parent, code, bounds

    def _stream(self) -> Any:
        """Return this thread's stream: what threads do goes on side by side."""
        if not hasattr(self._own, "stream"):
            self._own.stream = self._cupy.cuda.Stream(non_blocking=True)
            self._own.mail = _Mail(self._cupy)
        return self._own.stream


def warp_bytes(n_jobs: int, n_machines: int, end_bytes: int) -> int:
    """Shared memory of a warp: ``WARP_WORDS``."""
    ends = -(-n_jobs * n_machines * end_bytes // 4)
    return 4 * (3 * n_machines + 2 * n_jobs + 2 * -(-2 * n_jobs // 4) + ends)


class _Mail:
    """Pinned memory of one thread, which is copied at the full rate, all at once."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._memory: Any = None
        self._size = 0

    def send(self, stream: Any, *parts: NDArray[Any]) -> list[Any]:
        """Return copies on the device; what was sent before has to be there."""
        places, size = self._places(parts)
        for part, place in zip(parts, places, strict=True):
            np.copyto(self._view(part, place), part)
        there = self._cupy.empty((size,), np.uint8)
        there.data.copy_from_host_async(self._memory.ptr, size, stream)
        return [
            there[place : place + part.nbytes].view(part.dtype).reshape(part.shape)
            for part, place in zip(parts, places, strict=True)
        ]

    def fetch(self, stream: Any, *parts: Any) -> list[NDArray[Any]]:
        """Return copies on the host; waits for them."""
        places, _ = self._places(parts)
        for part, place in zip(parts, places, strict=True):
            if part.nbytes:
                part.data.copy_to_host_async(
                    self._memory.ptr + place, part.nbytes, stream
                )
        stream.synchronize()
        return [
            self._view(part, place).copy()
            for part, place in zip(parts, places, strict=True)
        ]

    def _places(self, parts: Sequence[Any]) -> tuple[list[int], int]:
        """Where each part begins, and the bytes of all; there is room for them."""
        places, size = list[int](), 0
        for part in parts:
            places.append(size)
            size += -(-part.nbytes // ALIGNED) * ALIGNED
        if size > self._size:
            self._size = size * 3 // 2
            self._memory = self._cupy.cuda.alloc_pinned_memory(self._size)
        return places, size

    def _view(self, part: Any, place: int) -> NDArray[Any]:
        count = math.prod(part.shape)
        whole = np.frombuffer(self._memory, part.dtype, count, place)
        return whole.reshape(part.shape)
