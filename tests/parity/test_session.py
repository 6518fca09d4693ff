"""The rest of the session protocol: what is open, bounded, loaded and closed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.options import TreeOptions
from dpbb.tree import WorkUnit, n_leaves
from tests.intervals import intervals_of
from tests.oracle import TinyFlowShop, leaf_costs, trees

PROBLEM = TinyFlowShop(((3, 9), (8, 1), (4, 4), (6, 2)))


@settings(max_examples=20)
@given(data=st.data())
def test_least_lb_is_a_bound_on_all_open_leaves(engine, data):
    """None unless every open root is bounded: else it would not be valid."""
    problem = data.draw(engine.problems(max_jobs=5))
    tree = data.draw(trees(problem))
    costs = leaf_costs(problem, tree)
    unit = WorkUnit.concatenate(
        data.draw(st.sampled_from([1, 3])) * [WorkUnit.empty(problem.n_jobs)]
        + [WorkUnit.whole(problem.n_jobs)]
    )
    if data.draw(st.booleans()):
        unit = unit.split(7)[0]
    with engine.session(problem, tree, unit) as session:
        while True:
            part = session.advance(problem.trivial_ub, 0)
            spans = intervals_of(session.remaining())
            if part.exhausted:
                assert part.least_lb is None
                break
            if part.least_lb is not None:
                open_costs = [c for span in spans for c in costs[span.begin : span.end]]
                assert part.least_lb <= min(open_costs)


@settings(max_examples=20)
@given(data=st.data())
def test_remaining_changes_nothing(engine, data):
    """Looking at what is open, as often as one likes, changes neither it nor counts."""
    problem = data.draw(engine.problems(max_jobs=5))
    tree = data.draw(trees(problem))
    ub = problem.best_orders()[0] + 1  # with all_optima: it does not fall
    seen = []
    for looks in (0, 2):
        decomposed, exhausted = 0, False
        with engine.session(problem, tree, ub=ub, all_optima=True) as session:
            while not exhausted:
                before = session.remaining() if looks else None
                for _ in range(looks):
                    assert session.remaining() == before
                part = session.advance(ub, 0)
                decomposed += part.decomposed
                exhausted = part.exhausted
        seen.append(decomposed)
    assert seen[0] == seen[1]


def test_a_session_takes_work_after_it_ran_out(engine):
    """load, advance to the end, load again: the counters go on."""
    first, second = WorkUnit.whole(4).split(2)
    ub = PROBLEM.trivial_ub
    with engine.session(PROBLEM, TreeOptions(), first, all_optima=True) as session:
        closed = 0
        for unit in (first, second):
            if unit is second:
                assert len(session.remaining()) == 0
                session.load(unit)
            while True:
                part = session.advance(ub, 0.1)
                closed += int(part.closed @ [n_leaves(4 - d) for d in range(5)])
                if part.exhausted:
                    break
        assert closed == 24


def test_donate_respects_its_limit(engine):
    """At most max_roots, nothing of a single root, and never all."""
    unit = WorkUnit.from_paths(4, [(0,), (1,), (2, 0), (2, 1), (3,)])
    with engine.session(PROBLEM, TreeOptions(), unit) as session:
        assert len(session.donate(0)) == 0
        given = session.donate(1)
        assert len(given) == 1
        assert given.depths.tolist() == [1]  # the largest subtrees first
        rest = session.remaining()
        assert rest.leaves + given.leaves == unit.leaves
        assert rest.subtract(given) == rest
        assert 0 < len(session.donate(4096)) < len(rest)
    with engine.session(PROBLEM, TreeOptions()) as session:
        assert len(session.donate(4096)) == 0
        assert session.remaining() == WorkUnit.whole(4)


def test_interrupts_end_slices_and_nothing_else(engine):
    """Before the first slice, between slices, and of a closed session."""
    with engine.session(PROBLEM, TreeOptions()) as session:
        assert session.slice_s > 0
        session.interrupt()
        nodes = 0
        while True:
            part = session.advance(PROBLEM.trivial_ub, session.slice_s)
            nodes += part.decomposed + part.leaves
            if part.exhausted:
                break
            session.interrupt()
    session.interrupt()
    with engine.session(PROBLEM, TreeOptions()) as session:
        part = session.advance(PROBLEM.trivial_ub, 10.0)
        assert part.exhausted
        assert part.decomposed + part.leaves == nodes
