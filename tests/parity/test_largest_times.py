"""Times may sum to 2**30 - 2: every engine counts the tree of exact integers."""

import sys

import numpy as np
import pytest

import dpbb
from dpbb.estimation.estimating import estimate
from dpbb.flowshop.bounds import JohnsonTables, machine_pairs
from dpbb.flowshop.heuristics import HEURISTICS
from dpbb.options import LB1, SolveOptions, TreeOptions
from dpbb.problem import StartSearch
from dpbb.proof import checker
from dpbb.proof.verify import verify
from dpbb.tree.branching import tree_of
from tests.largest import WHERE, largest, shops
from tests.node_bounds import Nodes
from tests.oracle import TinyFlowShop, makespan, naive_tree, random_nodes
from tests.parity.subject import shop_of
from tests.processes import run


@pytest.mark.parametrize("bound", ["lb1", "lb2"])
def test_the_largest_times_have_the_tree_of_exact_integers(engine, bound):
    for shop in shops(bound):
        tree = TreeOptions(bound=getattr(shop, "bound", LB1))
        refused = engine.engine.supports(shop_of(shop, tree.bound), tree)
        if refused is not None:
            assert engine.spec.engine == "gpu", refused  # its values have 30 bits
            pytest.skip(refused)
        best, orders = shop.best_orders()
        assert engine.explore(shop, tree).best.value == best
        for ub, all_optima in ((best, False), (best + 1, True)):
            expected = naive_tree(shop, tree, ub)
            found = engine.explore(shop, tree, ub, all_optima=all_optima)
            assert found.counters.decomposed == len(expected.decomposed)
            assert found.counters.closed.tolist() == expected.closed()
        assert len(expected.leaves) >= len(orders)


@pytest.mark.parametrize("bound", ["lb1", "lb2"])
def test_estimates_are_of_the_tree_of_exact_integers(bound):
    for shop in shops(bound):
        problem = shop_of(shop, getattr(shop, "bound", LB1))
        best, _ = shop.best_orders()
        ub = best + 1
        expected = naive_tree(shop, tree_of(problem, SolveOptions(), ub), ub)
        found = estimate(problem, upper_bound=ub, samples=64, measure=False)
        assert found.exact
        assert found.decomposed == len(expected.decomposed)
        assert found.leaves == len(expected.leaves)


@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristics_find_true_makespans(name):
    for shop in shops("lb1"):
        best, _ = shop.best_orders()
        problem = shop_of(shop, LB1)
        search = StartSearch(name, threads=1, iterations=3)
        found = problem.first_incumbent(search)
        order = found.permutation.tolist()
        assert found.value == makespan(shop.times, order) >= best
        assert not found.proved or found.value == best
        better = problem.improve(found, StartSearch("auto", time_limit_s=0.01))
        assert better.value == makespan(shop.times, better.permutation.tolist())


def test_tabu_search_has_true_values():
    for shop in shops("lb1"):
        if shop.n_jobs < 2:
            continue
        found = dpbb.tabu_search(shop.times, range(shop.n_jobs), generations=3)
        assert found.value == makespan(shop.times, found.permutation.tolist())


def test_bounds_of_many_nodes_are_exact():
    for shop in shops("lb1"):
        orders, d1, d2 = random_nodes(shop.n_jobs, 50, seed=1)
        times = np.array(shop.times)
        exact = Nodes.of(times, orders, d1, d2)
        found = dpbb.bounds.lb1(shop.times, orders, d1, d2, device="cpu")
        assert found.tolist() == exact.lb1().tolist()
        tables = JohnsonTables.of(times, machine_pairs(times.shape[1]))
        found = dpbb.bounds.lb2(shop.times, orders, d1, d2, device="cpu")
        assert found.tolist() == exact.lb2(tables).tolist()


@pytest.mark.parametrize(
    ("engine", "changes"),
    [("cpu", {"strategy": "auto"}), ("pool", {}), ("reference", {})],
)
def test_a_whole_call_proves_and_its_certificate_holds(engine, changes, tmp_path):
    path = str(tmp_path / "c.json.gz")
    for where in WHERE:
        shop = TinyFlowShop(largest(2, 2, where))
        best, _ = shop.best_orders()
        result = dpbb.solve(
            shop.times, workers=0, heuristics="none", engine=engine,
            certificate=path, progress="none", **changes,
        )  # fmt: skip
        assert (result.status, result.makespan) == ("optimal", best)
        assert verify(path).verdict == "proved again"
        run(sys.executable, checker.__file__, path)
