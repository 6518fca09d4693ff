import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.flowshop import FlowShopInstance, taillard_instance
from dpbb.flowshop.heuristics.beam_levels import BACK
from dpbb.flowshop.heuristics.beam_polish import Polish
from dpbb.flowshop.heuristics.search import Search
from dpbb.problem import Incumbent
from tests import oracle


def moved(jobs, first, last):
    """Return the sequences with one of the jobs from first to last elsewhere there."""
    return [
        [*rest[:place], jobs[old], *rest[place:]]
        for old in range(first, last)
        for rest in [jobs[:old] + jobs[old + 1 :]]
        for place in range(first, last)
    ]


@settings(max_examples=30, deadline=None)
@given(oracle.problems(max_jobs=7), st.data())
def test_nodes_become_schedules_with_the_kept_ends(tiny, data):
    """Whatever is missing; all jobs moved until that gives nothing any more.

    The last move may be to a place as good: from where it came none is better.
    """
    n_jobs = tiny.n_jobs
    order = data.draw(st.permutations(range(n_jobs)))
    first = data.draw(st.integers(0, n_jobs))
    last = data.draw(st.integers(0, n_jobs - first))
    inner = order[first : n_jobs - last]
    depth = data.draw(st.integers(0, len(inner)))
    backs = data.draw(st.lists(st.booleans(), min_size=depth, max_size=depth))
    moves = [job + BACK * back for job, back in zip(inner, backs, strict=False)]
    search = Search(FlowShopInstance("tiny", tiny.times), 0, kept=(first, last))
    start = Incumbent(tiny.evaluate(order), np.array(order), "initial")
    polish = Polish(search, start)
    found = polish(np.array([moves], np.uint16))
    prefix = order[:first] + [m for m in moves if m < BACK]
    suffix = [m - BACK for m in moves if m >= BACK][::-1] + order[n_jobs - last :]
    if depth == len(inner):
        assert found.pop(0).tolist() == prefix + suffix
    for one in found:
        jobs = one.tolist()
        assert sorted(jobs) == list(range(n_jobs))
        assert jobs[:first] == order[:first]
        assert jobs[n_jobs - last :] == order[n_jobs - last :]
        same = [
            near
            for near in [jobs, *moved(jobs, first, n_jobs - last)]
            if tiny.evaluate(near) == tiny.evaluate(jobs)
        ]
        assert any(
            min(map(tiny.evaluate, moved(near, first, n_jobs - last)), default=0)
            >= tiny.evaluate(jobs)
            for near in same
        )
    alone = polish(np.array([moves], np.uint16), alone=True)
    assert len(alone) == (depth == len(inner))


def test_a_stop_ends_what_runs():
    instance = taillard_instance("ta051")
    search = Search(instance, 0, should_stop=lambda: True)
    polish = Polish(search, Incumbent(4500, np.arange(50), "initial"))
    moves = np.arange(20, dtype=np.uint16)[np.newaxis].repeat(200, axis=0)
    assert len(polish(moves)) < 200
