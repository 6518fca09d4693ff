"""Golden trees that are stopped once and go on in a new session: exact sums."""

import pytest

from dpbb.tree import Counters, WorkUnit, n_leaves
from tests.parity.subject import Subject
from tests.parity.tables import golden_params, golden_problem

pytestmark = pytest.mark.timeout(600)

OUTLASTS = 100_000_000
"""A tree of so many nodes is not over after a slice of no length."""


@pytest.mark.parametrize(("engine_name", "row"), golden_params(share=4))
def test_golden_tree_stopped_and_continued(engine_name, row):
    """A short slice; what remains is all that the second session is given."""
    instance, ub, rule, decomposed, leaves = row
    engine = Subject.of(engine_name)
    problem, tree = golden_problem(instance, ub, rule)
    whole = WorkUnit.whole(problem.n_jobs)
    with engine.session(problem, tree, ub=ub) as session:
        part = session.advance(ub, 0)
        rest = session.remaining()
    rest.check()
    assert len(rest) == part.open_roots
    assert len(rest) > 0 or decomposed < OUTLASTS
    total = Counters.zero(problem.n_jobs)
    total = total.plus(part.decomposed, part.leaves, part.closed)
    assert total.closed_leaves == whole.leaves - rest.leaves
    total = total.less_exported(rest)
    if len(rest):
        total += engine.explore(problem, tree, ub, rest).counters
    assert (total.decomposed, total.leaves) == (decomposed, leaves)
    assert total.closed_leaves == n_leaves(problem.n_jobs)
