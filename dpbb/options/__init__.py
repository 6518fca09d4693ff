"""Options of a solve: one table behind the API, the command line, TOML and docs."""

from dpbb.options.derived import SolveKeywords as SolveKeywords
from dpbb.options.table import BLOCK_SIZE_RANGE as BLOCK_SIZE_RANGE
from dpbb.options.table import DEVICES as DEVICES
from dpbb.options.table import LB1 as LB1
from dpbb.options.table import OPTIONS as OPTIONS
from dpbb.options.table import PROCESSORS as PROCESSORS
from dpbb.options.table import TUNING as TUNING
from dpbb.options.table import Balance as Balance
from dpbb.options.table import BranchingRule as BranchingRule
from dpbb.options.table import DeviceName as DeviceName
from dpbb.options.table import EngineName as EngineName
from dpbb.options.table import Heuristics as Heuristics
from dpbb.options.table import Processor as Processor
from dpbb.options.table import ProgressStyle as ProgressStyle
from dpbb.options.table import RunOptions as RunOptions
from dpbb.options.table import Selection as Selection
from dpbb.options.table import SolveOptions as SolveOptions
from dpbb.options.table import Strategy as Strategy
from dpbb.options.table import TreeOptions as TreeOptions
from dpbb.options.table import Tuning as Tuning
from dpbb.options.table import Verbosity as Verbosity
from dpbb.options.table import naming as naming
from dpbb.options.table import without_places as without_places
