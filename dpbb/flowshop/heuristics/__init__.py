"""Heuristics for a first incumbent, behind one signature.

Importing this package is cheap: what Numba compiles is imported when it is wanted.
"""

from dpbb.flowshop.heuristics.first import HEURISTICS as HEURISTICS
from dpbb.flowshop.heuristics.first import first_incumbent as first_incumbent
