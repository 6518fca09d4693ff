"""What a solve gives back, its schedule, and both as JSON."""

from dpbb.result.result import (
    TREE,
    Improvement,
    Proof,
    ProvedBound,
    Result,
    Status,
    Termination,
)

__all__ = [
    "TREE",
    "Improvement",
    "Proof",
    "ProvedBound",
    "Result",
    "Status",
    "Termination",
]
