"""Bounds of compiled code are those of the oracle, whatever the widths."""

import numpy as np
import pytest

from dpbb.flowshop.bounds import batch_cpu
from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs
from dpbb.flowshop.bounds.nodes import Nodes
from dpbb.flowshop.makespan import longest_makespan
from dpbb.flowshop.taillard import taillard_instance
from tests.oracle import random_nodes


def shop(n_jobs, n_machines, longest=99, seed=1):
    """Times from 0 on, many of them equal."""
    times = np.random.default_rng(seed).integers(0, longest + 1, (n_jobs, n_machines))
    times[::3] = times[0]
    return times


SHOPS = {
    "ta021": taillard_instance("ta021").times,
    "one machine": shop(9, 1),
    "two machines": shop(20, 2, longest=4),
    "one job": shop(1, 5),
    "zeros": shop(12, 6, longest=0),
    "large times": shop(11, 7, longest=1_000_000),
    "just below 16 bits": shop(8, 4, longest=3500),
    "many machines": shop(13, 45),
}


@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize("name", SHOPS)
def test_bounds_are_those_of_the_oracle(name, strong):
    times = SHOPS[name]
    nodes = random_nodes(len(times), 150, seed=3)
    expected = Nodes.of(times, *nodes, strong=strong)
    for which in ("all", "last"):
        tables = JohnsonTables.of(times, machine_pairs(times.shape[1], which))
        found = batch_cpu.bounds(times, tables, *nodes, strong=strong, threads=2)
        assert found.tolist() == expected.lb2(tables).tolist()
    none = JohnsonTables.of(times, machine_pairs(times.shape[1], ()))
    found = batch_cpu.bounds(times, none, *nodes, strong=strong, threads=1)
    assert found.tolist() == expected.lb1().tolist()


def test_the_widths_are_what_the_names_say():
    assert 28_000 < longest_makespan(SHOPS["just below 16 bits"]) < 2**15
    assert longest_makespan(SHOPS["large times"]) > 2**15


def test_what_is_no_node_is_invalid_and_harms_no_other():
    times = SHOPS["ta021"]
    tables = JohnsonTables.of(times, machine_pairs(20))
    orders, d1, d2 = random_nodes(20, 100, seed=4)
    expected = Nodes.of(times, orders, d1, d2).lb2(tables)
    orders[3, 4] = 20
    orders[40, 0] = -1
    orders[41] = 5
    d1[50], d2[51] = -1, -1
    d1[99], d2[99] = 11, 10
    expected[[3, 40, 41, 50, 51, 99]] = batch_cpu.INVALID
    found = batch_cpu.bounds(times, tables, orders, d1, d2, strong=False, threads=1)
    assert found.tolist() == expected.tolist()
