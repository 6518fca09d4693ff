"""The flow shop as dpbb's registry of problems knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.problems import Family

if TYPE_CHECKING:
    from collections.abc import Mapping


def decode(data: Mapping[str, Any]) -> FlowShopProblem:
    """Return the problem of an encoded instance; InstanceError if it is none."""
    return FlowShopProblem(FlowShopInstance(data["name"], data["times"]))


FAMILY = Family(decode, models={})
"""Problems named ``"flowshop-makespan"``."""
