"""The permutation flow shop: instances, formats, makespans, bounds and heuristics."""

from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.instance import FlowShopInstance, Orientation
from dpbb.flowshop.makespan import makespan, schedule
from dpbb.flowshop.problem import FlowShopProblem, FlowShopState
from dpbb.flowshop.taillard import taillard_instance
from dpbb.problem import BestKnown

__all__ = [
    "BestKnown",
    "FlowShopInstance",
    "FlowShopProblem",
    "FlowShopState",
    "Orientation",
    "makespan",
    "read_instance",
    "schedule",
    "taillard_instance",
]
