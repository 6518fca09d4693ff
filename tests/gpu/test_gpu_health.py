"""What the driver says of the real cards, and that it reaches the page."""

import pytest
from distributed import Client, LocalCluster

from dpbb.cluster.scheduler.plugin import DpbbSchedulerPlugin
from dpbb.engines import nvml
from tests.cluster.support import wait_until

pytestmark = pytest.mark.gpu

NAMES = {"utilization", "memory", "watts", "celsius"}


def test_every_card_says_how_it_is(gpu):
    import cupy

    devices = gpu.engine.devices()
    assert len(devices) <= nvml.device_count()
    for device in devices:
        found = nvml.health(device.uuid)
        print(device.name, found)  # noqa: T201
        assert set(found) == NAMES
        used, whole = found["memory"]
        with cupy.cuda.Device(device.index):
            _, of_cuda = cupy.cuda.runtime.memGetInfo()
        assert 0 < used < whole
        assert whole == pytest.approx(of_cuda, rel=0.1)  # less what the driver keeps
        assert 0 <= found["utilization"] <= 100
        assert 5 < found["watts"] < 2000
        assert 5 < found["celsius"] < 110


def test_memory_that_is_taken_is_seen(gpu):
    import cupy

    before, _ = nvml.health(gpu.device.uuid)["memory"]
    with cupy.cuda.Device(gpu.device.index):
        _, whole = cupy.cuda.runtime.memGetInfo()
        taken = cupy.cuda.runtime.malloc(whole // 8)
        try:
            after, _ = nvml.health(gpu.device.uuid)["memory"]
        finally:
            cupy.cuda.runtime.free(taken)
    # others may let go of some meanwhile
    assert after - before > whole // 16


@pytest.mark.cluster
def test_heartbeats_bring_it_to_the_scheduler(gpu):
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.register_plugin(DpbbSchedulerPlugin())
        monitor = cluster.scheduler.extensions["dpbb"].monitor

        def said():
            return [row for row in monitor.devices() if row.watts is not None]

        wait_until(said, timeout=60)
        for row in said():
            print(row)  # noqa: T201
            assert row.memory[0] < row.memory[1]
            assert row.utilization is not None
            assert row.celsius is not None
