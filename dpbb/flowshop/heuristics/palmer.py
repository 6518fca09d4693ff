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

    The jobs that are kept are those of ``start``, else the first and the last ones.

    Notes
    -----
    Slope index of Palmer, Oper. Res. Q. 16(1), 1965.
    """
    n_machines = search.instance.n_machines
    order, between = search.free_places(start)
    jobs = np.sort(order[between])
    order[between] = jobs
    best = improve(search, start, order, "own order")
    if search.over:
        return best
    slopes = search.instance.times @ (2 * np.arange(n_machines) - (n_machines - 1))
    order[between] = jobs[np.argsort(-slopes[jobs], kind="stable")]
    return improve(search, best, order, "palmer")
