"""Exact branch and bound for permutation scheduling, spread by Dask.

``dpbb.solve("ta022")`` proves an optimal schedule; ``dpbb.submit`` does not wait for
it. Everything is imported when it is first used: this package alone loads no solver.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpbb.api import asynchronous, evaluate, resume, solve, submit
    from dpbb.cluster.client.run import Run
    from dpbb.coordination.snapshot import Snapshot
    from dpbb.errors import (
        CheckpointError,
        ClusterError,
        DpbbError,
        EngineUnavailable,
        InstanceError,
        InvariantError,
        OptionError,
        UnwrittenError,
    )
    from dpbb.estimation.estimating import estimate
    from dpbb.estimation.result import Estimate
    from dpbb.flowshop.formats import read_instance
    from dpbb.flowshop.instance import FlowShopInstance
    from dpbb.options import SolveOptions
    from dpbb.proof.verify import verify
    from dpbb.result import Result, Status, Termination
    from dpbb.solving.attach import attach, runs
    from dpbb.solving.heuristic import heuristic
    from dpbb.solving.tabu import tabu_search

__version__ = "0.1.0"

__all__ = [
    "CheckpointError",
    "ClusterError",
    "DpbbError",
    "EngineUnavailable",
    "Estimate",
    "FlowShopInstance",
    "InstanceError",
    "InvariantError",
    "OptionError",
    "Result",
    "Run",
    "Snapshot",
    "SolveOptions",
    "Status",
    "Termination",
    "UnwrittenError",
    "asynchronous",
    "attach",
    "estimate",
    "evaluate",
    "heuristic",
    "read_instance",
    "resume",
    "runs",
    "solve",
    "submit",
    "tabu_search",
    "verify",
]

_HOMES = {
    "dpbb.api": ("asynchronous", "evaluate", "resume", "solve", "submit"),
    "dpbb.cluster.client.run": ("Run",),
    "dpbb.coordination.snapshot": ("Snapshot",),
    "dpbb.solving.attach": ("attach", "runs"),
    "dpbb.solving.heuristic": ("heuristic",),
    "dpbb.solving.tabu": ("tabu_search",),
    "dpbb.proof.verify": ("verify",),
    "dpbb.errors": (
        "CheckpointError",
        "ClusterError",
        "DpbbError",
        "EngineUnavailable",
        "InstanceError",
        "InvariantError",
        "OptionError",
        "UnwrittenError",
    ),
    "dpbb.estimation.estimating": ("estimate",),
    "dpbb.estimation.result": ("Estimate",),
    "dpbb.flowshop.formats": ("read_instance",),
    "dpbb.flowshop.instance": ("FlowShopInstance",),
    "dpbb.options": ("SolveOptions",),
    "dpbb.result": ("Result", "Status", "Termination"),
}

_MODULES = {
    "bounds": "dpbb.flowshop.bounds.batch",
    "jobshop": "dpbb.jobshop",
    "neighbourhood": "dpbb.flowshop.neighbourhood",
}
"""Modules that are called by a name here; the others are imported by their own."""

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(home), name)
            globals()[name] = value
            return value
    if name in _MODULES:
        return import_module(_MODULES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
