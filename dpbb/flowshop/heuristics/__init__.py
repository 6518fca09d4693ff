"""Heuristics for a first incumbent, behind one signature.

Importing this package is cheap: what Numba compiles is imported when it is wanted.
"""

from dpbb.flowshop.heuristics.first import HEURISTICS as HEURISTICS
from dpbb.flowshop.heuristics.first import default_time_s as default_time_s
from dpbb.flowshop.heuristics.first import first_incumbent as first_incumbent
from dpbb.flowshop.heuristics.first import improve_schedule as improve_schedule
