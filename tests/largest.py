"""Shops whose times sum to the most that is allowed, of few jobs."""

import numpy as np

from dpbb.flowshop.times import MAX_TOTAL_TIME
from tests.oracle import TightFlowShop, TinyFlowShop

SHAPES = ((1, 3), (2, 2), (3, 1), (5, 3), (4, 7))
"""Of jobs and machines; the last with more pairs than nodes have the stays of."""

WHERE = ("even", "random", "one", "first", "last")
"""Where the time is: everywhere, at random, in one operation, in one job, on one
machine and in nothing else."""


def largest(n_jobs, n_machines, where):
    """Return a shop whose times sum to ``MAX_TOTAL_TIME``, as nested tuples."""
    rng = np.random.default_rng(n_jobs * n_machines)
    parts = np.ones((n_jobs, n_machines), int)
    if where == "random":
        parts = rng.integers(0, 100, (n_jobs, n_machines))
    elif where != "even":
        parts[:] = 0
        if where == "one":
            parts[n_jobs // 2, n_machines // 2] = 1
        elif where == "first":
            parts[0] = rng.integers(1, 9, n_machines)
        else:
            parts[:, -1] = rng.integers(1, 9, n_jobs)
    times = parts * (MAX_TOTAL_TIME // parts.sum())
    times.flat[times.argmax()] += MAX_TOTAL_TIME - times.sum()
    assert times.sum() == MAX_TOTAL_TIME
    return tuple(tuple(map(int, row)) for row in times)


def shops(bound):
    """Yield all of them as the oracle has them, for ``lb1`` or a cascade of all."""
    for n_jobs, n_machines in SHAPES:
        for where in WHERE:
            times = largest(n_jobs, n_machines, where)
            if bound == "lb1" or n_jobs < 2 or n_machines < 2:
                yield TinyFlowShop(times)
                continue
            machines = range(n_machines)
            pairs = tuple((u, v) for u in machines for v in machines if u < v)
            yield TightFlowShop(times, depths=tuple(range(1, n_jobs)), pairs=pairs)
