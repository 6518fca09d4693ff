"""What a problem says of itself, and what is assumed where it says nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpbb.errors import InstanceError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.problem import NO_CHILD, check_numbers, cost_of, root_bound, sides_of

SHOP = FlowShopProblem(FlowShopInstance("tiny", [[1, 2], [3, 4]]))


@pytest.mark.parametrize(
    ("sides", "expected"),
    [(("front",), (False,)), (("back",), (True,)), (("back", "front"), (False, True))],
)
def test_a_problem_says_its_sides(sides, expected):
    assert sides_of(SimpleNamespace(sides=sides)) == expected
    assert sides_of(SHOP) == (False, True)


class Root:
    """A problem of three jobs whose root has these bounds on its sides."""

    name, n_jobs, trivial_ub = "root", 3, 100

    def __init__(self, front, back=None):
        self.bounds = front, back
        self.sides = ("front",) if back is None else ("front", "back")

    def root_state(self):
        return None

    def child_bounds(self, _state, jobs, *, back):
        assert jobs.tolist() == [0, 1, 2]
        bounds = self.bounds[back]
        return np.array(bounds) if isinstance(bounds, list) else bounds


def test_the_root_bound_is_the_better_of_the_sides():
    assert root_bound(Root([5, 7, 6], [4, 8, 9])) == 5
    assert root_bound(Root([5, 7, 6], [6, 8, 9])) == 6


def test_children_that_do_not_exist_are_no_root_bound():
    assert root_bound(Root([NO_CHILD, 7, NO_CHILD])) == 7
    assert root_bound(Root([NO_CHILD, 7, 8], [9, NO_CHILD, NO_CHILD])) == 9
    assert root_bound(Root([NO_CHILD] * 3)) == 100  # there is no permutation at all


def test_a_side_that_is_not_branched_on_is_not_asked():
    """Its bounds would all be NO_CHILD: a false proof."""
    assert root_bound(Root([5, 7, 6])) == 5  # bounds[True] is None


@pytest.mark.parametrize("sides", [(), "front", ("middle",), ("front", "end")])
def test_sides_that_are_none_are_refused(sides):
    with pytest.raises(InstanceError, match="sides of own: expected"):
        sides_of(SimpleNamespace(sides=sides, name="own"))


@pytest.mark.parametrize(
    "bounds",
    [[5.0, 6.5, NO_CHILD], [5, 6], [[5, 6, 7]], [True, True, False], (5, 6, 7)],
)
def test_bounds_that_are_not_an_integer_for_each_child_are_refused(bounds):
    """As floats, children that do not exist would become the best of all."""
    with pytest.raises(InstanceError, match="child_bounds of root: expected 3 whole"):
        root_bound(Root(bounds))


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_jobs", value) for value in (0, np.int64(3))]
    + [("trivial_ub", value) for value in (np.int64(100), 99.5, 2**63)],
)
def test_numbers_that_would_fail_later_are_refused(name, value):
    problem = Root([5, 6, 7])
    check_numbers(problem)
    setattr(problem, name, value)
    with pytest.raises(InstanceError, match=f"{name} of root: expected an int"):
        check_numbers(problem)


def test_a_cost_is_a_whole_number_and_becomes_an_int():
    assert type(cost_of(SimpleNamespace(evaluate=np.sum), np.arange(3))) is int
    with pytest.raises(InstanceError, match="evaluate of own: expected a whole"):
        cost_of(SimpleNamespace(name="own", evaluate=np.mean), np.arange(3))
