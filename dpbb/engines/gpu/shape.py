"""What a kernel is compiled for: instance shape, value width, launch, memory layout.

The layout mirrors ``pages.cuh`` and ``explore.cu``; a test compares both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpbb.errors import EngineUnavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.options import BranchingRule

LANES = 32
NARROW_LIMIT = 1 << 15
"""Values of the packed form stay below this."""
WIDE_LIMIT = 1 << 29
"""Values of the 32-bit form stay below this."""
MAX_JOBS = 800
MAX_MACHINES = 60
"""What the kernels are made for and tested with.

The open nodes of one block's explorers grow with the third power of the jobs: 800 on 60
machines need 49 GiB of free device memory in the 32-bit form, 1000 need 89.
"""
SHARED_ROWS_LIMIT = 32 * 1024
"""Bytes up to which the job table is copied to shared memory, once a block."""
LEAST_GIFT = 4
"""A page is given to an idle warp only if its nodes have this many jobs left."""


def up(value: int, multiple: int) -> int:
    """Return the value, or the next multiple above it."""
    return -(-value // multiple) * multiple


@dataclass(frozen=True, slots=True)
class KernelShape:
    """The compile-time constants of a kernel and what follows from them.

    Parameters
    ----------
    n_jobs, n_machines
        Shape of the instance.
    wide
        True: 32-bit values; False: two 16-bit values a word.
    rule
        Branching rule.
    warps
        Warps of a block.
    """

    n_jobs: int
    n_machines: int
    wide: bool
    rule: BranchingRule
    warps: int = 4

    @property
    def words_per_pair(self) -> int:
        """32-bit words of a (front, back) pair."""
        return 2 if self.wide else 1

    @property
    def half(self) -> int:
        """Machines whose remaining work is stored; the others mirror them."""
        return (self.n_machines + 1) // 2

    @property
    def row_words(self) -> int:
        """Words of a job's row of processing times."""
        return up(self.n_machines * self.words_per_pair, 4)

    @property
    def mask_words(self) -> int:
        """Words of a set of jobs."""
        return up(self.n_jobs, 32) // 32

    @property
    def mask_at(self) -> int:
        """First word of the unscheduled jobs in a record."""
        return self.row_words + self.half * self.words_per_pair

    @property
    def directions_at(self) -> int:
        """First word of the directions in a record."""
        return self.mask_at + self.mask_words

    @property
    def path_at(self) -> int:
        """First word of the path in a record."""
        return up(self.directions_at + self.mask_words, 4)

    @property
    def digit_bits(self) -> int:
        """Bits of a digit of a path."""
        return 8 if self.n_jobs <= 256 else 16

    @property
    def record_words(self) -> int:
        """Words of a record."""
        return self.path_at + up(self.n_jobs * self.digit_bits, 128) // 32

    @property
    def leaf_words(self) -> int:
        """Words of a reported leaf: its value, then its record from the mask on."""
        return self.record_words - self.mask_at + 1

    @property
    def page_bytes(self) -> int:
        """Bytes of a page of 32 records."""
        return self.record_words * LANES * 4

    @property
    def shared_rows(self) -> bool:
        """Whether the job table lies in shared memory (else in the caches)."""
        return self.n_jobs * self.row_words * 4 <= SHARED_ROWS_LIMIT

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block of ``explore``."""
        n = self.n_jobs
        explorer = up(4 * n + 4 * n + 4 * (n + 1) + 2 * 2 * LANES + n, 4)
        rows = n * self.row_words * 4 if self.shared_rows else 0
        return rows + self.warps * explorer

    @property
    def described(self) -> str:
        """What was chosen for the shape, for people."""
        return (
            f"{self.n_jobs} jobs on {self.n_machines} machines, "
            f"{32 if self.wide else 16}-bit values, processing times in "
            f"{'shared' if self.shared_rows else 'global'} memory, blocks of "
            f"{LANES * self.warps} threads, {self.min_blocks} or more a multiprocessor"
        )

    @property
    def min_blocks(self) -> int:
        """Blocks of a multiprocessor that registers must allow.

        A lane holds two pairs a machine in registers; more warps hide more latency
        until the compiler has to spill.
        """
        words = self.n_machines * self.words_per_pair
        warps = 16 if words <= 20 else 12 if words <= 40 else 8
        return max(1, warps // self.warps)

    @property
    def pages_per_warp(self) -> int:
        """Pages that one warp can ever hold.

        At every depth less than a page and the children of one page: the depth
        below is worked on first as long as it has a full page.
        """
        n = self.n_jobs
        return sum(n - depth + 2 for depth in range(n))

    @property
    def defines(self) -> dict[str, int | str]:
        """Macros of the translation unit."""
        return {
            "N_JOBS": self.n_jobs,
            "N_MACHINES": self.n_machines,
            "WIDE": int(self.wide),
            "RULE": self.rule.name,
            "WARPS": self.warps,
            "MIN_BLOCKS": self.min_blocks,
            "SHARED_ROWS": int(self.shared_rows),
            "LEAST_GIFT": LEAST_GIFT,
        }


@dataclass(frozen=True, slots=True)
class PackedInstance:
    """An instance as the kernels read it.

    Parameters
    ----------
    rows : ndarray of uint32, shape (n_jobs, row_words)
        Row j: (p[j, k], p[j, m-1-k]) for all machines k.
    root : ndarray of uint32, shape (record_words * 32,)
        A page whose first record holds the root's fronts, backs and remain.
    """

    rows: NDArray[np.uint32]
    root: NDArray[np.uint32]


def largest_value(times: NDArray[np.int64], root_bound: int, ub: int) -> int:
    """Return a value that no bound of a visited node's child passes.

    A node is visited only with front + remain + back < ub on every machine (the
    root whatever its bound), and fronts do not fall from machine to machine, so
    the bound of a child exceeds that by at most the child's own work.
    """
    return max(ub, root_bound + 1) + int(times.sum(axis=1).max())


def needs_wide(times: NDArray[np.int64], root_bound: int, ub: int) -> bool:
    """Whether the 32-bit form is needed; raises if even that is too narrow."""
    reason = too_large(times, root_bound, ub)
    if reason is not None:
        raise EngineUnavailable(reason)
    return largest_value(times, root_bound, ub) >= NARROW_LIMIT


def too_large(times: NDArray[np.int64], root_bound: int, ub: int = 0) -> str | None:
    """Return why no form is wide enough, if so; by default at whatever upper bound."""
    largest = largest_value(times, root_bound, ub)
    if largest < WIDE_LIMIT:
        return None
    return (
        f"engine gpu takes values below {WIDE_LIMIT}, they may reach {largest}; scale "
        "the processing times"
    )


def pack(
    front: NDArray[np.int64], back: NDArray[np.int64], shape: KernelShape
) -> NDArray[np.uint32]:
    """Pairs of values on the last axis as words; shape (..., k * words_per_pair)."""
    if shape.wide:
        both = np.stack([front, back], axis=-1).astype(np.uint32)
        return both.reshape(*front.shape[:-1], -1)
    return (front | back << 16).astype(np.uint32)


def pack_instance(
    times: NDArray[np.int64],
    least_heads: NDArray[np.int64],
    least_tails: NDArray[np.int64],
    shape: KernelShape,
) -> PackedInstance:
    """Arrays of an instance.

    Parameters
    ----------
    times : ndarray of int64, shape (n_jobs, n_machines)
        Processing times, jobs in root order.
    least_heads, least_tails : ndarray of int64, shape (n_machines,)
        Front and back of an empty prefix and suffix in bounds.
    """
    packed = pack(times, times[:, ::-1], shape)
    rows = np.zeros((shape.n_jobs, shape.row_words), np.uint32)
    rows[:, : packed.shape[1]] = packed
    remain = times.sum(axis=0)
    record = np.zeros(shape.record_words, np.uint32)
    state = pack(least_heads, least_tails[::-1], shape)
    record[: len(state)] = state
    work = pack(remain[: shape.half], remain[::-1][: shape.half], shape)
    record[shape.row_words : shape.row_words + len(work)] = work
    root = np.zeros((shape.record_words // 4, LANES, 4), np.uint32)
    root[:, 0, :] = record.reshape(-1, 4)
    return PackedInstance(rows, root.reshape(-1))
