"""How GPUs are travels with a worker's heartbeats, which wait for no driver."""

import threading

from dpbb.cluster.worker.plugin import Health
from dpbb.engines import nvml


def test_heartbeats_carry_the_latest_reading_and_wait_for_none(monkeypatch):
    asked, may_answer = [], threading.Event()

    def slow(uuid):
        asked.append(uuid)
        assert may_answer.wait(60)
        return {"watts": 100.0}

    monkeypatch.setattr(nvml, "health", slow)
    metric = Health(("GPU-a", "GPU-b"))
    assert metric(None) == {}  # the driver is still being asked
    assert metric(None) == {}
    may_answer.set()
    metric._thread.join(60)
    assert metric(None) == {"GPU-a": {"watts": 100.0}, "GPU-b": {"watts": 100.0}}
    assert asked == ["GPU-a", "GPU-b"]  # once, while the reading is fresh
