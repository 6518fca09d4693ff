"""What sessions need is loaded before them, and leaves nothing behind."""

import pytest

from dpbb.engines import explore_to_end, get_engine
from dpbb.engines.base import Device
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from dpbb.tree import WorkUnit
from tests.oracle import TinyFlowShop, best_orders, naive_tree


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_an_engine_warms_up(name):
    problem = FlowShopProblem(taillard_instance("ta001"))
    get_engine(name).warm_up(problem, TreeOptions(), Device("cpu", "here", threads=4))


ENGINE = get_engine("reference")
PROBLEM = TinyFlowShop(((3, 9, 2), (8, 1, 7), (4, 4, 5), (6, 2, 9), (1, 7, 3)))


def loaded(**options):
    device = ENGINE.devices()[0]
    session = ENGINE.open(PROBLEM, TreeOptions(), device, **options)
    session.load(WorkUnit.whole(5))
    return session


def test_the_sum_of_all_slices_is_the_whole_tree():
    ub = best_orders(PROBLEM.times)[0] + 1
    tree = naive_tree(PROBLEM, TreeOptions(), ub)
    parts = []
    session = loaded(all_optima=True)  # so that the ub does not fall
    total = explore_to_end(session, ub, 0, on_slice=lambda part, _: parts.append(part))
    assert total.exhausted
    assert total.counters.decomposed == len(tree.decomposed)
    assert total.counters.closed_leaves == 120
    assert len(parts) > 1
    assert sum(part.decomposed for part in parts) == len(tree.decomposed)


def test_on_slice_can_stop():
    session = loaded()
    total = explore_to_end(
        session, 10**6, 0, on_slice=lambda part, total: total.counters.decomposed > 2
    )
    assert not total.exhausted
    assert total.counters.decomposed == 3
    assert total.counters.closed_leaves + session.remaining().leaves == 120
    rest = explore_to_end(session, 10**6, 0)
    assert rest.exhausted


def test_the_best_of_all_slices_and_all_optima_are_kept():
    value, orders = best_orders(PROBLEM.times)
    total = explore_to_end(loaded(), 10**6, 0)
    assert total.best.value == value
    assert tuple(total.best.permutation) in orders
    assert total.optima == ()
    total = explore_to_end(loaded(all_optima=True), 10**6, 0)
    assert sorted(tuple(leaf.permutation) for leaf in total.optima) == sorted(orders)
    assert {leaf.value for leaf in total.optima} == {value}


def test_a_session_without_work_ends_at_once():
    session = ENGINE.open(PROBLEM, TreeOptions(), ENGINE.devices()[0])
    total = explore_to_end(session, 10**6)
    assert total.exhausted
    assert total.counters.closed_leaves == 0
