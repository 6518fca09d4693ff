"""LB1 and LB2 of many nodes on a GPU; ``cuda/nodes.cu`` says how."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.flowshop.bounds.lb2 import JohnsonTables
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.makespan import longest_makespan
from dpbb.kernels.cuda_pairs import NARROW_LIMIT
from dpbb.kernels.nvrtc import load_module, require_gpu

SOURCE = Path(__file__).parent / "cuda" / "nodes.cu"

STAGE_BYTES = 8192
"""Shared memory of a block for the jobs of some pairs, if one pair needs no more."""

BLOCKS_WANTED = 3
"""Blocks that should fit a multiprocessor with the words of a thread."""

MOST_WORDS = 2
"""Words of a thread, unless others are asked for."""


def defines_of(
    n_jobs: int,
    n_machines: int,
    *,
    wide: bool,
    shared_bytes: int,
    words: int | None = None,
) -> dict[str, int]:
    """Return the macros of the kernel for a device's shared memory.

    ``words``: words of a thread; default: as many as leave room for several blocks.

    OptionError: the device has too little shared memory for so many jobs.
    """
    chunk = max(1, STAGE_BYTES // (16 * n_jobs))
    asked = range(MOST_WORDS, 0, -1) if words is None else [words]
    shapes = [(threads, some) for threads in (128, 64, 32) for some in asked]
    fits = []
    for threads, some in shapes:
        defines = {
            "N_JOBS": n_jobs,
            "N_MACHINES": n_machines,
            "THREADS": threads,
            "WORDS": some,
            "WIDE": int(wide),
            "CHUNK": chunk,
        }
        size = shared_bytes_of(defines)
        if size * BLOCKS_WANTED <= shared_bytes:
            return defines
        if size <= shared_bytes:
            fits.append(defines)
    if not fits:
        raise OptionError(
            f"device: expected cpu for {n_jobs} jobs: they need more shared memory "
            f"than the {shared_bytes / 1024:.0f} KiB of the GPU"
        )
    return fits[-1]


def shared_bytes_of(defines: dict[str, int]) -> int:
    """Shared memory of a block."""
    masks = defines["N_JOBS"] * block_nodes(defines)
    return -(-masks // 16) * 16 + 16 * defines["CHUNK"] * defines["N_JOBS"]


def block_nodes(defines: dict[str, int]) -> int:
    """Nodes that a block has at a time."""
    return defines["THREADS"] * defines["WORDS"] * (1 if defines["WIDE"] else 2)


class GpuNodes:
    """An instance with pairs of machines on a device, for any number of batches.

    Parameters
    ----------
    pairs : ndarray of intp, shape (n_pairs, 2)
        What LB2 looks at; without any it is LB1.

    Raises
    ------
    EngineUnavailable
        No such device, or its compiler refused the kernel.
    OptionError
        The device has too little shared memory for so many jobs.
    """

    def __init__(
        self,
        instance: FlowShopInstance,
        pairs: NDArray[np.intp],
        device: int = 0,
        words: int | None = None,
    ) -> None:
        self._cupy = require_gpu(device)
        self._device = device
        times = instance.times
        tables = JohnsonTables.of(times, pairs)
        parts = (tables.order, tables.first, tables.lag, tables.second)
        attributes = self._cupy.cuda.Device(device).attributes
        most_shared = int(attributes["MaxSharedMemoryPerBlockOptin"])
        self._defines = defines_of(
            *times.shape,
            wide=longest_makespan(times) >= NARROW_LIMIT,
            shared_bytes=most_shared,
            words=words,
        )
        self._shared = shared_bytes_of(self._defines)
        per_multiprocessor = max(1, min(16, most_shared // self._shared))
        self._most_blocks = per_multiprocessor * int(attributes["MultiProcessorCount"])
        self._n_pairs = len(pairs)
        put = self._cupy.asarray
        module = load_module([SOURCE], self._defines, device)
        with self._cupy.cuda.Device(device):
            self._times = put(_rows(times, wide=bool(self._defines["WIDE"])))
            self._pairs = put(pairs.astype(np.int32))
            self._steps = put(np.stack(parts, axis=2).astype(np.uint32))
            self._kernel = module.get_function("bound_nodes")
            self._kernel.max_dynamic_shared_size_bytes = self._shared

    def bounds(
        self, permutations: Any, d1: Any, d2: Any, *, strong: bool, result: Any = None
    ) -> Any:
        """Return the bounds of nodes on the device, int32, shape (r,); does not wait.

        Parameters
        ----------
        permutations : CuPy array of uint16, shape (r, n_jobs), in C order
        d1, d2 : CuPy arrays of int32, shape (r,)
        strong
            As in ``Nodes.of``.
        result : CuPy array of int32, shape (r,)
            Where to write them; default: a new array.
        """
        cupy, count = self._cupy, len(permutations)
        per_block = block_nodes(self._defines)
        blocks = min(self._most_blocks, -(-count // per_block))
        wide = bool(self._defines["WIDE"])
        with cupy.cuda.Device(self._device):
            if result is None:
                result = cupy.empty((count,), np.int32)
            if count:
                size = blocks * 2 * self._defines["N_MACHINES"] * per_block
                ends = cupy.empty((size,), np.int32 if wide else np.uint16)
                arrays = (permutations, d1, d2, self._times, self._pairs, self._steps)
                numbers = (self._n_pairs, int(strong))
                self._kernel(
                    (blocks,),
                    (self._defines["THREADS"],),
                    (*arrays, ends, result, *map(np.int32, numbers), np.int64(count)),
                    shared_mem=self._shared,
                )
        return result


def _rows(times: NDArray[np.int64], *, wide: bool) -> NDArray[Any]:
    """Return the times in rows of whole quads, 16 bytes each."""
    dtype, per_quad = (np.uint32, 4) if wide else (np.uint16, 8)
    n_jobs, n_machines = times.shape
    rows = np.zeros((n_jobs, -(-n_machines // per_quad) * per_quad), dtype)
    rows[:, :n_machines] = times
    return rows


@functools.lru_cache(maxsize=16)
def nodes_of(
    instance: FlowShopInstance, pairs: tuple[tuple[int, int], ...], device: int = 0
) -> GpuNodes:
    """Return the ``GpuNodes`` of an instance; it stays there for the next call."""
    return GpuNodes(instance, np.array(pairs, np.intp).reshape(-1, 2), device)
