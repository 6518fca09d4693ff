"""The flow shop's bounds: a row for each.

Sides are always chosen by LB1. Another bound tightens it where it prunes: its row says
by what in Python, for the reference engine and ``verify``, and which engines have a
model of it. Whoever is asked for a bound without a row, or an engine for one without a
model, refuses it by its name.

Paths are ``"module:name"``, and loaded when they are asked for. ``"tighten"`` is that
of a function or class: ``tighten(problem)`` is what the problem has as its method of
this name, see ``dpbb.problem.Tightens``. ``"cpu"`` and ``"cuda"`` are the engines'
models, or functions that return a problem's.
"""

from collections.abc import Mapping

from dpbb.errors import OptionError, shown
from dpbb.problems import name_of_bound

TWO_MACHINES = {
    "tighten": "dpbb.flowshop.models.makespan:TwoMachines",
    "cpu": "dpbb.flowshop.models.cascade_cpu:Cascade",
    "cuda": "dpbb.flowshop.models.lb1_cuda:Lb1",
}
"""LB2, and a cascade of parts of it."""

BOUNDS = {
    "lb1": {
        "cpu": "dpbb.modeling.cpu:model_of",
        "cuda": "dpbb.flowshop.models.lb1_cuda:Lb1",
    },
    "lb2": TWO_MACHINES,
    "cascade": TWO_MACHINES,
}
"""The bounds by name: what a text has before its first colon, if there is one."""


def row_of(bound: str) -> Mapping[str, str]:
    """Return the row of a bound; OptionError if there is none."""
    row = BOUNDS.get(name_of_bound(bound))
    if row is None:
        raise OptionError(
            f"bound: expected one of {', '.join(BOUNDS)}, got {shown(bound)}"
        )
    return row
