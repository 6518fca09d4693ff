"""Golden trees with few explorers: the counts do not depend on their number.

The whole table with as many explorers as the device holds is in ``tests/parity``.
"""

import pytest

from dpbb.engines import explore_to_end
from dpbb.engines.gpu import memory as memory_module
from dpbb.options import Tuning
from dpbb.tree import WorkUnit, n_leaves
from tests.parity.tables import golden_problem, on_gpu, rows

pytestmark = pytest.mark.gpu

MOST_NODES = 5_000_000
FREE_BYTES = 8 << 30
"""Memory enough for these trees, and what others take meanwhile changes no K."""

ROWS = on_gpu([row for row in rows() if row[3] <= MOST_NODES])


@pytest.mark.parametrize("explorers", [4096, 16384])
@pytest.mark.parametrize("row", ROWS, ids=[f"{r[0]}@{r[1]}-{r[2]}" for r in ROWS])
def test_golden_tree_with_so_many_explorers(gpu, monkeypatch, row, explorers):
    """Lanes of the arm that explodes nodes."""
    monkeypatch.setattr(memory_module, "free_device_bytes", lambda: FREE_BYTES)
    instance, ub, rule, decomposed, leaves = row
    problem, tree = golden_problem(instance, ub, rule)
    tuning = Tuning(explorers=explorers, balance="explode")
    session = gpu.engine.open(problem, tree, gpu.device, ub=ub, tuning=tuning)
    try:
        session.load(WorkUnit.whole(problem.n_jobs))
        total = explore_to_end(session, ub)
        used = 32 * session.statistics["n_warps"]
    finally:
        session.close()
    assert used == explorers
    assert (total.counters.decomposed, total.counters.leaves) == (decomposed, leaves)
    assert total.counters.closed_leaves == n_leaves(problem.n_jobs)
