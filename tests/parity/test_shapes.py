"""Shapes beyond Taillard's: the counts of ``tests/gpu/shapes.csv`` by every engine.

The table has all shapes of the VFR benchmarks of 10 to 60 jobs on 5 to 20 machines and
some larger ones, up to 800 jobs on 60 machines. It was made by the cpu engine: minmin,
and as a fixed upper bound, not above the best known makespan, the largest one that
leaves at most 4,000, and another that leaves at most a million decomposed nodes. (40
jobs and more on five machines never have more than 150.) The reference engine, which
shares no kernel with the others, counts the same as far as it is fast enough; the gpu
engine's test is ``tests/gpu/test_gpu_shapes.py``.
"""

from itertools import product

import pytest

from dpbb.options import TreeOptions
from dpbb.tree import n_leaves
from tests.parity.subject import Subject
from tests.parity.tables import benchmark_problem, shape_rows

pytestmark = [pytest.mark.data, pytest.mark.timeout(600)]

MOST_WORK = 10_000_000
"""Of the reference engine: decomposed nodes times jobs."""


def is_slow(engine, jobs, decomposed):
    """Many nodes for the reference engine, or half a minute of compilation."""
    return jobs >= 800 or (engine == "reference" and decomposed > 8_000)


def cases():
    found = []
    for engine, row in product(("reference", "cpu-4"), shape_rows()):
        name, ub, decomposed, _ = row
        jobs = 500 if name == "ta111" else int(name[3:].split("_")[0])
        if engine == "reference" and decomposed * jobs > MOST_WORK:
            continue
        marks = [pytest.mark.slow] if is_slow(engine, jobs, decomposed) else []
        label = f"{engine}-{name}@{ub}"
        found.append(pytest.param(engine, row, marks=marks, id=label))
    return found


@pytest.mark.parametrize(("engine_name", "row"), cases())
def test_tree_has_the_size_of_the_table(engine_name, row):
    name, ub, decomposed, leaves = row
    problem = benchmark_problem(name)
    total = Subject.of(engine_name).explore(problem, TreeOptions(), ub)
    assert (total.counters.decomposed, total.counters.leaves) == (decomposed, leaves)
    assert total.counters.closed_leaves == n_leaves(problem.n_jobs)
    assert total.best is None


def test_the_table_has_every_shape_of_10_to_60_jobs_and_5_to_20_machines():
    shapes = {tuple(row[0].split("_")[:2]) for row in shape_rows()}
    wanted = product(range(10, 61, 10), range(5, 21, 5))
    assert shapes >= {(f"VFR{jobs}", f"{machines}") for jobs, machines in wanted}
