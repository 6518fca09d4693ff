"""Job shops: instances, exact costs of many solutions, and all about one schedule.

Evaluators are imported when they are first used: this package alone loads neither
Numba nor CuPy nor Dask.
"""

from dpbb.jobshop.evaluate import evaluate as evaluate
from dpbb.jobshop.formats import load as load
from dpbb.jobshop.instance import JobShopInstance as JobShopInstance
from dpbb.jobshop.schedule import JobShopSchedule as JobShopSchedule
from dpbb.jobshop.schedule import Neighbourhood as Neighbourhood
from dpbb.jobshop.schedule import layers as layers
from dpbb.jobshop.schedule import n5 as n5
from dpbb.jobshop.schedule import schedule as schedule
from dpbb.jobshop.solution import Criterion as Criterion
from dpbb.jobshop.solution import CyclicError as CyclicError
from dpbb.jobshop.solution import Encoding as Encoding
from dpbb.jobshop.taillard import best_known as best_known
from dpbb.jobshop.taillard import generate as generate
from dpbb.problem import BestKnown as BestKnown
