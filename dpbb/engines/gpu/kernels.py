"""What kernels are compiled for, and the compiled ones, on one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dpbb.tree
from dpbb.engines.gpu.layout import LANES, PageLayout
from dpbb.errors import OptionError
from dpbb.kernels.cuda_model import NARROW_LIMIT, WIDE_LIMIT, CudaModel
from dpbb.kernels.nvrtc import load_module
from dpbb.options import BranchingRule

HERE = Path(__file__).parent
BRANCHING = Path(dpbb.tree.__file__).with_name("branching.cuh")

RESERVED_BYTES = 1024
"""Shared memory of a block that the system takes."""

ROW_THREADS = 256
"""Threads of a block of a kernel that has a thread for each row."""

SHARED_ROWS_LIMIT = 64 * 1024
"""Bytes up to which the job table is copied to shared memory, once a block."""
OWN_JOBS_LIMIT = 64
"""Jobs up to which a lane goes through its own ones; with more there are so many that
nearly all lanes of a warp have the same."""
ONE_SIDE_JOBS = range(65, 257)
"""Numbers of jobs with which children are bounded on one side first: fewer take longer
so, more were not measured, nor more than 20 machines."""
LEAST_GIFT = 4
"""A page is given to an idle warp only if its nodes have this many jobs left."""
MOST_CHILDREN = 128
"""With more surviving children than this only a part of a page is decomposed:"""
FEW_CHILDREN = 64
"""nodes with so many of them, or one node."""
FINE_JOBS = range(21, 41)
FINE_CHILDREN = 96, 32
"""The same for so many jobs: there it costs no rate, and fewer nodes stay open."""


@dataclass(frozen=True, slots=True)
class KernelShape:
    """The compile-time constants of a kernel and what follows from them.

    Parameters
    ----------
    model
        What a node is, and its bounds.
    rule
        Branching rule.
    warps
        Warps of a block.
    equal_jobs
        Whether there are copies to skip, see ``dpbb.tree.branching``.
    """

    model: CudaModel
    rule: BranchingRule
    warps: int = 4
    equal_jobs: bool = False

    @property
    def n_jobs(self) -> int:
        """Number of jobs."""
        return self.model.n_jobs

    @property
    def pages(self) -> PageLayout:
        """Where everything lies in a page of open nodes."""
        return PageLayout(self.model.n_jobs, self.model.state_words, self.one_side)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * LANES

    @property
    def value_limit(self) -> int:
        """No bound reaches this."""
        return WIDE_LIMIT if self.model.wide else NARROW_LIMIT

    @property
    def own_jobs(self) -> bool:
        """Whether each lane bounds the children of its own jobs, one by one."""
        few = self.n_jobs <= OWN_JOBS_LIMIT
        return few and not self.one_side and not self.model.columns  # tests have both

    @property
    def one_side(self) -> bool:
        """Whether children are bounded on one side at a time, two jobs' at once.

        Then a record says which jobs are left on the other side, see explore.cu.
        """
        return (
            self.model.one_side
            and self.rule is BranchingRule.MINMIN
            and not self.equal_jobs
            and self.n_jobs in ONE_SIDE_JOBS
            and 4 * self._table_bytes <= SHARED_ROWS_LIMIT  # there is one of pairs, too
        )

    @property
    def _table_bytes(self) -> int:
        return 4 * (self.n_jobs * self.model.row_words + self.model.common_words)

    @property
    def shared_rows(self) -> bool:
        """Whether the job table lies in shared memory (else in the caches)."""
        fits = self._table_bytes <= SHARED_ROWS_LIMIT
        return fits and not self.model.columns  # which need the room

    def shared_bytes(self, per_warp: int) -> int:
        """Dynamic shared memory of a block: the job table, and this for each warp."""
        stride = self.model.row_words
        if self.own_jobs:  # an odd number of two words, see explore.cu
            stride = (-(-stride // 2) | 1) * 2
        table = 16 * -(-self.n_jobs * stride // 4) + 4 * self.model.common_words
        return self.shared_rows * table + self.warps * per_warp

    @property
    def min_blocks(self) -> int:
        """Blocks of a multiprocessor that registers must allow."""
        return max(1, self.model.warps_wanted // self.warps)

    @property
    def children(self) -> tuple[int, int]:
        """``MOST_CHILDREN`` and ``FEW_CHILDREN`` of so many jobs."""
        if self.n_jobs in FINE_JOBS:
            return FINE_CHILDREN
        return MOST_CHILDREN, FEW_CHILDREN

    @property
    def pages_per_warp(self) -> int:
        """Pages that one warp can ever hold.

        The one in hand, and at every depth less than a page and the children of one
        part of a page: the depth below is worked on first while it has a full page.
        """
        most = [max(self.children[0], left) for left in range(1, self.n_jobs + 1)]
        return 1 + sum(1 + (LANES - 1 + children) // LANES for children in most)

    @property
    def described(self) -> str:
        """What was chosen for the shape, for people."""
        return (
            f"{self.model.described}, "
            f"{32 if self.model.wide else 16}-bit values, job table in "
            f"{'shared' if self.shared_rows else 'global'} memory, blocks of "
            f"{self.threads} threads, {self.min_blocks} or more a multiprocessor"
        )

    @property
    def defines(self) -> dict[str, int | str]:
        """Macros of the translation unit."""
        most, few = self.children
        return {
            "N_JOBS": self.n_jobs,
            **self.model.defines,
            "WIDE": int(self.model.wide),
            "RULE": self.rule.name,
            "OWN_RULE": int(self.rule is BranchingRule.OWN),
            "EQUAL_JOBS": int(self.equal_jobs),
            "WARPS": self.warps,
            "MIN_BLOCKS": self.min_blocks,
            "SHARED_ROWS": int(self.shared_rows),
            "OWN_JOBS": int(self.own_jobs),
            "ONE_SIDE": int(self.one_side),
            "COLUMNS": self.model.columns,
            "LEAST_GIFT": LEAST_GIFT,
            "MOST_CHILDREN": most,
            "FEW_CHILDREN": few,
            "PAGE_BYTES": self.pages.page_bytes,
        }


@dataclass(frozen=True, slots=True)
class Exploration:
    """The kernel that explores in one way of balancing.

    Parameters
    ----------
    source
        File of this folder.
    name
        Its name there.
    warp_bytes
        Shared memory that a warp of it needs.
    block_bytes
        What a block needs besides, beyond the job table.
    one_side
        Whether it bounds children on one side first, where the shape says so.
    """

    source: str
    name: str
    warp_bytes: Callable[[KernelShape], int]
    block_bytes: Callable[[KernelShape], int] = lambda _: 0
    one_side: bool = False

    def sources(self, shape: KernelShape) -> tuple[Path, ...]:
        """Return what to compile, in order."""
        own = (HERE / self.source, HERE / "transfer.cu")
        return (BRANCHING, shape.model.header, *own)

    def shared_bytes(self, shape: KernelShape) -> int:
        """Return the shared memory of a block."""
        return shape.shared_bytes(self.warp_bytes(shape)) + self.block_bytes(shape)

    def defines(self, shape: KernelShape) -> dict[str, int | str]:
        """Return the macros; of them ``SHARED_BYTES`` is for the compiler to check."""
        return {**shape.defines, "SHARED_BYTES": self.shared_bytes(shape)}


def filling_block(
    shape: KernelShape, exploration: Exploration, device: int
) -> KernelShape:
    """Return the shape with the largest block that fills a multiprocessor best.

    That is one block with all warps that registers allow, if its shared memory is
    there, and else a half or a quarter of it, whichever leaves most warps, or what the
    device has room for. Where bounds are tightened no larger block than the shape's was
    measured: none is tried.
    """
    import cupy

    attributes = cupy.cuda.Device(device).attributes
    most = shape.warps if shape.model.tightening_bytes else shape.model.warps_wanted

    def resident(block: KernelShape) -> int:
        needed = exploration.shared_bytes(block)
        if needed > attributes["MaxSharedMemoryPerBlockOptin"]:
            return 0
        room = attributes["MaxSharedMemoryPerMultiprocessor"]
        return min(most, room // (needed + RESERVED_BYTES) * block.warps)

    blocks = (replace(shape, warps=most // parts) for parts in (1, 2, 4))
    best = max(blocks, key=resident)
    while not resident(best) and best.warps > 1:
        best = replace(best, warps=best.warps // 2)
    return best


class Kernels:
    """Kernels of a shape; compiled on construction or found compiled.

    Attributes
    ----------
    n_multiprocessors
        Of the device.
    resident_warps
        Warps of the exploring kernel that the device holds at a time.
    registers, spilled_bytes
        Of a thread of the exploring kernel.

    Parameters
    ----------
    shape
        What to compile for.
    device
        CUDA ordinal.
    exploration
        The kernel that explores; those of ``transfer.cu`` come with every one.

    Raises
    ------
    EngineUnavailable
        The compiler refused the source.
    OptionError
        A block of so many threads needs more shared memory than the device has.
    """

    def __init__(
        self, shape: KernelShape, device: int, exploration: Exploration
    ) -> None:
        import cupy

        self.shape = shape
        self.device = device
        self.exploration = exploration
        self._shared_bytes = exploration.shared_bytes(shape)
        self._check_shared_memory()
        sources, defines = exploration.sources(shape), exploration.defines(shape)
        self._module = load_module(sources, defines, device)
        self._functions: dict[str, Any] = {}
        with cupy.cuda.Device(device):
            # CuPy leaves the runtime alone where the device does not change: a thread
            # that has never called it has no context, which the driver calls below need
            cupy.cuda.runtime.setDevice(device)
            explore = self._function(exploration.name)
            explore.max_dynamic_shared_size_bytes = self._shared_bytes
            self.registers = int(explore.attributes["num_regs"])
            self.spilled_bytes = int(explore.attributes["local_size_bytes"])
            attributes = cupy.cuda.Device(device).attributes
            self.n_multiprocessors = int(attributes["MultiProcessorCount"])
            blocks = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
                explore.kernel.ptr, shape.threads, self._shared_bytes
            )
        self.resident_warps: int = blocks * self.n_multiprocessors * shape.warps

    def _check_shared_memory(self) -> None:
        """Raise OptionError if a block does not fit; the driver gives no reason."""
        import cupy

        attributes = cupy.cuda.Device(self.device).attributes
        most, needed = attributes["MaxSharedMemoryPerBlockOptin"], self._shared_bytes
        if needed > most:
            raise OptionError(
                f"block_size: expected less than {self.shape.threads} threads for "
                f"{self.shape.n_jobs} jobs, as they need {needed / 1024:.0f} KiB of "
                f"shared memory a block and device {self.device} has {most / 1024:.0f}"
            )

    def explore(self, stream: Any, blocks: int, *arguments: Any) -> None:
        """Launch the kernel that explores."""
        name, shared = self.exploration.name, self._shared_bytes
        self.launch(name, stream, blocks, arguments, shared_bytes=shared)

    def launch(
        self,
        name: str,
        stream: Any,
        blocks: int,
        arguments: Sequence[Any],
        *,
        threads: int | None = None,
        shared_bytes: int = 0,
    ) -> None:
        """Launch a kernel, with blocks of ``shape.threads`` unless others are given."""
        block = (self.shape.threads if threads is None else threads,)
        with stream:
            self._function(name)((blocks,), block, arguments, shared_mem=shared_bytes)

    def launch_rows(
        self, name: str, stream: Any, n_rows: int, arguments: Sequence[Any]
    ) -> None:
        """Launch a kernel of a thread for each row."""
        blocks = -(-n_rows // ROW_THREADS)
        self.launch(name, stream, blocks, arguments, threads=ROW_THREADS)

    def _function(self, name: str) -> Any:
        if name not in self._functions:
            self._functions[name] = self._module.get_function(name)
        return self._functions[name]
