"""Heuristics for a first incumbent, behind one signature.

Importing this package is cheap: what Numba compiles is imported when it is wanted.
"""

from dpbb.flowshop.heuristics.beside import improve_beside
from dpbb.flowshop.heuristics.first import default_time_s, first_incumbent
from dpbb.flowshop.heuristics.search import Search
from dpbb.flowshop.heuristics.table import DEVICES, HEURISTICS, Method
from dpbb.problem import Incumbent

__all__ = [
    "DEVICES",
    "HEURISTICS",
    "Incumbent",
    "Method",
    "Search",
    "default_time_s",
    "first_incumbent",
    "improve_beside",
]
