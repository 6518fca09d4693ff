"""Exact branch and bound for permutation scheduling, spread by Dask.

``dpbb.solve("ta022")`` proves an optimal schedule; ``dpbb.submit`` does not wait for
it. Everything is imported when it is first used: this package alone loads no solver.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    import fcntl as fcntl
except ImportError as error:
    raise ImportError("dpbb runs on Linux and macOS; on Windows in WSL") from error

if TYPE_CHECKING:
    from dpbb.api import asynchronous as asynchronous
    from dpbb.api import attach as attach
    from dpbb.api import evaluate as evaluate
    from dpbb.api import resume as resume
    from dpbb.api import runs as runs
    from dpbb.api import solve as solve
    from dpbb.api import submit as submit
    from dpbb.cluster.client.run import Run as Run
    from dpbb.coordination.snapshot import Snapshot as Snapshot
    from dpbb.errors import CheckpointError as CheckpointError
    from dpbb.errors import ClusterError as ClusterError
    from dpbb.errors import DpbbError as DpbbError
    from dpbb.errors import EngineUnavailable as EngineUnavailable
    from dpbb.errors import InstanceError as InstanceError
    from dpbb.errors import Interrupted as Interrupted
    from dpbb.errors import InvariantError as InvariantError
    from dpbb.errors import OptionError as OptionError
    from dpbb.errors import UnwrittenError as UnwrittenError
    from dpbb.estimation.estimating import estimate as estimate
    from dpbb.estimation.result import Estimate as Estimate
    from dpbb.flowshop.family import read_problem as read_problem
    from dpbb.flowshop.formats import read_instance as read_instance
    from dpbb.flowshop.heuristics.tabu import tabu_search as tabu_search
    from dpbb.flowshop.instance import FlowShopInstance as FlowShopInstance
    from dpbb.flowshop.shop import FlowShop as FlowShop
    from dpbb.flowshop.table_form import TableForm as TableForm
    from dpbb.modeling import Model as Model
    from dpbb.modeling import ModelError as ModelError
    from dpbb.options import SolveOptions as SolveOptions
    from dpbb.options import Tuning as Tuning
    from dpbb.proof.verify import verify as verify
    from dpbb.result import Result as Result
    from dpbb.result import Status as Status
    from dpbb.result import Termination as Termination
    from dpbb.solving.heuristic import heuristic as heuristic

__version__ = "0.1.0"

_HOMES = {
    "dpbb.api": (
        "asynchronous",
        "attach",
        "evaluate",
        "resume",
        "runs",
        "solve",
        "submit",
    ),
    "dpbb.cluster.client.run": ("Run",),
    "dpbb.coordination.snapshot": ("Snapshot",),
    "dpbb.solving.heuristic": ("heuristic",),
    "dpbb.proof.verify": ("verify",),
    "dpbb.errors": (
        "CheckpointError",
        "ClusterError",
        "DpbbError",
        "EngineUnavailable",
        "InstanceError",
        "Interrupted",
        "InvariantError",
        "OptionError",
        "UnwrittenError",
    ),
    "dpbb.estimation.estimating": ("estimate",),
    "dpbb.estimation.result": ("Estimate",),
    "dpbb.flowshop.family": ("read_problem",),
    "dpbb.flowshop.formats": ("read_instance",),
    "dpbb.flowshop.heuristics.tabu": ("tabu_search",),
    "dpbb.flowshop.instance": ("FlowShopInstance",),
    "dpbb.flowshop.shop": ("FlowShop",),
    "dpbb.flowshop.table_form": ("TableForm",),
    "dpbb.modeling": ("Model", "ModelError"),
    "dpbb.options": ("SolveOptions", "Tuning"),
    "dpbb.result": ("Result", "Status", "Termination"),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)

_MODULES = {
    "bounds": "dpbb.bounds",
    "errors": "dpbb.errors",
    "heuristics": "dpbb.heuristics",
    "jobshop": "dpbb.jobshop",
    "neighbourhood": "dpbb.flowshop.heuristics.tabu",
    "plotting": "dpbb.plotting",
    "problem": "dpbb.problem",
    "problems": "dpbb.problems",
    "progress": "dpbb.progress",
    "testing": "dpbb.testing",
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
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *__all__, *_MODULES})
