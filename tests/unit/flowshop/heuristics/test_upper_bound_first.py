import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.flowshop import FlowShopInstance, FlowShopProblem, taillard_instance
from dpbb.flowshop.heuristics import upper_bound_first as module
from dpbb.flowshop.heuristics.search import Search
from dpbb.flowshop.heuristics.upper_bound_first import upper_bound_first
from dpbb.problem import Incumbent
from tests import oracle


def start_at(problem, order):
    return Incumbent(problem.evaluate(np.array(order)), np.array(order), "initial")


@settings(max_examples=30, deadline=None)
@given(oracle.problems(max_jobs=7), st.data())
def test_kept_jobs_stay_and_the_rest_is_best(tiny, data):
    """With room for all nodes it is exhaustive; a proof is only of the whole tree."""
    n_jobs = tiny.n_jobs
    order = data.draw(st.permutations(range(n_jobs)))
    first = data.draw(st.integers(0, n_jobs))
    last = data.draw(st.integers(0, n_jobs - first))
    if data.draw(st.booleans()):
        first = last = 0
    problem = FlowShopProblem(FlowShopInstance("tiny", tiny.times))
    with_room = data.draw(st.booleans())
    rounds = None if with_room else 20  # without room there may be no end
    search = Search(problem.instance, 0, kept=(first, last), iterations=rounds)
    module.WINDOW, module.NODES = (8, 10**6) if with_room else (2, 3)
    try:
        found = upper_bound_first(search, start_at(problem, order))
    finally:
        module.WINDOW, module.NODES = 8, 100
    inner = order[first : n_jobs - last]
    best = min(
        tiny.evaluate([*order[:first], *middle, *order[n_jobs - last :]])
        for middle in oracle.permutations(inner)
    )
    assert found.permutation[:first].tolist() == order[:first]
    assert found.permutation[n_jobs - last :].tolist() == order[n_jobs - last :]
    assert found.value >= best
    if with_room or found.proved:
        assert found.value == best
    assert found.proved == (first == last == 0) or not with_room


def test_rounds_can_be_repeated():
    instance = taillard_instance("ta051")
    runs = []
    for _ in range(2):
        found = []
        search = Search(instance, 0, iterations=3, on_improvement=found.append)
        start = start_at(FlowShopProblem(instance), range(50))
        assert not upper_bound_first(search, start).proved
        runs.append([(one.value, one.permutation.tolist()) for one in found])
    assert runs[0] == runs[1]
    assert runs[0][-1][0] < start.value
    values = [value for value, _ in runs[0]]
    assert values == sorted(values, reverse=True)


def test_limits_end_the_search():
    instance = taillard_instance("ta051")
    asked = []

    def should_stop():
        asked.append(True)
        return len(asked) > 20

    start = start_at(FlowShopProblem(instance), range(50))
    upper_bound_first(Search(instance, 0, should_stop=should_stop), start)
    assert len(asked) == 21
    over = Search(instance, 0, deadline=time.monotonic())
    assert upper_bound_first(over, start) is start
