"""Cluster tests wait for runs, not for Numba."""

from __future__ import annotations

import pytest

from dpbb.cluster.scheduler.forecasts import Forecaster
from dpbb.engines.base import Device
from dpbb.engines.registry import get_engine
from tests.cluster.support import LARGE, local_cluster, spec_of


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """Compile the CPU engine, for this process and, in Numba's cache, for all others.

    After a change of its code that takes longer than some tests wait for a seat.
    """
    instance, ub, *_ = LARGE
    spec = spec_of(instance, ub)
    session = get_engine("cpu").open(
        spec.problem, spec.tree, Device("cpu", "here"), ub=ub, all_optima=False
    )
    session.close()


@pytest.fixture(autouse=True)
def no_forecasts(monkeypatch):
    """Each takes two seconds of a core."""
    monkeypatch.setattr(Forecaster, "tick", lambda _: None)


@pytest.fixture(scope="module")
def client():
    """Return a client of one worker in this process."""
    with local_cluster() as (_, client):
        yield client
