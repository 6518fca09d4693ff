"""A cascade is one text: the same tree for whoever reads it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.engines import get_engine
from dpbb.engines.base import Device, explore_to_end
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.bounds.cascade import Cascade, cascade_of
from dpbb.problem import bound_of, with_bound
from dpbb.problems import decoded, encoded
from dpbb.proof import checker
from dpbb.tree.work_unit import WorkUnit
from tests import oracle
from tests.oracle import naive_tree

SHOP = FlowShopInstance("shop", [[3, 9, 2], [8, 1, 5], [4, 4, 6], [2, 7, 7]])


def test_it_is_read_as_it_is_written():
    text = "cascade:2-13:18-19,0-7"
    cascade = Cascade.parse(text)
    assert cascade == Cascade(2, 13, ((18, 19), (0, 7)))
    assert str(cascade) == text


@pytest.mark.parametrize(
    "text",
    [
        "cascade:", "cascade:1-2:", "cascade:1-2:0-1,", "cascade:1-2:0-1\n",
        "cascade:1-2:0-\u0661", "cascade:1-12345678901:0-1",
    ],
)  # fmt: skip
def test_another_text_is_refused(text):
    with pytest.raises(OptionError, match="expected cascade:FIRST-LAST:u-v"):
        Cascade.parse(text)
    with pytest.raises(OptionError):
        FlowShopProblem(SHOP, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cascade:0-2:0-1", "1 <= FIRST <= LAST, got 0-2"),
        ("cascade:1-4:0-1", "expected depths 1 to 3 of 4 jobs, got 1-4"),
        ("cascade:1-2:1-1", "u < v in a cascade, got 1-1"),
        ("cascade:1-2:0-3", "expected machines 0 to 2, got 0-3"),
        ("cascade:1-2:0-1,0-1", "each pair of machines of a cascade once"),
        ("cascades:1-2:0-1", "expected one of lb1, lb2, .*, got 'cascades:1"),
    ],
)
def test_numbers_that_are_none_of_the_shop_are_refused(text, words):
    with pytest.raises(OptionError, match=words):
        FlowShopProblem(SHOP, text)


def test_alone_it_becomes_a_text_with_all_numbers():
    problem = with_bound(FlowShopProblem(SHOP), "cascade")
    assert bound_of(problem) == "cascade:1-3:0-1,0-2,1-2"
    assert decoded(encoded(problem)) == problem
    one = FlowShopProblem(FlowShopInstance("one", [[3], [4]]), "cascade")
    assert one == FlowShopProblem(one.instance)


def test_lb2_is_everywhere_and_has_all_pairs():
    assert cascade_of("lb2", 4, 3) == Cascade(1, 3, ((0, 1), (0, 2), (1, 2)))
    for n_jobs, n_machines in ((1, 3), (4, 1)):
        assert cascade_of("lb2", n_jobs, n_machines) is None


@given(oracle.cascades(), st.data())
def test_the_tree_is_the_one_of_the_definition(shop, data):
    """The solver's reference and the checker of one file explore it, too."""
    tree = data.draw(oracle.trees(shop))
    ub = data.draw(st.integers(1, shop.trivial_ub))
    expected = naive_tree(shop, tree, ub, live=True)
    instance = FlowShopInstance("shop", np.array(shop.times))
    problem = FlowShopProblem(instance, tree.bound)
    session = get_engine("reference").open(problem, tree, Device("cpu", "a"), ub=ub)
    session.load(WorkUnit.whole(problem.n_jobs))
    counters = explore_to_end(session, ub).counters
    assert counters.decomposed == len(expected.decomposed)
    assert counters.leaves == len(expected.leaves)


@given(oracle.cascades(), st.data())
def test_the_checker_of_one_file_explores_the_same_tree(shop, data):
    tree = data.draw(oracle.trees(shop))
    best, _ = oracle.best_orders(shop.times)
    expected = naive_tree(shop, tree, best, live=True)
    own = checker.Shop({"times": [list(row) for row in shop.times]})
    whole = checker.Part(1)
    whole.roots = [()]
    found = checker.Tree(own, tree.to_json()).explore(whole, best, 10**6)
    decomposed, leaves, closed = found
    assert (decomposed, leaves) == (len(expected.decomposed), len(expected.leaves))
    by_depth = enumerate(expected.closed())
    assert closed == {depth: count for depth, count in by_depth if count}
