"""Why launches end, for tests on a device and on an emulated one."""

from dpbb.engines.gpu.layout import Stop
from dpbb.engines.gpu.session import GpuSession


def stops_of_launches(monkeypatch):
    """Return a list that every launch from now on adds the reason of its end to."""
    found = []
    leaves_found = GpuSession._leaves_found

    def look(session, arm):
        found.append(Stop(arm.pool.control["stop"]))
        return leaves_found(session, arm)

    monkeypatch.setattr(GpuSession, "_leaves_found", look)
    return found
