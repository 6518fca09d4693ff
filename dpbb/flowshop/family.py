"""The flow shop as dpbb's registry of problems knows it."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from dpbb.flowshop.bounds.table import BOUNDS
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem, check_methods
from dpbb.options import LB1
from dpbb.problem import Problem
from dpbb.problems import Family


def decode(data: Mapping[str, Any]) -> FlowShopProblem:
    """Return an encoded problem; InstanceError if it is none.

    Without the name of a bound it is LB1, without given jobs there are none.
    """
    instance = FlowShopInstance(data["name"], data["times"])
    given = (tuple(data.get(side, ())) for side in ("front", "back"))
    return FlowShopProblem(instance, data.get("bound", LB1), *given)


def read_problem(
    source: Any,
    *,
    objective: str | None = None,
    index: int | None = None,
    orientation: str | None = None,
    data_dir: str | PathLike[str] | None = None,
    **features: Any,
) -> Problem[Any]:
    """Return the problem that somebody asks for.

    ``source``: a problem, or whatever ``read_instance`` takes: then it is a flow shop,
    with ``objective`` one of ``OBJECTIVES``, with ``features`` as ``FlowShop`` has them
    (``blocking=True``).

    InstanceError: see ``read_instance``, ``check_methods``, ``FlowShop``; or both.
    """
    if isinstance(source, FlowShopProblem):
        check_methods(source)
    if isinstance(source, Problem):
        return source
    instance = read_instance(
        source, index=index, orientation=orientation, data_dir=data_dir
    )
    objective = objective or "makespan"
    if objective == "makespan" and not features and "release" not in instance.dates:
        return FlowShopProblem(instance)
    from dpbb.flowshop.shop import FlowShop  # not needed at every prompt

    return FlowShop(instance, objective=objective, **features)


FAMILY = Family(
    decode,
    models={
        (engine, bound): path
        for bound, row in BOUNDS.items()
        for engine, path in row.models.items()
    },
    problem=FlowShopProblem,
)
"""Problems named ``"flowshop-makespan"``."""
