"""What the cost of a problem is called."""

from types import SimpleNamespace

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.problem import objective_of


def test_a_problem_says_what_its_cost_is_called():
    shop = FlowShopProblem(FlowShopInstance("tiny", [[1, 2], [3, 4]]))
    assert objective_of(shop) == "makespan"
    own = SimpleNamespace(name="tsp", objective="length of the tour")
    assert objective_of(own) == "length of the tour"
    assert objective_of(SimpleNamespace(name="tsp")) == "cost"
