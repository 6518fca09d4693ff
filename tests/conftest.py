"""What all tests share: hypothesis settings, reference data, what is run again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings
from pytest_timeout import _get_item_settings

# A background job of a shell ignores Ctrl-C, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: the machines that run the tests are shared, and compilation is slow.
settings.register_profile("dpbb", deadline=None, print_blob=True)
settings.load_profile("dpbb")

SHARED = Path(
    os.environ.get("DPBB_SHARED", Path(__file__).resolve().parents[2] / "shared")
)

GOLDEN = Path(__file__).parent / "data" / "golden"
"""Values of independent programs; see the README there."""


def pytest_collection_modifyitems(config, items):
    """Begin with what is slow; run once more what waits for processes.

    On machines that others share; all else has to pass at the first try. The summary
    names every test that was run again: its cause is to be looked for.
    """
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return
    for item in items:
        if any(item.get_closest_marker(name) for name in ("cluster", "browser")):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Limit the time of a test that is run again: its failure ended the limit.

    pytest-timeout takes every failure for the beginning of a debugger's session.
    """
    if getattr(item, "execution_count", 1) > 1:
        settings = _get_item_settings(item)
        item.ihook.pytest_timeout_set_timer(item=item, settings=settings)


def pytest_make_parametrize_id(val):
    """Name bytes by their number: those of a gzip file may have the time in them."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and len(val) > 16 else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with benchmark data; the test is skipped where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared beside the repository: benchmark data")
    return SHARED
