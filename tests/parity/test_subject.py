"""What the parity tests change they put back."""

import pytest

from dpbb.engines.gpu import memory, steal
from tests.parity.subject import shared_memory


def shares():
    return memory.MEMORY_SHARE, steal.MEMORY_SHARE, steal.PAGES_SHARE


def test_memory_is_shared_as_long_as_these_tests_run(monkeypatch):
    """Other tests in the same process count on the shares that dpbb has."""
    before = shares()
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "4")
    with shared_memory():
        assert shares() == pytest.approx([share / 4 for share in before])
    assert shares() == before
