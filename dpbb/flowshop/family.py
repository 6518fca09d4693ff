"""The flow shop as dpbb's registry of problems knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fsdecode
from typing import TYPE_CHECKING, Any

from dpbb.flowshop.features import lags_of, setups_of
from dpbb.flowshop.formats import (
    read_instance,
    read_setups,
    read_shop,
    tables_of_setups,
)
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem, check_methods
from dpbb.flowshop.table_form import AS_IT_IS, TableForm
from dpbb.options import LB1
from dpbb.problem import Problem

if TYPE_CHECKING:
    from dpbb.flowshop.shop import ObjectiveName
    from dpbb.flowshop.times import Orientation


def decode(data: Mapping[str, Any]) -> FlowShopProblem:
    """Return an encoded problem; InstanceError if it is none.

    Without the name of a bound it is LB1, without given jobs there are none.
    """
    instance = FlowShopInstance(data.get("name") or "", data["times"])
    given = (tuple(data.get(side) or ()) for side in ("front", "back"))
    return FlowShopProblem(instance, data.get("bound") or LB1, *given)


def read_problem(
    source: Any,
    *,
    objective: ObjectiveName | None = None,
    index: int | None = None,
    orientation: Orientation | None = None,
    data_dir: str | PathLike[str] | None = None,
    table: TableForm = AS_IT_IS,
    **features: Any,
) -> Problem[Any]:
    """Return the problem that somebody asks for, as the command line does.

    Parameters
    ----------
    source
        A problem, or whatever ``read_instance`` takes: then it is a flow shop, with the
        set-ups of a workbook's sheet that is called so.
    objective
        As ``FlowShop`` has it; default: the makespan.
    index, orientation, data_dir, table
        As of ``read_instance``. Numbers of set-ups and lags in files are written as
        those of the ``table``.
    **features
        As ``FlowShop`` has them, such as ``blocking=True``.

    Raises
    ------
    InstanceError
        As ``read_instance`` and ``FlowShop``; or a problem of its own class is none.
    """
    if isinstance(source, FlowShopProblem):
        check_methods(source)
    if isinstance(source, Problem):
        return source
    instance, sheets = read_shop(
        source, index=index, orientation=orientation, data_dir=data_dir, table=table
    )
    setups, lags = features.get("setups"), features.get("lags")
    # of tables without names of columns or dates
    form = replace(table, columns=None, skip_columns=(), sheet=None)
    form = replace(form, origin=None, unit=None)
    if setups is None and sheets:
        tables = tables_of_setups(sheets, instance.name, form)
        features["setups"] = setups_of(tables, instance)
        taken = [f"sheet {one.title} as set-ups" for one in sheets]
        instance = replace(instance, taken=(*instance.taken, *taken))
    elif isinstance(setups, str | PathLike):
        features["setups"] = setups_of(read_setups(fsdecode(setups), form), instance)
    if isinstance(lags, str | PathLike):
        features["lags"] = lags_of(read_instance(lags, table=form), instance)
    objective = objective or "makespan"
    if objective == "makespan" and not features and "release" not in instance.dates:
        return FlowShopProblem(instance)
    from dpbb.flowshop.shop import FlowShop  # not needed at every prompt

    return FlowShop(instance, objective=objective, **features)
