"""The engine and its first device, or a skip that says why there is none."""

import pytest

from dpbb.errors import EngineUnavailable
from dpbb.kernels.nvrtc import require_gpu
from tests.parity.subject import Subject, shared_memory


@pytest.fixture(scope="module", autouse=True)
def memory():
    """Each process that runs these tests takes its part of a device's memory."""
    with shared_memory():
        yield


@pytest.fixture(scope="session")
def gpu():
    """Engine and device, as a parity subject."""
    return Subject.of("gpu")


@pytest.fixture(scope="session")
def cupy():
    """CuPy, or a skip that says why there is no device."""
    try:
        return require_gpu()
    except EngineUnavailable as error:
        pytest.skip(str(error))
