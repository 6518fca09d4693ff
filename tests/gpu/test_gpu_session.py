"""What can go wrong on a device: memory used up, a failed launch, a closed session."""

import logging

import pytest

from dpbb.engines import explore_to_end
from dpbb.engines.base import Tuning
from dpbb.engines.gpu import session as session_module
from dpbb.engines.gpu import steal_session as steal_module
from dpbb.engines.gpu.device import DeviceError
from dpbb.engines.gpu.memory import MemoryPlan
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from dpbb.tree import WorkUnit

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]

TA030 = ("ta030", 2178, (2797688, 43))


@pytest.fixture
def few_pages(monkeypatch):
    """Device memory for few open nodes."""

    def use(n_pages, n_warps):
        plan = MemoryPlan(n_pages, n_warps, 1)
        monkeypatch.setattr(session_module, "plan_memory", lambda *a, **k: plan)

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


def test_an_error_when_not_even_one_explorer_has_pages(gpu, few_pages):
    name, ub, _ = TA030
    few_pages(n_pages=40, n_warps=4)
    session = open_session(gpu, name, ub)
    with pytest.raises(DeviceError, match="device memory"):
        explore_to_end(session, ub)
    session.close()


def test_a_failed_launch_ends_the_session(gpu, monkeypatch):
    import cupy

    name, ub, _ = TA030
    session = open_session(gpu, name, ub)

    def fail(*_):
        raise cupy.cuda.runtime.CUDARuntimeError(700)  # an illegal memory access

    monkeypatch.setattr(type(session._kernels), "settle", fail)
    with pytest.raises(DeviceError, match="void"):
        session.advance(ub, 0.1)
    with pytest.raises(ValueError, match="closed"):
        session.advance(ub, 0.1)
    session.close()


@pytest.mark.parametrize("balance", ["explode", "steal"])
def test_memory_is_refused_early(gpu, monkeypatch, balance):
    for module in (session_module, steal_module):
        monkeypatch.setattr(module, "free_device_bytes", lambda: 1 << 20)
    with pytest.raises(EngineUnavailable, match="GiB"):
        open_session(gpu, *TA030[:2], tuning=Tuning(balance=balance))


@pytest.mark.parametrize(
    "tuning", [Tuning(block_size=100), Tuning(balance="elsewhere")]
)
def test_a_tuning_that_is_not_allowed_is_refused(gpu, tuning):
    with pytest.raises(OptionError, match="expected"):
        open_session(gpu, *TA030[:2], tuning=tuning)


def test_devices_have_distinct_full_uuids(gpu):
    devices = gpu.engine.devices()
    uuids = {device.uuid for device in devices}
    assert len(uuids) == len(devices)
    assert all(uuid.startswith("GPU-") and len(uuid) == 40 for uuid in uuids)
