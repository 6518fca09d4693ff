"""The permutation flow shop: instances, formats, makespans, bounds and heuristics."""

from dpbb.flowshop.formats import read_instance as read_instance
from dpbb.flowshop.instance import FlowShopInstance as FlowShopInstance
from dpbb.flowshop.makespan import makespan as makespan
from dpbb.flowshop.makespan import schedule as schedule
from dpbb.flowshop.problem import FlowShopProblem as FlowShopProblem
from dpbb.flowshop.problem import FlowShopState as FlowShopState
from dpbb.flowshop.taillard import taillard_instance as taillard_instance
from dpbb.flowshop.times import Orientation as Orientation
from dpbb.problem import BestKnown as BestKnown
