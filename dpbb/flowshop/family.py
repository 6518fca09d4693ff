"""The flow shop as dpbb's registry of problems knows it."""

from collections.abc import Mapping
from os import PathLike, fsdecode
from typing import Any

from dpbb.flowshop.bounds.table import BOUNDS
from dpbb.flowshop.features import lags_in, setups_in
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem, check_methods
from dpbb.flowshop.table_form import AS_IT_IS, TableForm
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
    table: TableForm = AS_IT_IS,
    **features: Any,
) -> Problem[Any]:
    """Return the problem that somebody asks for.

    ``source``: a problem, or whatever ``read_instance`` takes: then it is a flow shop,
    with ``objective`` one of ``OBJECTIVES``, with ``features`` as ``FlowShop`` has them
    (``blocking=True``), and with the set-ups of a workbook's sheet that is called so.
    Numbers of set-ups and lags in files are written as those of the ``table``.

    InstanceError: see ``read_instance``, ``check_methods``, ``FlowShop``; or both.
    """
    if isinstance(source, FlowShopProblem):
        check_methods(source)
    if isinstance(source, Problem):
        return source
    instance = read_instance(
        source, index=index, orientation=orientation, data_dir=data_dir, table=table
    )
    if isinstance(source, str | PathLike) and "setups" not in features:
        own = setups_in(fsdecode(source), instance, table, own=True)
        features |= {} if own is None else {"setups": own}
    for name, read in ("setups", setups_in), ("lags", lags_in):
        if isinstance(features.get(name), str | PathLike):
            features[name] = read(fsdecode(features[name]), instance, table)
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
