"""What a solve gives back, its schedule, and both as JSON."""

from dpbb.result.result import (
    Improvement,
    Proof,
    ProvedBound,
    Result,
    Status,
    Termination,
)

__all__ = ["Improvement", "Proof", "ProvedBound", "Result", "Status", "Termination"]
