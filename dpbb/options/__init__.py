"""Options of a solve: one table behind the API, the command line, TOML and docs."""

from dpbb.options.solve_options import (
    BLOCK_SIZE_RANGE,
    Balance,
    Bound,
    BranchingRule,
    EngineName,
    Estimates,
    Heuristics,
    ProgressStyle,
    SolveOptions,
    TreeOptions,
    Verbosity,
)

__all__ = [
    "BLOCK_SIZE_RANGE",
    "Balance",
    "Bound",
    "BranchingRule",
    "EngineName",
    "Estimates",
    "Heuristics",
    "ProgressStyle",
    "SolveOptions",
    "TreeOptions",
    "Verbosity",
]
