"""Trees of known size: the rows of the golden table, exactly, for every engine."""

import random
from itertools import pairwise

import pytest

from dpbb.options import BranchingRule
from dpbb.tree import n_leaves
from tests.intervals import interval_of, leaf_of_path, unit_between
from tests.parity.subject import SPECS, Subject, churn, params
from tests.parity.tables import golden_params, golden_problem, rows

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize(("engine_name", "row"), golden_params())
def test_golden_tree(engine_name, row):
    """Decomposed nodes and leaves of the tree {LB < ub}."""
    instance, ub, rule, decomposed, leaves = row
    engine = Subject.of(engine_name)
    problem, tree = golden_problem(instance, ub, rule)
    total = engine.explore(problem, tree, ub)
    assert (total.counters.decomposed, total.counters.leaves) == (decomposed, leaves)
    assert total.counters.closed_leaves == n_leaves(problem.n_jobs)
    assert total.best is None


def random_leaf(rng, n_jobs):
    """Any leaf, or of a large tree, to have few roots, the first of a shallow node."""
    if n_jobs <= 50:
        return rng.randrange(n_leaves(n_jobs))
    path = [rng.randrange(n_jobs - level) for level in range(rng.randint(1, 8))]
    return leaf_of_path(n_jobs, path)


@pytest.mark.parametrize(("engine_name", "row"), golden_params(share=32, step=5))
def test_golden_tree_in_random_intervals(engine_name, row):
    """The same counts from the root cut into random intervals, one after another.

    Half of the cuts are where the tree is: near the leaves of nodes left open by a
    first short slice.
    """
    instance, ub, rule, decomposed, leaves = row
    engine = Subject.of(engine_name)
    problem, tree = golden_problem(instance, ub, rule)
    n_jobs = problem.n_jobs
    seed = f"{instance} {ub} {rule}"
    rng = random.Random(seed)
    points = [random_leaf(rng, n_jobs) for _ in range(3)]
    with engine.session(problem, tree, ub=ub) as session:
        session.advance(ub, 0)
        open_roots = session.remaining().roots()
    for root in rng.sample(open_roots, min(3, len(open_roots))):
        span = interval_of(root, n_jobs)
        points += [span.begin, span.begin + span.size // 2]
    points = [0, *sorted(points), n_leaves(n_jobs)]
    sums = [0, 0]
    for begin, end in pairwise(points):
        unit = unit_between(n_jobs, begin, end)
        counters = engine.explore(problem, tree, ub, unit).counters
        assert counters.closed_leaves == end - begin
        sums[0] += counters.decomposed
        sums[1] += counters.leaves
    assert sums == [decomposed, leaves], f"seed {seed!r}, cuts {points}"


def churned_params():
    """Engines and trees; all of an engine but the first are slow."""
    slow = pytest.mark.slow
    return [
        pytest.param(one.id, *case, marks=[*one.marks, *[slow] * (n > 0)])
        for one in params()
        for n, case in enumerate(SPECS[one.id].churned)
    ]


@pytest.mark.parametrize(("engine_name", "instance", "ub"), churned_params())
def test_golden_tree_with_stops_donations_and_reloads(engine_name, instance, ub):
    """The z rule and conservation on trees that outlast many slices."""
    known = {row[:3]: row[3:] for row in rows()}
    if not known:
        pytest.skip("no golden values")
    engine = Subject.of(engine_name)
    for rule in (BranchingRule.MINMIN, BranchingRule.MINBRANCH):
        problem, tree = golden_problem(instance, ub, rule)
        rng = random.Random(f"{instance} {rule}")
        total, best, n_sessions = churn(
            engine, problem, tree, ub, rng, slice_s=engine.spec.slice_s
        )
        assert (total.decomposed, total.leaves) == known[instance, ub, rule]
        assert best is None
        assert n_sessions > 1, "the tree ended before anything was interrupted"
