"""How the pool engine works: what users may choose, and what only a bench sets."""

from __future__ import annotations

from dataclasses import dataclass

from dpbb.options import Offload, Placement, Selection, Tuning

POOL_BYTES = 1 << 30
"""Memory of open nodes from which the search goes deepest first."""

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
    sort_pool
        Nodes on a GPU: in the order of the numbers of jobs fixed at the front and at
        the back. Off for measurements alone.
    refactor
        Nodes on a GPU: write choices as products with ``cosf`` and ``expf``, as one of
        the founding papers does. For measurements.
    pool_max, pool_min
        Open nodes from which the hybrid goes deepest first, and down to which it does
        so; None: by memory.
    keeps_ub
        Leaves do not lower the upper bound and are not reported: for measurements on
        the tree of one that is not tight.
    in_flight
        Batches on their way at a time: with two, the host branches on one while the
        device bounds the other.
    """

    pool_size: int | None = None
    block_size: int | None = None
    selection: Selection = Selection.HYBRID
    offload: Offload = Offload.PARENTS
    placement: Placement | None = None
    sort_pool: bool = True
    refactor: bool = False
    pool_max: int | None = None
    pool_min: int | None = None
    in_flight: int = 2
    keeps_ub: bool = False

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
            placement=tuning.placement,
        )

    def limits(self, n_jobs: int) -> tuple[int, int]:
        """Return POOL_MAX and POOL_MIN for nodes of so many jobs."""
        by_memory = POOL_BYTES // (2 * n_jobs + 8 * -(-n_jobs // 64) + 16)
        most = self.pool_max or min(MOST_NODES, by_memory)
        return most, min(self.pool_min or most // 2, most)
