"""Options of a solve: one table behind the API, the command line, TOML and docs."""

from dpbb.options.derived import RunOptions, SolveKeywords, Tuning
from dpbb.options.table import (
    BLOCK_SIZE_RANGE,
    LB1,
    OPTIONS,
    Balance,
    BranchingRule,
    EngineName,
    Estimates,
    Heuristics,
    Offload,
    Placement,
    ProgressStyle,
    Selection,
    SolveOptions,
    Strategy,
    TreeOptions,
    Verbosity,
)

__all__ = [
    "BLOCK_SIZE_RANGE",
    "LB1",
    "OPTIONS",
    "Balance",
    "BranchingRule",
    "EngineName",
    "Estimates",
    "Heuristics",
    "Offload",
    "Placement",
    "ProgressStyle",
    "RunOptions",
    "Selection",
    "SolveKeywords",
    "SolveOptions",
    "Strategy",
    "TreeOptions",
    "Tuning",
    "Verbosity",
]
