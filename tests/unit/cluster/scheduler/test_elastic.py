"""Which workers are used again after somebody wanted them retired."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from distributed.core import Status

from dpbb.cluster.scheduler.elastic import CLOSE_S, Elastic
from tests.unit.cluster.support import Clock

ADDRESS = "tcp://127.0.0.1:1"


class FakeHub:
    """Retires and uses again; nothing is ever busy."""

    def __init__(self):
        self.retired, self.stayed = [], []
        self.table = SimpleNamespace(leaving=lambda: self.retired)

    def retire(self, workers):
        self.retired += workers

    def stay(self, workers):
        for worker in list(workers):
            self.stayed.append(worker)
            self.retired.remove(worker)

    def busy_workers(self):
        return set()


def world():
    """Return Elastic around a scheduler that retires nothing, its hub and clock."""
    worker = SimpleNamespace(
        name=0, status=Status.running, processing=set(), has_what=set()
    )
    scheduler = SimpleNamespace(
        workers={ADDRESS: worker},
        handlers={"adaptive_target": lambda: 0, "retire_workers": _refuse},
        idle_since=None,
    )
    hub, clock = FakeHub(), Clock()
    elastic = Elastic(scheduler, hub, clock)
    elastic.install()
    return elastic, hub, clock


async def _refuse(**_):
    return {}


def retire(elastic, **what):
    assert asyncio.run(elastic.retire_workers(**what)) == {}


@pytest.mark.parametrize("what", [{"workers": [ADDRESS]}, {"names": ["0"]}])
def test_a_worker_that_dask_does_not_retire_is_used_again_at_once(what):
    elastic, hub, _ = world()
    retire(elastic, **what)
    elastic.tick()
    assert hub.stayed == [ADDRESS]


def test_a_worker_that_its_cluster_closes_is_not_used_again():
    """A cluster that ends names its workers where Dask expects addresses.

    It closes them itself a moment later; until then nobody is told that they stay.
    """
    elastic, hub, clock = world()
    retire(elastic, workers=(0,))
    clock.now += CLOSE_S / 2
    elastic.tick()
    assert hub.stayed == []
    clock.now += CLOSE_S  # nobody has closed it: a run must not wait for ever
    elastic.tick()
    assert hub.stayed == [ADDRESS]


def test_a_worker_that_comes_back_under_its_address_is_a_new_one():
    elastic, hub, _ = world()
    retire(elastic, workers=(0,))
    hub.retired.clear()  # it left
    elastic.tick()
    retire(elastic, workers=[ADDRESS])
    elastic.tick()
    assert hub.stayed == [ADDRESS]
