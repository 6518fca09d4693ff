"""Tabu search on a GPU: whole generations on the device, many searches a launch.

The kernels say how; here is what they are compiled for, their memory, and launches of
as many generations as last for some tenths of a second, so that limits are kept.
"""

import ctypes
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.flowshop.heuristics.tabu_cpu import Searches
from dpbb.kernels.nvrtc import load_module, require_gpu

SOURCE = Path(__file__).with_name("tabu.cu")
DEVICE = 0
LANES = 32
TILE_SIDE = 8
SLOTS = 3
BATCH = 8
BLOCKS = (128, 256, 512)
LAUNCH_OPERATIONS = 1e12
LAUNCH_GENERATIONS = 2000
"""Of all searches in one launch, at most: some tenths of a second on an H200."""

SHARING_PAYS = 10_000_000
"""Searches x jobs^2 x machines from which shared columns pay (measured on an H200: one
search at 30x500 is 7.5 and loses, at 30x650 12.7 and gains; 264 at 15x100 are 40 and
gain)."""

_alone = threading.Lock()
"""Blocks of a launch wait for one another: no two launches share a device."""


ARRAYS = (
    *("times", "rows", "parents", "bests", "values", "expiry", "history", "moves"),
    *("steps", "heads", "tails", "minima", "counters", "neighbours"),
)
"""Arguments of the kernel in their order, after numbers; see ``tabu.cu``."""


class Rows:
    """The times of an instance as the kernels read them; see ``tabu_columns.cuh``.

    A single machine gets a second one without times, which changes nothing.

    ``times``: ndarray of int64, shape (n_jobs, n_machines).
    """

    def __init__(self, times: NDArray[np.int64]) -> None:
        if times.shape[1] == 1:
            times = np.insert(times, 1, 0, axis=1)
        n_jobs, self.n_machines = times.shape
        n_cells = self.n_machines - 1
        self.times = np.ascontiguousarray(times, np.int32)
        self.width = -(-n_cells // 4) * 4
        bias = int(times.sum(axis=1).max())
        # a path visits every job, and enters every machine but the first once: no
        # completion time behind the end of machine 0 is longer than
        behind = times[:, 1:].max(axis=0).sum()
        longest = (times.max(axis=1) - times[:, 0]).sum() + behind
        self.wide = int(longest) + bias > 0xFFFF
        self.bias = 0 if self.wide else bias * 0x10001
        cells = np.zeros((n_jobs + 1, self.width, 2), np.int32)
        ends = np.cumsum(times, axis=1)
        cells[:n_jobs, :n_cells, 0] = ends[:, 1:] - times[:, :1]
        cells[:n_jobs, :n_cells, 1] = -ends[:, :-1]
        if not self.wide:
            cells = (cells & 0xFFFF) << np.array([0, 16])
            cells = cells.sum(axis=-1).astype(np.uint32)
        self.cells = cells.view(np.uint32) if self.wide else cells


class GpuSearches(Searches):
    """Searches on a device, as many generations in a launch as keep limits.

    All columns of completion times are shared, but with few searches of a small shop
    none: a parent's tables are a chain of dependent steps, which take longer than they
    save.

    Raises
    ------
    EngineUnavailable
        No such device, or its compiler refused the kernels.
    OptionError
        The device has too little memory.
    """

    def __init__(self, *how: Any, **more: Any) -> None:
        super().__init__(*how, **more)
        self._cupy = require_gpu(DEVICE)
        self._enter()
        n_searches, n_jobs = self.parents.shape
        self._rows = Rows(self.times)
        part = int(LAUNCH_OPERATIONS / max(1.0, self.operations * n_searches))
        self.part = min(max(1, part), LAUNCH_GENERATIONS)
        side = max(1, -(-(n_jobs - sum(self.kept) - 1) // TILE_SIDE))
        self._compile(side * (side + 1) // 2)
        self._allocate()

    def _enter(self) -> None:
        """Give this thread the device's context: calls of the driver need one."""
        self._cupy.cuda.runtime.setDevice(DEVICE)

    def _compile(self, tiles: int) -> None:
        """``tiles``: how many warps a generation of one search can use."""
        rows = self._rows
        n_searches, n_jobs = self.parents.shape
        attributes = self._cupy.cuda.Device(DEVICE).attributes
        most_shared = int(attributes["MaxSharedMemoryPerBlockOptin"])
        shared = 16 + 4 * (-(-n_jobs // 4) * 4)
        steps_bytes = 4 * n_jobs * rows.width
        in_shared = shared + steps_bytes <= most_shared
        shared += steps_bytes * in_shared
        if shared > most_shared:
            raise OptionError(
                f"device: expected an instance that needs at most {most_shared:,} "
                f"bytes of shared memory, got one that needs {shared:,}"
            )
        n_sms = int(attributes["MultiProcessorCount"])
        # chosen by measurements on an H200
        warps = tiles * n_searches / n_sms
        fits = [block for block in BLOCKS if block // LANES >= warps]
        block = fits[0] if fits else BLOCKS[-1]
        sharing = n_searches * n_jobs**2 * self.times.shape[1] >= SHARING_PAYS
        defines = {
            "N_MACHINES": rows.n_machines,
            "WIDE": int(rows.wide),
            "SHARED": int(sharing),
            "BLOCK": block,
            "STEPS_SHARED": int(in_shared),
        }
        module = load_module([SOURCE], defines, DEVICE)
        with self._cupy.cuda.Device(DEVICE):
            kernel = module.get_function("search_swaps")
            kernel.max_dynamic_shared_size_bytes = shared
            fit = self._cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
                kernel.kernel.ptr, block, shared
            )
        blocks = max(1, int(fit)) * n_sms
        self._kernel, self._block, self._shared = kernel, block, shared
        useful = -(-tiles // (block // LANES))  # more blocks have nothing to do
        self._group = max(1, min(blocks // min(n_searches, blocks), useful))
        self._groups = min(n_searches, blocks // self._group)

    def _allocate(self) -> None:
        cupy, rows = self._cupy, self._rows
        n_searches, n_jobs = self.parents.shape
        groups = self._groups
        length = -(-n_jobs // BATCH) * BATCH
        shapes: dict[str, tuple[tuple[int, ...], type]] = {
            "parents": ((n_searches, n_jobs), np.uint32),
            "bests": ((n_searches, n_jobs), np.uint32),
            "values": ((n_searches, 2), np.uint32),
            "expiry": ((n_searches * n_jobs * n_jobs,), np.uint32),
            "steps": ((groups, n_jobs, rows.width), np.uint32),
            "heads": ((groups, rows.n_machines - 1, length), np.uint32),
            "tails": ((groups, rows.n_machines, length), np.uint32),
            "minima": ((groups, SLOTS), np.uint64),
            "counters": ((groups, 1 + SLOTS), np.uint32),
            "neighbours": ((max(1, self.n_neighbours),), np.uint32),
        }
        needed = sum(
            int(np.prod(shape)) * np.dtype(kind).itemsize
            for shape, kind in shapes.values()
        )
        with cupy.cuda.Device(DEVICE):
            free = cupy.cuda.runtime.memGetInfo()[0]
            free += cupy.get_default_memory_pool().free_bytes()
            if needed > 0.9 * free:
                raise OptionError(
                    f"searches: expected so few that they need at most "
                    f"{0.9 * free / 2**30:.1f} GiB of the device's memory, got "
                    f"{n_searches}, which need {needed / 2**30:.1f}"
                )
            self._arrays = {
                name: cupy.zeros(shape, kind) for name, (shape, kind) in shapes.items()
            }
            self._arrays["times"] = cupy.asarray(rows.times)
            self._arrays["rows"] = cupy.asarray(rows.cells)
            for name in ("parents", "bests", "values"):
                self._arrays[name].set(getattr(self, name).astype(np.uint32))

    def neighbours(self) -> NDArray[np.int64]:
        """See ``Searches``."""
        self.advance(self.generation + 1, with_neighbours=True)
        found: NDArray[np.uint32] = self._arrays["neighbours"].get()
        return found[: self.n_neighbours].astype(np.int64)

    def advance(self, last: int, *, with_neighbours: bool = False) -> None:
        """See ``Searches``: one launch."""
        cupy, rows = self._cupy, self._rows
        n_searches, n_jobs = self.parents.shape
        first, end = self.generation + 1, last + 1
        self._enter()  # in the caller's thread, which may be another one
        with _alone, cupy.cuda.Device(DEVICE):
            self._arrays["history"] = cupy.zeros((n_searches, end - first), np.uint32)
            self._arrays["moves"] = cupy.zeros((n_searches, end - first), np.int32)
            nothing = np.full((self._groups, SLOTS), 2**64 - 1, np.uint64)
            self._arrays["minima"].set(nothing)
            self._arrays["counters"].set(np.zeros((self._groups, 1 + SLOTS), np.uint32))
            places = {name: int(one.data.ptr) for name, one in self._arrays.items()}
            if not with_neighbours:
                places["neighbours"] = 0
            numbers = [
                *(n_jobs, self.kept[0], n_jobs - self.kept[1]),
                *(n_searches, self._group, first, end, self.tenure),
                *(int(rows.times[:, 0].sum()), rows.bias),
            ]
            given: list[Any] = [ctypes.c_uint32(number) for number in numbers]
            given += [ctypes.c_uint64(places[name]) for name in ARRAYS]
            addresses = (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given))
            stream = cupy.cuda.get_current_stream()
            # others of the same kernel may have said less
            self._kernel.max_dynamic_shared_size_bytes = self._shared
            cupy.cuda.driver.launchCooperativeKernel(
                self._kernel.kernel.ptr,
                *(self._groups * self._group, 1, 1),
                *(self._block, 1, 1),
                *(self._shared, stream.ptr),
                ctypes.addressof(addresses),
            )
            self.history[:, first:end] = self._arrays["history"].get()
            self.moves[:, first - 1 : last] = self._arrays["moves"].get()
            for name in ("parents", "bests", "values"):
                getattr(self, name)[:] = self._arrays[name].get()
        self.generation = last
