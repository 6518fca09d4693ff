"""From arrays in Python to pointers in compiled code.

Python holds a session's arrays in named tuples. What it hands to compiled code is the
same tuples with addresses in place of the arrays, which cost nothing to pass and
little to compile; there they become the same tuples with pointers. Whoever calls keeps
the arrays alive.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from dpbb.engines.cpu.compilation import helper
from dpbb.engines.cpu.state import Explorer, Pool, Tables
from dpbb.kernels.scalar import pointer_at

State = TypeVar("State", Tables, Explorer, Pool)


def addresses(state: State) -> State:
    """Replace the arrays of a tuple by their addresses."""
    parts: Any = (
        part.ctypes.data if isinstance(part, np.ndarray) else part for part in state
    )
    return type(state)(*parts)


@helper
def tables_at(at: Tables, lane: np.signedinteger[Any]) -> Tables:
    """Pointers to an instance's tables; ``lane`` is any integer of the element type."""
    return Tables(
        at.n_jobs,
        at.n_machines,
        at.row,
        at.words,
        at.job_words,
        at.least_counts,
        at.threshold,
        at.fixed_side,
        at.all_optima,
        at.largest,
        at.leaf_capacity,
        pointer_at(at.sides, lane),
        pointer_at(at.steps, lane),
        pointer_at(at.shifted, lane),
        pointer_at(at.times, np.int64(0)),
        pointer_at(at.table_of, np.int64(0)),
        pointer_at(at.build_at, np.int64(0)),
        pointer_at(at.groups, np.int64(0)),
        pointer_at(at.first_slot, np.int64(0)),
        pointer_at(at.first_time, np.int64(0)),
    )


@helper
def explorer_at(at: Explorer, lane: np.signedinteger[Any]) -> Explorer:
    """Pointers to an explorer's state; ``lane`` is any integer of the element type."""
    return Explorer(
        pointer_at(at.fronts, lane),
        pointer_at(at.remain, lane),
        pointer_at(at.exits, lane),
        pointer_at(at.real, lane),
        pointer_at(at.columns, lane),
        pointer_at(at.taken, lane),
        pointer_at(at.bounds, lane),
        pointer_at(at.jobs, np.int64(0)),
        pointer_at(at.slots, np.int64(0)),
        pointer_at(at.open, np.uint64(0)),
        pointer_at(at.path, np.int64(0)),
        pointer_at(at.place, np.int64(0)),
        pointer_at(at.least, np.int64(0)),
        pointer_at(at.mask, np.uint64(0)),
        pointer_at(at.closed, np.int64(0)),
        pointer_at(at.counts, np.int64(0)),
        pointer_at(at.found, np.int64(0)),
        pointer_at(at.finish, np.int64(0)),
    )


@helper
def pool_at(at: Pool) -> Pool:
    """Pointers to a pool."""
    return Pool(
        at.capacity,
        pointer_at(at.control, np.int64(0)),
        pointer_at(at.level, np.int64(0)),
        pointer_at(at.least, np.int64(0)),
        pointer_at(at.path, np.int64(0)),
        pointer_at(at.mask, np.uint64(0)),
    )
