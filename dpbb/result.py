"""What a solve gives back: status, termination and everything that was proved."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """What is known about the instance when a solve ends."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE_CUTOFF = "infeasible_cutoff"
    UNKNOWN = "unknown"


class Termination(StrEnum):
    """Why a solve ended; apart from what is known then."""

    EXHAUSTED = "exhausted"
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    GAP_LIMIT = "gap_limit"
    STOPPED = "stopped"
