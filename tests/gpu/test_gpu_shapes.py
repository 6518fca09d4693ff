"""Shapes beyond Taillard's: the counts of the cpu engine, to the last node.

How ``shapes.csv`` was made says ``tests/parity/test_shapes.py``. It covers narrow and
wide values, two-byte digits, odd and even numbers of machines, job tables in shared and
in global memory.
"""

import pytest

from dpbb.engines import explore_to_end
from dpbb.engines.gpu import memory
from dpbb.flowshop.models import lb1_cuda
from dpbb.options import Balance, TreeOptions, Tuning
from dpbb.tree import WorkUnit, n_leaves
from tests.parity.tables import benchmark_problem, on_gpu, shape_rows

pytestmark = [pytest.mark.gpu, pytest.mark.data]

ROWS = shape_rows()


def explore(gpu, problem, ub, tuning=None, unit=None):
    session = gpu.engine.open(problem, TreeOptions(), gpu.device, ub=ub, tuning=tuning)
    try:
        session.load(WorkUnit.whole(problem.n_jobs) if unit is None else unit)
        return explore_to_end(session, ub)
    finally:
        session.close()


@pytest.mark.parametrize(
    ("name", "ub", "decomposed", "leaves"),
    on_gpu(ROWS),
    ids=[f"{row[0]}@{row[1]}" for row in on_gpu(ROWS)],
)
@pytest.mark.parametrize("balance", list(Balance))
def test_tree_has_the_size_that_the_cpu_engine_counts(
    gpu, name, ub, decomposed, leaves, balance, monkeypatch
):
    problem = benchmark_problem(name)
    if problem.n_jobs >= 500:  # 5 to 24 GiB, beside other processes
        monkeypatch.setattr(memory, "MEMORY_SHARE", 0.6)
    total = explore(gpu, problem, ub, Tuning(balance=str(balance)))
    assert total.counters.decomposed == decomposed
    assert total.counters.leaves == leaves
    assert total.counters.closed_leaves == n_leaves(problem.n_jobs)
    assert total.best is None


@pytest.mark.parametrize("explorers", [1, 4096, 16384, 131072])
@pytest.mark.parametrize("block_size", [32, 128, 512])
@pytest.mark.parametrize("balance", list(Balance))
def test_counts_do_not_depend_on_the_tuning(gpu, explorers, block_size, balance):
    """ta030@2178 and ta083@6252 of the golden table."""
    tuning = Tuning(explorers=explorers, block_size=block_size, balance=balance)
    for name, ub, decomposed, leaves in (
        ("ta030", 2178, 2797688, 43),
        ("ta083", 6252, 128553, 0),
    ):
        if explorers == 1 and name == "ta083":
            continue
        counters = explore(gpu, benchmark_problem(name), ub, tuning).counters
        assert (counters.decomposed, counters.leaves) == (decomposed, leaves)


def test_counts_of_the_wide_form_are_those_of_the_narrow_one(gpu, monkeypatch):
    monkeypatch.setattr(lb1_cuda, "needs_wide", lambda *_: True)
    counters = explore(gpu, benchmark_problem("ta030"), 2178).counters
    assert (counters.decomposed, counters.leaves) == (2797688, 43)
