"""Job shops: instances, exact costs of many solutions, and all about one schedule.

Evaluators are imported when they are first used: this package alone loads neither
Numba nor CuPy nor Dask.
"""

from dpbb.jobshop.best_known import best_known
from dpbb.jobshop.critical_exchanges import Neighbourhood, n5
from dpbb.jobshop.evaluate import evaluate
from dpbb.jobshop.formats import load
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.layers import Layers, layers
from dpbb.jobshop.longest_paths import Method, longest_paths
from dpbb.jobshop.schedule import JobShopSchedule, schedule
from dpbb.jobshop.solution import Criterion, CyclicError, Encoding
from dpbb.jobshop.taillard import generate
from dpbb.problem import BestKnown

__all__ = [
    "BestKnown",
    "Criterion",
    "CyclicError",
    "Encoding",
    "JobShopInstance",
    "JobShopSchedule",
    "Layers",
    "Method",
    "Neighbourhood",
    "best_known",
    "evaluate",
    "generate",
    "layers",
    "load",
    "longest_paths",
    "n5",
    "schedule",
]
