import json
from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpbb.flowshop.bounds.lb2 import JohnsonTables, Pairs, machine_pairs
from dpbb.flowshop.bounds.nodes import Nodes
from dpbb.flowshop.makespan import makespan
from dpbb.flowshop.taillard import taillard_instance
from tests import oracle
from tests.conftest import GOLDEN


def one_node(times, order, d1, d2, *, strong):
    return Nodes.of(
        times, np.array([order]), np.array([d1]), np.array([d2]), strong=strong
    )


@given(oracle.problems(max_jobs=6), st.data())
def test_lb2_lies_between_lb1_and_the_best_completion(tiny, data):
    """For all choices of pairs; with zeros, equal times, one and two machines."""
    times = np.array(tiny.times)
    n_jobs, n_machines = times.shape
    order = data.draw(st.permutations(range(n_jobs)))
    d1 = data.draw(st.integers(0, n_jobs))
    d2 = data.draw(st.integers(0, n_jobs - d1))
    end = n_jobs - d2
    best = min(
        makespan(times, (*order[:d1], *middle, *order[end:]))
        for middle in permutations(order[d1:end])
    )
    loose = one_node(times, order, d1, d2, strong=False)
    tight = one_node(times, order, d1, d2, strong=True)
    assert (loose.heads <= tight.heads).all()
    assert (loose.tails <= tight.tails).all()
    for nodes in (loose, tight):
        every = JohnsonTables.of(times, machine_pairs(n_machines))
        strongest = nodes.lb2(every)
        assert nodes.lb1() <= strongest <= best
        for which in Pairs:
            some = JohnsonTables.of(times, machine_pairs(n_machines, which))
            assert nodes.lb1() <= nodes.lb2(some) <= strongest
        if d1 + d2 == n_jobs:
            assert nodes.lb1() == best
        if n_machines == 2 and d1 == d2 == 0:
            assert strongest == best


def test_bounds_equal_the_golden_ones():
    """Golden values take minima over the unscheduled jobs on an empty side."""
    golden = json.loads((GOLDEN / "bounds_tabu_jobshop.json").read_text())
    assert len(golden["lb"]) == 48
    for node in golden["lb"]:
        times = taillard_instance(node["inst"]).times
        tables = JohnsonTables.of(times, machine_pairs(times.shape[1]))
        for form in ("plain", "strong"):
            place = node["prmu"], node["d1"], node["d2"]
            found = one_node(times, *place, strong=form == "strong")
            assert found.lb1() == node[f"lb1_{form}"]
            assert found.lb2(tables) == node[f"lb2_{form}"]
