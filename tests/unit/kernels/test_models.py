"""What the engine asks of a model, which it is compiled for."""

from __future__ import annotations

from typing import NamedTuple

import numba
import pytest

from dpbb.engines.registry import get_engine
from dpbb.errors import EngineUnavailable
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.models.cascade_cpu import Cascade
from dpbb.kernels import models
from dpbb.options import TreeOptions


class Misspelt(NamedTuple):
    """A model with a dearer bound, one of whose functions has another name."""

    tighten_lanes: int

    def tightns(self, depth):
        return True

    def tighten(self, *others):
        return None


class WithoutField(NamedTuple):
    """Its field has another name."""

    tighten_lane: int

    def tightens(self, depth):
        return True


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Misspelt(1), "has no attribute 'tightens'"),
        (WithoutField(1), "expected a field tighten_lanes of WithoutField"),
    ],
)
def test_a_misspelt_part_of_a_dearer_bound_is_an_error(model, words):
    """It would be explored without that bound: another tree."""
    with pytest.raises(Exception, match=words):
        numba.njit(lambda model: models.tightens(model, 1))(model)


def test_costs_below_0_are_refused(monkeypatch):
    """Lanes of the engine hold 0 and more; a bound below it would count as 0."""
    problem = FlowShopProblem(FlowShopInstance("shop", [[1, 2], [3, 4]]), "lb2")
    of, engine = Cascade.of, get_engine("cpu")
    monkeypatch.setattr(
        Cascade, "of", lambda *given: of(*given)._replace(root_bound=-1)
    )
    with pytest.raises(EngineUnavailable, match=r"costs from 0 on, flowshop.* -1"):
        engine.open(problem, TreeOptions(bound="lb2"), engine.devices(1)[0], ub=9)
