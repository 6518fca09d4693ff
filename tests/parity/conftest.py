"""The engine fixture: every test body runs through every engine."""

import pytest

from tests.parity.subject import Subject, params, shared_memory


@pytest.fixture(scope="module", autouse=True)
def memory():
    """Each process that runs these tests takes its part of a device's memory."""
    with shared_memory():
        yield


@pytest.fixture(scope="session", params=params())
def engine(request):
    """One engine on its device; skips, with the reason, one that cannot run here."""
    return Subject.of(request.param)
