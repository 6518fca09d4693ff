"""What sessions need is loaded before them, and leaves nothing behind."""

import pytest

from dpbb.engines.base import Device
from dpbb.engines.registry import get_engine
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_an_engine_warms_up(name):
    problem = FlowShopProblem(taillard_instance("ta001"))
    get_engine(name).warm_up(problem, TreeOptions(), Device("cpu", "here", threads=4))
