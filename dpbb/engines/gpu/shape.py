"""What a kernel is compiled for: the model, the branching rule, the size of a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpbb.engines.gpu.layout import LANES, PageLayout
from dpbb.kernels.cuda_pairs import NARROW_LIMIT, WIDE_LIMIT
from dpbb.options import BranchingRule

if TYPE_CHECKING:
    from dpbb.engines.gpu.model import CudaModel

SHARED_ROWS_LIMIT = 32 * 1024
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
        """Whether each lane bounds the children of its own jobs."""
        return self.n_jobs <= OWN_JOBS_LIMIT and not self.one_side  # tests have both

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
            and 2 * self._table_bytes <= SHARED_ROWS_LIMIT  # and one of pairs
        )

    @property
    def _table_bytes(self) -> int:
        return 4 * self.n_jobs * self.model.row_words

    @property
    def shared_rows(self) -> bool:
        """Whether the job table lies in shared memory (else in the caches)."""
        return self._table_bytes <= SHARED_ROWS_LIMIT

    def shared_bytes(self, per_warp: int) -> int:
        """Dynamic shared memory of a block: the job table, and this for each warp."""
        stride = self.model.row_words
        if self.own_jobs:  # an odd number of two words, see explore.cu
            stride = (-(-stride // 2) | 1) * 2
        table = 16 * -(-self.n_jobs * stride // 4)
        return self.shared_rows * table + self.warps * per_warp

    @property
    def min_blocks(self) -> int:
        """Blocks of a multiprocessor that registers must allow."""
        return max(1, self.model.warps_wanted // self.warps)

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
        most, few = MOST_CHILDREN, FEW_CHILDREN
        if self.n_jobs in FINE_JOBS:
            most, few = FINE_CHILDREN
        return {
            "N_JOBS": self.n_jobs,
            **self.model.defines,
            "WIDE": int(self.model.wide),
            "RULE": self.rule.name,
            "EQUAL_JOBS": int(self.equal_jobs),
            "WARPS": self.warps,
            "MIN_BLOCKS": self.min_blocks,
            "SHARED_ROWS": int(self.shared_rows),
            "OWN_JOBS": int(self.own_jobs),
            "ONE_SIDE": int(self.one_side),
            "LEAST_GIFT": LEAST_GIFT,
            "MOST_CHILDREN": most,
            "FEW_CHILDREN": few,
            "PAGE_BYTES": self.pages.page_bytes,
        }
