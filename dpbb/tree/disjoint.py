"""Whether units of one tree have no leaf in common, for millions of roots.

All roots in one sorted unit would say it (``WorkUnit.concatenate`` and ``check``), but
16 million are several gigabytes that go through memory again and again. Every unit is
sorted already, so all are cut at the same places, into chunks that fit the caches, and
these are sorted.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpbb.tree.work_unit import WorkUnit, sort_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

CHUNK_ROOTS = 16_384
"""Of the largest unit; a chunk has as many of the others as lie between them."""

_LEVELS = 8  # of a path that say into which chunk a root goes


def check_disjoint(units: Sequence[WorkUnit]) -> None:
    """Raise ValueError unless no root lies inside another, of whichever unit.

    Parameters
    ----------
    units
        Of one tree. Their paths are checked too; that the roots of each are in order is
        known where there are several (``WorkUnit.check``).
    """
    if len(units) == 1:
        units[0].check()
    if len(units) < 2:
        return
    keys = [sort_keys(unit.n_jobs, unit.digits[:, :_LEVELS]) for unit in units]
    for unit_keys in keys:
        if np.any(unit_keys[1:] < unit_keys[:-1]):  # it cannot be cut
            raise ValueError("expected roots in leaf order, none inside another")
    pivots = np.unique(max(keys, key=len)[CHUNK_ROOTS::CHUNK_ROOTS])
    cuts = [
        [0, *np.searchsorted(unit_keys, pivots).tolist(), len(unit_keys)]
        for unit_keys in keys
    ]
    last = WorkUnit.empty(units[0].n_jobs)
    for ends in pairwise(zip(*cuts, strict=True)):
        chunk = WorkUnit.concatenate(
            [
                last,  # of the chunk before: a root of this one may lie inside it
                *(
                    unit.take(slice(begin, end))
                    for unit, begin, end in zip(units, *ends, strict=True)
                ),
            ]
        )
        chunk.check()
        last = chunk.take(slice(-1, None)) if len(chunk) else last
