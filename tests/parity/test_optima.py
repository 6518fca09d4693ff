"""What engines find: the optimum, all optima, under an upper bound that falls."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.options import TreeOptions
from dpbb.tree import Counters, WorkUnit, n_leaves
from tests.oracle import RULES, TinyFlowShop, best_orders, trees
from tests.parity.subject import SEEDS, better, churn


def is_found(candidate, problem, value):
    order = [int(job) for job in candidate.permutation]
    return (
        sorted(order) == list(range(problem.n_jobs))
        and problem.evaluate(order) == candidate.value == value
    )


@settings(max_examples=50)
@given(data=st.data())
def test_the_optimum_is_found_below_any_upper_bound(engine, data):
    """Live UB: without one it starts from trivial_ub and proves what it finds."""
    problem = data.draw(engine.problems())
    best, _ = problem.best_orders()
    ub = data.draw(st.none() | st.integers(best + 1, best + 5))
    total = engine.explore(problem, data.draw(trees(problem)), ub)
    assert is_found(total.best, problem, best)
    assert total.counters.closed_leaves == n_leaves(problem.n_jobs)


@settings(max_examples=30)
@given(data=st.data(), seed=SEEDS)
def test_an_upper_bound_that_falls_from_outside_prunes(engine, data, seed):
    """Either the optimum is found, or a ub that it does not beat came first."""
    problem = data.draw(engine.problems(max_jobs=6))
    best, _ = problem.best_orders()
    tree = data.draw(trees(problem))
    rng = Random(seed)
    found, counters, least = None, Counters.zero(problem.n_jobs), problem.trivial_ub
    with engine.session(problem, tree) as session:
        while True:
            drawn = rng.randint(max(0, best - 1), problem.trivial_ub)
            ub = rng.choice((drawn, problem.trivial_ub))
            allowed = min([least, ub, *([found.value] if found else [])])
            part = session.advance(ub, 0)
            if part.best is not None:
                assert part.best.value < allowed
            found, least = better(found, part.best), min(least, ub)
            counters = counters.plus(part.decomposed, part.leaves, part.closed)
            rest = session.remaining()
            assert counters.closed_leaves + rest.leaves == n_leaves(problem.n_jobs)
            if part.exhausted:
                break
    if found is None or found.value != best:
        assert least <= best
    else:
        assert is_found(found, problem, best)


@settings(max_examples=20)
@given(data=st.data(), seed=SEEDS)
def test_the_optimum_survives_stops_donations_and_reloads(engine, data, seed):
    """No leaf gets lost, whoever explores it and whatever the ub is by then."""
    problem = data.draw(engine.problems(max_jobs=6))
    best, _ = problem.best_orders()
    tree = data.draw(trees(problem))
    rng = Random(seed)
    _, found, _ = churn(engine, problem, tree, problem.trivial_ub, rng, slice_s=0)
    assert is_found(found, problem, best)


@settings(max_examples=30)
@given(data=st.data())
def test_all_optima_are_found_each_once(engine, data):
    """Prune only LB > UB: exactly the permutations of least makespan remain."""
    problem = data.draw(engine.problems(max_jobs=6))
    best, orders = problem.best_orders()
    ub = best + data.draw(st.integers(1, 3)) if data.draw(st.booleans()) else None
    slice_s = data.draw(st.sampled_from((0, 0.2)))
    tree = data.draw(trees(problem, copies=True))
    total = engine.explore(problem, tree, ub, slice_s=slice_s, all_optima=True)
    found = [tuple(int(job) for job in leaf.permutation) for leaf in total.optima]
    assert len(found) == len(orders)
    assert set(found) == orders
    assert {leaf.value for leaf in total.optima} == {best}
    assert total.best.value == best


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "times",
    [
        ((5, 0, 3),), ((0, 0, 0),), ((3, 8), (6, 1)), ((6, 1), (3, 8)),
        ((4,), (2,), (9,)),
    ],
    ids=["one job", "one job of no time", "two jobs", "two, reversed", "one machine"],
)  # fmt: skip
def test_the_smallest_instances(engine, rule, times):
    """n = 1 is a root that is a leaf; n = 2 one node; m = 1 all schedules are equal."""
    problem = TinyFlowShop(times)
    best, orders = best_orders(times)
    tree = TreeOptions(rule, branching_ub=best)
    total = engine.explore(problem, tree, best + 1, all_optima=True)
    assert {tuple(leaf.permutation.tolist()) for leaf in total.optima} == orders
    assert total.counters.closed_leaves == n_leaves(problem.n_jobs)
    total = engine.explore(problem, tree)
    assert is_found(total.best, problem, best)
    if problem.n_jobs == 1:
        assert (total.counters.decomposed, total.counters.leaves) == (0, 1)
        empty = WorkUnit.empty(1)
        assert engine.explore(problem, tree, 1, empty).counters == Counters.zero(1)
