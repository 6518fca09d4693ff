"""The pool of open nodes."""

from collections import Counter

import numpy as np
import pytest

from dpbb.engines.pool.nodes import BACK_BIT, MOST_LEVELS, Batch, NodePool

N_JOBS = 5


def nodes(bounds, depths):
    """Nodes of a row of jobs, all taken at the front."""
    batch = Batch.empty(N_JOBS, len(bounds))
    for index, (bound, depth) in enumerate(zip(bounds, depths, strict=True)):
        batch.rows[index] = np.roll(np.arange(N_JOBS), index)
        batch.front[index], batch.back[index] = depth, 0
        batch.bounds[index], batch.sides[index] = bound, 0
    return batch


def taken(pool, children, *, deepest):
    batch = pool.take(children, deepest=deepest)
    return list(zip(batch.bounds.tolist(), batch.depths.tolist(), strict=True))


@pytest.mark.parametrize("span", [3, 20, 50 * MOST_LEVELS])
def test_nothing_is_lost(span):
    """Random pushes, takes and prunes against a plain list."""
    rng = np.random.default_rng(span)
    pool, there = NodePool(N_JOBS, 100, 100 + span), Counter()
    for step in range(30):
        count = int(rng.integers(0, 3000))
        new = nodes(100 + rng.integers(0, span, count), rng.integers(1, 4, count))
        pool.push(new)
        there += Counter(zip(new.bounds.tolist(), new.depths.tolist(), strict=True))
        there -= Counter(taken(pool, int(rng.integers(1, 9000)), deepest=step % 2 == 1))
        assert pool.size == there.total()
        if step % 10 == 9:
            pool.prune(100 + span * 9 // 10)
            limit = 100 + span * 9 // 10
            there = Counter({k: v for k, v in there.items() if k[0] < limit})
            assert pool.least_bound == min((bound for bound, _ in there), default=None)
        rest = pool.all()
        assert there == Counter(
            zip(rest.bounds.tolist(), rest.depths.tolist(), strict=True)
        )
    pool.clear()
    assert pool.size == 0
    pool.push(new)
    assert pool.size == new.size


def test_children_and_their_paths():
    """Front and back by turns: rows, counts and digits of every child."""
    rng = np.random.default_rng(1)
    n_jobs = 70  # sides in two words
    batch, digits = Batch.root(n_jobs), []
    jobs = list(range(n_jobs))
    front, back = [], []
    for _ in range(n_jobs - 1):
        digit, side = int(rng.integers(len(jobs))), bool(rng.integers(2))
        code = np.array([digit + BACK_BIT * side], np.uint16)
        batch = batch.children(np.zeros(1, np.int32), code, np.full(1, 7, np.int32))
        job = jobs.pop(digit)
        (back if side else front).append(job)
        digits.append(digit)
        assert batch.rows[0].tolist() == [*front, *jobs, *reversed(back)]
        assert (batch.front[0], batch.back[0]) == (len(front), len(back))
    unit, order = batch.unit()
    assert unit.path(0) == tuple(digits)
    assert order.tolist() == [0]
