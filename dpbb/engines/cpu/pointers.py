"""The same tuples with pointers in place of arrays, for compiled code."""

from __future__ import annotations

from dpbb.engines.cpu.compilation import helper
from dpbb.engines.cpu.state import Explorer, Pool, Tables
from dpbb.kernels.simd import pointer


@helper
def tables_at(arrays: Tables) -> Tables:
    """Pointers to an instance's tables."""
    return Tables(
        arrays.n_jobs,
        arrays.n_machines,
        arrays.row,
        arrays.words,
        arrays.job_words,
        arrays.rule,
        arrays.branching_ub,
        arrays.all_optima,
        arrays.largest,
        arrays.leaf_capacity,
        pointer(arrays.sides),
        pointer(arrays.steps),
        pointer(arrays.shifted),
        pointer(arrays.times),
        pointer(arrays.table_of),
        pointer(arrays.build_at),
        pointer(arrays.groups),
        pointer(arrays.first_slot),
        pointer(arrays.first_time),
    )


@helper
def explorer_at(arrays: Explorer) -> Explorer:
    """Pointers to an explorer's state."""
    return Explorer(
        pointer(arrays.fronts),
        pointer(arrays.remain),
        pointer(arrays.exits),
        pointer(arrays.real),
        pointer(arrays.columns),
        pointer(arrays.taken),
        pointer(arrays.bounds),
        pointer(arrays.jobs),
        pointer(arrays.slots),
        pointer(arrays.open),
        pointer(arrays.path),
        pointer(arrays.place),
        pointer(arrays.least),
        pointer(arrays.mask),
        pointer(arrays.closed),
        pointer(arrays.counts),
        pointer(arrays.found),
        pointer(arrays.finish),
    )


@helper
def pool_at(arrays: Pool) -> Pool:
    """Pointers to a pool."""
    return Pool(
        arrays.capacity,
        pointer(arrays.control),
        pointer(arrays.level),
        pointer(arrays.least),
        pointer(arrays.path),
        pointer(arrays.mask),
    )
