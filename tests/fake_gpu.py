"""GPUs that are none, for a machine without: the CPU engine in their place.

Put in by ``DPBB_ENGINES=gpu=tests.fake_gpu:FakeGpu`` with ``DPBB_FAKE_GPUS`` naming the
devices of the host. As with real ones, CUDA_VISIBLE_DEVICES says which of them a
process sees, by UUID or ordinal.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from dpbb.engines.base import Device
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.errors import EngineUnavailable

ROOT = Path(__file__).parents[1]


def fake_host(*uuids, **engines):
    """Environment of a host with these GPUs; more engines by name."""
    engines = {"gpu": "FakeGpu", **engines}
    return {
        "DPBB_ENGINES": ",".join(
            f"{name}=tests.fake_gpu:{fake}" for name, fake in engines.items()
        ),
        "DPBB_FAKE_GPUS": ",".join(uuids),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }


class FakeGpu:
    """The CPU engine with one thread and the devices of a GPU engine."""

    name = "gpu"

    def availability(self):
        return None if self._visible() else "no fake GPU is visible"

    def supports(self, problem, tree):
        return CpuEngine().supports(problem, tree)

    def devices(self, threads=None):
        if not self._visible():
            raise EngineUnavailable("no fake GPU is visible")
        return [
            Device("cuda", uuid, index=index, name="fake")
            for index, uuid in enumerate(self._visible())
        ]

    def warm_up(self, problem, tree, device):
        pass

    def open(self, problem, tree, device, **options):
        own = Device("cpu", device.uuid, threads=1)
        return CpuEngine().open(problem, tree, own, **options)

    @staticmethod
    def _visible():
        host = [uuid for uuid in os.environ["DPBB_FAKE_GPUS"].split(",") if uuid]
        mask = os.environ.get("CUDA_VISIBLE_DEVICES")
        if mask is None:
            return host
        by_name = {
            **{str(i): uuid for i, uuid in enumerate(host)},
            **dict(zip(host, host, strict=True)),
        }
        return [by_name[entry] for entry in mask.split(",") if entry in by_name]


class SmallGpu(FakeGpu):
    """A host on which every GPU whose name ends in ``small`` refuses every run."""

    def open(self, problem, tree, device, **options):
        if device.uuid.endswith("small"):
            raise EngineUnavailable(f"{device.uuid} is too small")
        return super().open(problem, tree, device, **options)


class SlowCpu(CpuEngine):
    """The CPU engine, some thousand times slower until ``DPBB_QUICK`` names a file."""

    def open(self, *args, **options):
        return SlowSession(super().open(*args, **options))


class SlowGpu(FakeGpu):
    """A fake GPU, as slow."""

    def open(self, *args, **options):
        return SlowSession(super().open(*args, **options))


class SlowSession:
    """Waits after every slice, which is a short one, where there is not that file."""

    def __init__(self, session):
        self._session = session

    def __getattr__(self, name):
        return getattr(self._session, name)

    def advance(self, ub, max_seconds):
        if Path(os.environ.get("DPBB_QUICK", "")).is_file():
            return self._session.advance(ub, max_seconds)
        part = self._session.advance(ub, 0.0)
        time.sleep(max_seconds)
        return part
