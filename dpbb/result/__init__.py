"""What a solve gives back, its schedule, and both as JSON."""

from dpbb.result.result import Improvement, Proof, Result, Status, Termination

__all__ = ["Improvement", "Proof", "Result", "Status", "Termination"]
