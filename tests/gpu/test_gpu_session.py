"""What can go wrong on a device: memory used up, a failed launch, a closed session."""

import logging
import threading
import time

import pytest

from dpbb.engines import explore_to_end
from dpbb.engines.gpu import memory as memory_module
from dpbb.engines.gpu.explode import Exploding
from dpbb.engines.gpu.memory import MemoryPlan
from dpbb.errors import EngineUnavailable
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions, Tuning
from dpbb.tree import WorkUnit

pytestmark = pytest.mark.gpu

TA030 = ("ta030", 2178, (2797688, 43))


@pytest.fixture
def few_pages(monkeypatch):
    """Device memory for few open nodes."""

    def use(n_pages, n_warps):
        plan = MemoryPlan(n_pages, n_warps, 1)
        monkeypatch.setattr(Exploding, "plan", lambda *a, **k: plan)

    return use


def open_session(gpu, name, ub, **options):
    problem = FlowShopProblem(taillard_instance(name))
    session = gpu.engine.open(problem, TreeOptions(), gpu.device, ub=ub, **options)
    session.load(WorkUnit.whole(problem.n_jobs))
    return session


def test_fewer_explorers_when_pages_are_used_up_and_no_count_lost(
    gpu, few_pages, caplog
):
    name, ub, expected = TA030
    few_pages(n_pages=1500, n_warps=64)
    session = open_session(gpu, name, ub)
    with caplog.at_level(logging.WARNING):
        counters = explore_to_end(session, ub).counters
    session.close()
    assert "going on with" in caplog.text
    assert (counters.decomposed, counters.leaves) == expected


@pytest.mark.parametrize("balance", ["explode", "steal"])
def test_memory_is_refused_early(gpu, monkeypatch, balance):
    monkeypatch.setattr(memory_module, "free_device_bytes", lambda: 1 << 20)
    with pytest.raises(EngineUnavailable, match="GiB"):
        open_session(gpu, *TA030[:2], tuning=Tuning(balance=balance))


def test_devices_have_distinct_full_uuids(gpu):
    devices = gpu.engine.devices()
    uuids = {device.uuid for device in devices}
    assert len(uuids) == len(devices)
    assert all(uuid.startswith("GPU-") and len(uuid) == 40 for uuid in uuids)


# -- slices that are interrupted, settings that change ---------------------------------

TA021 = ("ta021", 2297, (447_986_455, 1440))


def test_an_interrupted_slice_ends_soon(gpu):
    session = open_session(gpu, "ta056", 3679)
    session.advance(3679, 0.3)  # compiled, and work for all
    timer = threading.Timer(0.2, session.interrupt)
    timer.start()
    began = time.monotonic()
    part = session.advance(3679, 30.0)
    took = time.monotonic() - began
    timer.join()
    assert took < 15.0  # of 30, on a device that others use, too
    assert not part.exhausted
    began = time.monotonic()
    session.advance(3679, 0.4)  # the next one is not
    assert time.monotonic() - began > 0.35
    session.close()
    session.interrupt()  # nothing happens


@pytest.mark.parametrize("balance", ["explode", "steal"])
def test_interrupted_slices_lose_no_node(gpu, balance):
    name, ub, expected = TA021
    session = open_session(gpu, name, ub, tuning=Tuning(balance=balance))
    over = threading.Event()

    def disturb():
        while not over.wait(0.002):
            session.interrupt()

    thread = threading.Thread(target=disturb)
    thread.start()
    counters = explore_to_end(session, ub, 0.5).counters
    over.set()
    thread.join()
    session.close()
    assert (counters.decomposed, counters.leaves) == expected
