"""The flow shop's side of the pool engine on a GPU: two kernels and their tables.

``pool_parents.cu`` branches on parents, a warp each, and answers with open children.
``pool_nodes.cu`` bounds children, a thread each, as the founding papers do.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.kernels.nvrtc import load_module, require_gpu
from dpbb.options import BranchingRule

if TYPE_CHECKING:
    from dpbb.flowshop.models.pool import PoolFlowShop
    from dpbb.kernels.pool_models import Nodes

HERE = Path(__file__).parent

PLACEMENTS = ("global", "tables", "all")
"""Where the tables of nodes are: the last that fits shared memory with two blocks a
multiprocessor. Its number is the macro's value."""

BLOCK_SIZE = 256
"""Threads of a block of nodes, as the papers found best."""

WARPS = 4
"""Warps of a block of parents, if they fit."""

ALIGNED = 64
"""Bytes; an array on the device begins at a multiple of it."""

NO_UB = int(np.iinfo(np.int32).max)
"""Above every bound."""

C_TYPES = {1: "u8", 2: "u16", 4: "u32"}


class Tables(NamedTuple):
    """The papers' structures but RM and QM, which every node has of its own."""

    ptm: NDArray[Any]  # (n, m): times
    mm: NDArray[np.uint16]  # (P, 2): pairs of machines
    lm: NDArray[Any]  # (P, n): lag of each job
    jm: NDArray[Any]  # (P, n): jobs in Johnson's order


def tables_of(shop: PoolFlowShop) -> Tables:
    """Return the structures in the narrowest unsigned integers that hold them."""
    johnson = shop.johnson
    lags = np.empty_like(johnson.lag)
    np.put_along_axis(lags, johnson.order, johnson.lag, axis=1)
    return Tables(
        _narrowest(shop.times),
        shop.pairs.astype(np.uint16),
        _narrowest(lags),
        _narrowest(johnson.order, shop.n_jobs - 1),
    )


def _narrowest(values: NDArray[Any], largest: int | None = None) -> NDArray[Any]:
    """Return the values in the narrowest unsigned integers."""
    largest = int(values.max(initial=0)) if largest is None else largest
    kind = np.min_scalar_type(largest)
    return np.ascontiguousarray(values, kind)


def nodes_defines(
    shop: PoolFlowShop, tables: Tables, block_size: int, placement: str
) -> dict[str, int | str]:
    """Return the macros of ``pool_nodes.cu``."""
    return {
        "N_JOBS": shop.n_jobs,
        "N_MACHINES": shop.n_machines,
        "N_PAIRS": len(shop.pairs),
        "THREADS": block_size,
        "TIME": C_TYPES[tables.ptm.itemsize],
        "LAG": C_TYPES[tables.lm.itemsize],
        "JOB": C_TYPES[tables.jm.itemsize],
        "PLACEMENT": PLACEMENTS.index(placement),
    }


def nodes_shared_bytes(tables: Tables, placement: str) -> int:
    """Shared memory of a block of nodes."""
    kept = {"global": (), "tables": (tables.jm, tables.ptm), "all": tables}[placement]
    return sum(-(-part.nbytes // 4) * 4 for part in kept)


def placement_of(tables: Tables, limit: int) -> str:
    """Return the most that fits shared memory with two blocks a multiprocessor."""
    sizes = {place: nodes_shared_bytes(tables, place) for place in PLACEMENTS}
    return [place for place in PLACEMENTS if 2 * sizes[place] <= limit][-1]


def parents_defines(shop: PoolFlowShop, warps: int) -> dict[str, int | str]:
    """Return the macros of ``pool_parents.cu``."""
    johnson = shop.johnson
    parts = (johnson.order, johnson.first, johnson.lag, johnson.second)
    widest = max([shop.n_jobs, *(int(part.max(initial=0)) for part in parts)])
    return {
        "N_JOBS": shop.n_jobs,
        "N_MACHINES": shop.n_machines,
        "N_PAIRS": len(shop.pairs),
        "PITCH": -(-len(shop.pairs) // 32) * 32,
        "WARPS": warps,
        "RULE": list(BranchingRule).index(shop.branching),
        "TIME": C_TYPES[_narrowest(shop.times).itemsize],
        "STEP": "u16" if widest < 1 << 16 else "u32",
        "END": "u16" if shop.most <= 1 << 16 else "u32",
    }


def parents_shared_bytes(defines: dict[str, int | str]) -> int:
    """Shared memory of a block of parents."""
    n, m = int(defines["N_JOBS"]), int(defines["N_MACHINES"])
    size = 2 if defines["END"] == "u16" else 4
    words = 3 * m + 2 * n + 2 * -(-2 * n // 4) + -(-n * m * size // 4)
    return 4 * words * int(defines["WARPS"])


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


class PoolDevice:
    """A flow shop with its tree on one CUDA device; see ``PoolModel.on_device``.

    Parameters
    ----------
    shop
        The model.
    device
        CUDA ordinal.
    nodes
        Whether nodes are bounded there, a thread each; else parents are branched on.
    block_size
        Threads of a block; None: the kernels' own.

    Raises
    ------
    EngineUnavailable
        No such device, or its compiler refused the kernel.
    OptionError
        Tables do not fit shared memory.
    """

    def __init__(
        self,
        shop: PoolFlowShop,
        device: int,
        *,
        nodes: bool = False,
        block_size: int | None = None,
    ) -> None:
        self._cupy = require_gpu(device)
        self._shop, self._device = shop, device
        self._own = threading.local()
        attributes = self._cupy.cuda.Device(device).attributes
        self._multiprocessors = int(attributes["MultiProcessorCount"])
        self._shared_limit = int(attributes["MaxSharedMemoryPerBlockOptin"])
        self.first_size = 2 * self._multiprocessors * BLOCK_SIZE
        with self._cupy.cuda.Device(device):
            if nodes:
                self._prepare_nodes(block_size or BLOCK_SIZE)
            else:
                self._prepare_parents(block_size)
            # The streams of threads do not wait for this one, and its copies may be
            # late: a busy device once bounded nodes by tables that were not there.
            self._cupy.cuda.get_current_stream().synchronize()

    def _prepare_nodes(self, block_size: int) -> None:
        tables = tables_of(self._shop)
        placement = placement_of(tables, self._shared_limit)
        shared = nodes_shared_bytes(tables, placement)
        defines = nodes_defines(self._shop, tables, block_size, placement)
        self._threads = block_size
        self._load("pool_nodes.cu", "bound_pool", defines, shared)
        shop, put = self._shop, self._cupy.asarray
        self._tables = [
            put(part) for part in (*tables, shop.least_heads, shop.least_tails)
        ]

    def _prepare_parents(self, block_size: int | None) -> None:
        warps = WARPS if block_size is None else block_size // 32
        defines = parents_defines(self._shop, warps)
        while parents_shared_bytes(defines) > self._shared_limit and warps > 1:
            warps //= 2
            defines = parents_defines(self._shop, warps)
        shared = parents_shared_bytes(defines)
        if shared > self._shared_limit:
            raise OptionError(
                f"engine: expected cpu or gpu, as a node of {self._shop.n_jobs} jobs "
                f"takes {shared} bytes of shared memory of {self._shared_limit} in "
                "engine pool"
            )
        self._threads, self._warps = 32 * warps, warps
        self._load("pool_parents.cu", "branch_pool", defines, shared)
        put, shop, johnson = self._cupy.asarray, self._shop, self._shop.johnson
        kind = np.uint16 if defines["STEP"] == "u16" else np.uint32
        steps = np.zeros((self._shop.n_jobs, int(defines["PITCH"]), 4), kind)
        parts = (johnson.order, johnson.first, johnson.lag, johnson.second)
        steps[:, : len(self._shop.pairs)] = np.stack(parts, axis=2).transpose(1, 0, 2)
        self._tables = [
            put(part)
            for part in (
                _narrowest(shop.times),
                shop.pairs.astype(np.uint16),
                steps,
                shop.least_heads,
                shop.least_tails,
                shop.kinds.astype(np.uint16),
            )
        ]

    def _load(
        self, source: str, name: str, defines: dict[str, int | str], shared: int
    ) -> None:
        module = load_module([HERE / source], defines, self._device)
        self.kernel = module.get_function(name)
        self.kernel.max_dynamic_shared_size_bytes = shared
        self.shared_bytes = shared

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self._threads

    def branch(
        self, nodes: Nodes, ub: int
    ) -> tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.int32], int]:
        """Return the open children of nodes; waits for them.

        Returns
        -------
        parent, code, bounds
            As of ``PoolModel.branch``, in any order, with tightened bounds.
        tightened
            How many children had pairs looked at.
        """
        cupy, shop = self._cupy, self._shop
        count = len(nodes.rows)
        fixed = sum(int(part.sum(dtype=np.int64)) for part in nodes[1:])
        most = shop.n_jobs * count - fixed
        with cupy.cuda.Device(self._device), self._stream() as stream:
            mail = self._mail()
            totals, *there = mail.send(stream, np.zeros(2, np.uint32), *nodes)
            parents = cupy.empty((most,), np.int32)
            codes = cupy.empty((most,), np.uint16)
            bounds = cupy.empty((most,), np.int32)
            blocks = min(-(-count // self._warps), 16 * self._multiprocessors)
            numbers = (
                *(shop.first, shop.last, min(shop.branching_ub or 0, NO_UB)),
                *(min(ub, NO_UB), count),
            )
            self.kernel(
                (blocks,),
                (self._threads,),
                (
                    *there,
                    *self._tables,
                    *map(np.int32, numbers),
                    *(totals, parents, codes, bounds),
                ),
                shared_mem=self.shared_bytes,
            )
            made, tightened = mail.fetch(stream, totals)[0].tolist()
            some = slice(made)
            found = mail.fetch(stream, parents[some], codes[some], bounds[some])
            return *found, tightened

    def bound(self, nodes: Nodes, ub: int) -> NDArray[np.int32]:
        """Return the bounds of nodes; what is below ``ub`` is exact. Waits for them."""
        cupy, count = self._cupy, len(nodes.rows)
        if not count:
            return np.empty(0, np.int32)
        with cupy.cuda.Device(self._device), self._stream() as stream:
            mail = self._mail()
            there = mail.send(stream, *nodes)
            bounds = cupy.empty((count,), np.int32)
            numbers = (*(self._shop.first, self._shop.last), *(min(ub, NO_UB), count))
            self.kernel(
                (-(-count // self._threads),),
                (self._threads,),
                (*there, *self._tables, *map(np.int32, numbers), bounds),
                shared_mem=self.shared_bytes,
            )
            found: NDArray[np.int32] = mail.fetch(stream, bounds)[0]
        return found

    def _stream(self) -> Any:
        """Return this thread's stream: what threads do goes on side by side."""
        if not hasattr(self._own, "stream"):
            self._own.stream = self._cupy.cuda.Stream(non_blocking=True)
        return self._own.stream

    def _mail(self) -> _Mail:
        """Return this thread's pinned memory."""
        if not hasattr(self._own, "mail"):
            self._own.mail = _Mail(self._cupy)
        mail: _Mail = self._own.mail
        return mail
