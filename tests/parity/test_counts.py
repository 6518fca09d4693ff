"""Node counts by law 4, equal to the last unit for every engine."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.options import TreeOptions
from dpbb.tree import WorkUnit, n_leaves
from tests.intervals import unit_between
from tests.oracle import RULES, naive_tree, trees
from tests.parity.subject import SEEDS, churn


@st.composite
def cases(draw, engine, max_jobs=7, rules=RULES):
    """Draw a problem, tree options and a ub that does not fall in the exploration.

    That is one of at most the optimum, or the optimum + 1 when all optima are wanted:
    nodes of LB = optimum are explored then, as are leaves.
    """
    problem = draw(engine.problems(max_jobs=max_jobs))
    tree = draw(trees(problem, rules=rules))
    best, _ = problem.best_orders()
    all_optima = draw(st.booleans())
    ub = best + 1 if all_optima else best - draw(st.integers(0, 3))
    return problem, tree, ub, all_optima


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=20)
@given(data=st.data())
def test_counts_are_those_of_the_naive_tree(engine, rule, data):
    """The tree is a function of instance, root order, rule and branching_ub (law 1)."""
    problem, tree, ub, all_optima = data.draw(cases(engine, 6, (rule,)))
    expected = naive_tree(problem, tree, ub)
    total = engine.explore(problem, tree, ub, all_optima=all_optima)
    assert total.counters.decomposed == len(expected.decomposed)
    assert total.counters.leaves == len(expected.leaves)
    assert total.counters.closed.tolist() == expected.closed()


@settings(max_examples=25)
@given(data=st.data())
def test_whole_equals_sum_of_parts(engine, data):
    """A node is counted by the interval that owns its first leaf, and by no other."""
    problem, tree, ub, all_optima = data.draw(cases(engine))
    expected = naive_tree(problem, tree, ub)
    n_jobs = problem.n_jobs
    inner = data.draw(st.lists(st.integers(0, n_leaves(n_jobs)), max_size=4))
    total_leaves = 0
    for begin, end in pairwise([0, *sorted(inner), n_leaves(n_jobs)]):
        unit = unit_between(n_jobs, begin, end)
        part = engine.explore(problem, tree, ub, unit, all_optima=all_optima)
        assert part.counters.decomposed == expected.decomposed_in(begin, end)
        assert part.counters.closed_leaves == end - begin
        total_leaves += part.counters.leaves
    assert total_leaves == len(expected.leaves)


@settings(max_examples=10)
@given(data=st.data())
def test_every_leaf_a_root(engine, data):
    """The finest cut: all nodes are ancestors on the way down, and count once."""
    problem, tree, ub, all_optima = data.draw(cases(engine, max_jobs=5))
    expected = naive_tree(problem, tree, ub)
    whole = WorkUnit.whole(problem.n_jobs)
    for parts in (1, 3):
        units = [
            WorkUnit.concatenate(whole.split(whole.leaves)[part::parts])
            for part in range(min(parts, whole.leaves))
        ]
        totals = [
            engine.explore(problem, tree, ub, unit, all_optima=all_optima)
            for unit in units
        ]
        decomposed = sum(total.counters.decomposed for total in totals)
        assert decomposed == len(expected.decomposed)
        assert sum(t.counters.leaves for t in totals) == len(expected.leaves)


@settings(max_examples=20)
@given(data=st.data(), seed=SEEDS)
def test_stops_donations_and_reloads_change_no_count(engine, data, seed):
    """Loading a root adds z, exporting one subtracts z; leaves stay (law 5)."""
    problem, tree, ub, all_optima = data.draw(cases(engine, max_jobs=6))
    expected = naive_tree(problem, tree, ub)
    rng = Random(seed)
    total, _, _ = churn(
        engine, problem, tree, ub, rng, slice_s=0, all_optima=all_optima
    )
    assert total.decomposed == len(expected.decomposed)
    assert total.leaves == len(expected.leaves)


@settings(max_examples=10)
@given(data=st.data())
def test_a_cutoff_that_no_schedule_beats_is_proved(engine, data):
    """Infeasible cutoff: all is explored and nothing is found."""
    problem = data.draw(engine.problems())
    best, _ = problem.best_orders()
    ub = data.draw(st.integers(0, best))
    total = engine.explore(problem, TreeOptions(), ub)
    assert total.best is None
    assert total.optima == ()
    assert total.counters.closed_leaves == n_leaves(problem.n_jobs)
