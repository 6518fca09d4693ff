"""The GPU engine on an emulated device."""

import os
import shutil
from dataclasses import replace

import pytest

from dpbb.options import Tuning
from tests.emulation import cupy_on_host
from tests.parity.subject import Spec, Subject


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """Folder of the kernels that have been compiled, one for all workers of xdist."""
    if shutil.which(cupy_on_host.COMPILER) is None:
        pytest.skip(f"no {cupy_on_host.COMPILER}: the kernels cannot be compiled")
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return tmp_path_factory.mktemp("emulated")
    folder = tmp_path_factory.getbasetemp().parent / "emulated"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module", autouse=True)
def emulated(libraries):
    """Have CuPy replaced as long as the tests of a module run."""
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        cupy_on_host.installed(monkeypatch, libraries),
    ):
        yield


@pytest.fixture(scope="module", params=["explode", "steal"])
def gpu(emulated, request):
    """Each arm as a parity subject; what is given is not tuned."""
    from dpbb.engines.gpu.engine import GpuEngine

    engine = GpuEngine()
    tuning = Tuning(explorers=32, block_size=64, slice_s=0.2, balance=request.param)
    if request.param == "explode":
        tuning = replace(tuning, explorers=None)
    spec = Spec(
        engine="gpu", threads=1, golden_limit=10_000, quick_limit=10_000, churned=(),
        slice_s=0.02, tuning=tuning,
    )  # fmt: skip
    return Subject(spec, engine, engine.devices()[0])
