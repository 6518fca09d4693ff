"""Why launches end, for tests on a device and on an emulated one."""

from dpbb.engines.gpu.launches import Launches
from dpbb.engines.gpu.layout import Stop


def stops_of_launches(monkeypatch):
    """Return a list that every launch from now on adds the reason of its end to."""
    found = []
    collect = Launches._collect

    def look(self, *args):
        found.append(Stop(int(self._control["stop"][0])))
        collect(self, *args)

    monkeypatch.setattr(Launches, "_collect", look)
    return found
