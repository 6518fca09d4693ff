"""What a solve gives back, its schedule, and both as JSON."""

from dpbb.result.result import TREE as TREE
from dpbb.result.result import Improvement as Improvement
from dpbb.result.result import Proof as Proof
from dpbb.result.result import ProvedBound as ProvedBound
from dpbb.result.result import Result as Result
from dpbb.result.result import Status as Status
from dpbb.result.result import Termination as Termination
from dpbb.result.result import Totals as Totals
