"""The flow shop's bounds: a row for each.

Sides are always chosen by LB1. Another bound tightens it where it prunes: its row says
by what in Python, for the reference engine and ``verify``, and which engines have a
model of it. Whoever is asked for a bound without a row, or an engine for one without a
model, refuses it by its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dpbb.errors import OptionError, shown
from dpbb.problems import name_of_bound


@dataclass(frozen=True, slots=True)
class FlowShopBound:
    """One bound; paths are ``"module:name"`` and loaded when they are asked for.

    Parameters
    ----------
    tighten
        Path of a function or class: ``tighten(problem)`` is what the problem has as its
        method of this name, see ``dpbb.problem.Tightens``; its ``bound`` is the whole
        text. None: LB1 alone.
    models
        Path of the model for an engine (``"cpu"``, ``"cuda"``), see
        ``dpbb.problems.Family``.
    """

    tighten: str | None = None
    models: Mapping[str, str] = field(default_factory=dict)


TWO_MACHINES = FlowShopBound(
    tighten="dpbb.flowshop.models.makespan:TwoMachines",
    models={
        "cpu": "dpbb.flowshop.models.cascade_cpu:Cascade",
        "cuda": "dpbb.flowshop.models.lb1_cuda:Lb1",
    },
)
"""LB2, and a cascade of parts of it."""

BOUNDS = {
    "lb1": FlowShopBound(
        models={
            "cpu": "dpbb.modeling.cpu:model_of",
            "cuda": "dpbb.flowshop.models.lb1_cuda:Lb1",
        }
    ),
    "lb2": TWO_MACHINES,
    "cascade": TWO_MACHINES,
}
"""The bounds by name: what a text has before its first colon, if there is one."""


def row_of(bound: str) -> FlowShopBound:
    """Return the row of a bound; OptionError if there is none."""
    row = BOUNDS.get(name_of_bound(bound))
    if row is None:
        raise OptionError(
            f"bound: expected one of {', '.join(BOUNDS)}, got {shown(bound)}"
        )
    return row
