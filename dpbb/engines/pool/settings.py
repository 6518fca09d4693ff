"""How the pool engine works: what users may choose, and what only tests set."""

from __future__ import annotations

from dataclasses import dataclass

from dpbb.options import Offload, Selection, Tuning

POOL_BYTES = 1 << 30
"""Memory of open nodes from which the search goes deepest first."""

IN_FLIGHT = 2
"""Batches on their way at a time: the host branches on one while the device bounds the
other."""

MOST_NODES = 1 << 20
"""As many open nodes, at most: reports and checkpoints hold all of them."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """See the options of the same names in ``dpbb.options.table``.

    Parameters
    ----------
    pool_size
        Children of a batch; None: tuned.
    block_size
        Threads of a block on a GPU; None: the engine's choice.
    pool_max, pool_min
        Open nodes from which the hybrid goes deepest first, and down to which it does
        so; None: by memory.
    """

    pool_size: int | None = None
    block_size: int | None = None
    selection: Selection = Selection.HYBRID
    offload: Offload = Offload.PARENTS
    pool_max: int | None = None
    pool_min: int | None = None

    @classmethod
    def of(cls, tuning: Tuning | None) -> PoolSettings:
        """Return the settings that options ask for."""
        if tuning is None:
            return cls()
        return cls(
            pool_size=tuning.pool_size,
            block_size=tuning.block_size,
            selection=tuning.selection or Selection.HYBRID,
            offload=tuning.offload or Offload.PARENTS,
        )

    def limits(self, n_jobs: int) -> tuple[int, int]:
        """Return POOL_MAX and POOL_MIN for nodes of so many jobs."""
        by_memory = POOL_BYTES // (2 * n_jobs + 8 * -(-n_jobs // 64) + 16)
        most = self.pool_max or min(MOST_NODES, by_memory)
        return most, min(self.pool_min or most // 2, most)
