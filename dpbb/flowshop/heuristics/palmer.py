"""Two orders that take no search: milliseconds at any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpbb.flowshop.heuristics.search import improve

if TYPE_CHECKING:
    from dpbb.flowshop.heuristics.search import Search
    from dpbb.problem import Incumbent


def palmer(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Try the jobs in their own order, and by falling slope: growing times come first.

    Notes
    -----
    Slope index of Palmer, Oper. Res. Q. 16(1), 1965.
    """
    n_jobs, n_machines = search.instance.n_jobs, search.instance.n_machines
    best = improve(search, start, range(n_jobs), "own order")
    if search.over:
        return best
    slopes = search.instance.times @ (2 * np.arange(n_machines) - (n_machines - 1))
    return improve(search, best, np.argsort(-slopes, kind="stable"), "palmer")
