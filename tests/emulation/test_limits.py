"""Both arms where something is too small: the list of optima, the device's memory."""

import logging

import numpy as np
import pytest

from dpbb.engines.gpu import memory as memory_module
from dpbb.engines.gpu import pool as pool_module
from dpbb.engines.gpu import steal as steal_module
from dpbb.engines.gpu.kernels import Kernels
from dpbb.engines.gpu.layout import Stop
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options import TreeOptions, Tuning
from tests.emulation.support import counted, problem_of
from tests.gpu.stops import stops_of_launches
from tests.oracle import TinyFlowShop, best_orders

pytestmark = pytest.mark.timeout(600)

TA016 = ("ta016", 1397, (1586, 0))


# -- more optima than a launch can report ----------------------------------------------


@pytest.fixture
def stops(monkeypatch):
    """Why launches ended."""
    return stops_of_launches(monkeypatch)


@pytest.mark.parametrize("beyond", [1, 10])
def test_more_optima_than_a_launch_can_report(gpu, monkeypatch, stops, beyond):
    """Every schedule of equal jobs is optimal; few are reported at a time."""
    for module in (memory_module, steal_module):
        monkeypatch.setattr(module, "leaf_capacity", lambda n, all_optima: n + beyond)
    problem = TinyFlowShop(5 * ((3, 3),))
    best, orders = best_orders(problem.times)
    with gpu.session(problem, TreeOptions(), ub=best + 1, all_optima=True) as session:
        listed, decomposed, leaves = [], 0, 0
        while True:
            part = session.advance(best + 1, 0.05)
            listed += [tuple(map(int, leaf.permutation)) for leaf in part.optima]
            decomposed += part.decomposed
            leaves += part.leaves
            if part.exhausted:
                break
    assert stops.count(Stop.OPTIMA_FULL) > 1
    assert len(listed) == len(orders) == leaves == 120
    assert set(listed) == orders
    assert decomposed == 1 + 5 + 20 + 60


# -- shared memory of a block ----------------------------------------------------------


@pytest.mark.parametrize("balance", ["explode", "steal"])
def test_a_block_that_needs_more_shared_memory_than_there_is(balance):
    """The engine says so: a driver would only say that a value is invalid."""
    from dpbb.engines.gpu.engine import GpuEngine

    engine = GpuEngine()
    times = np.random.default_rng(3).integers(1, 99, (800, 5))
    problem = FlowShopProblem(FlowShopInstance("large", times))
    expected = r"block_size: expected less than 512 threads for 800 jobs, .* has 99$"
    with pytest.raises(OptionError, match=expected):
        engine.open(
            problem, TreeOptions(), engine.devices()[0],
            tuning=Tuning(block_size=512, balance=balance),
        )  # fmt: skip


# -- device memory that others take while a session allocates its own ------------------


@pytest.fixture
def taken(monkeypatch):
    """Have so many allocations fail."""
    from cupy.cuda.memory import OutOfMemoryError

    def use(n_failures):
        tried = []

        def allocate(layout, packed, plan, **options):
            tried.append(plan.n_warps)
            if len(tried) <= n_failures:
                raise OutOfMemoryError("taken by others")
            return memory_module.DeviceMemory(layout, packed, plan, **options)

        monkeypatch.setattr(pool_module, "DeviceMemory", allocate)
        return tried

    return use


def test_fewer_explorers_when_memory_is_taken_meanwhile(gpu, taken, caplog):
    name, ub, expected = TA016
    tried = taken(n_failures=2)
    with caplog.at_level(logging.WARNING):
        total = gpu.explore(problem_of(name), TreeOptions(), ub)
    assert counted(total) == expected
    most = tried[0]
    assert tried == [most, most // 2, most // 4]
    (record,) = caplog.records  # one line, however often memory was short
    per_warp = 1 if gpu.spec.tuning.balance == "steal" else 32
    assert record.getMessage() == (
        f"device 0 has {per_warp * most // 4} explorers instead of {per_warp * most}: "
        "no more fit its free memory"
    )


def test_refused_when_others_leave_no_memory_at_all(gpu, taken, monkeypatch):
    """With what is free, in the process's own pool too, and who holds the rest."""
    import cupy

    name, ub, _ = TA016
    tried, pool = taken(n_failures=99), cupy.get_default_memory_pool()
    monkeypatch.setattr(pool, "free_bytes", lambda: 1 << 30)
    monkeypatch.setattr(pool, "used_bytes", lambda: 2 << 30)
    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: (4 << 30, 80 << 30))
    assert memory_module.free_device_bytes() == 5 << 30
    held = r"of 80.0 GiB 5.0 are free, this process has 2.0, others 73.0"
    with (
        pytest.raises(EngineUnavailable, match=held),
        gpu.session(problem_of(name), TreeOptions(), ub=ub),
    ):
        pass
    assert 2 <= len(tried) <= 6
    assert tried == sorted(tried, reverse=True)
    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: (0, 80 << 30))
    monkeypatch.setattr(pool, "free_bytes", lambda: 1 << 20)
    held = r"need .* GiB .*: of 80.0 GiB 0.0 are free"
    with pytest.raises(EngineUnavailable, match=held):
        gpu.explore(problem_of(name), TreeOptions(), ub)


def test_a_device_that_fails_at_every_call_after_a_fault(gpu, monkeypatch):
    """Whatever is called then fails too, and that too is a failure of the session."""
    import cupy

    from dpbb.engines.gpu.control import DeviceError

    name, ub, _ = TA016
    with gpu.session(problem_of(name), TreeOptions(), ub=ub) as session:

        def fail(*_, **__):
            raise cupy.cuda.runtime.CUDARuntimeError("illegal address")

        with monkeypatch.context() as patch:
            patch.setattr(Kernels, "launch", fail)
            patch.setattr(cupy.cuda.Device, "__exit__", fail)
            with pytest.raises(DeviceError, match="void"):
                session.advance(ub, 0.1)
        with pytest.raises(ValueError, match="closed"):
            session.advance(ub, 0.1)
