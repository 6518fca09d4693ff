"""What all tests share: settings, data, what is run again, the end of what hangs."""

from __future__ import annotations

import faulthandler
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
settings.register_profile("dpbb", max_examples=50, deadline=None, print_blob=True)
settings.load_profile("dpbb")

SHARED = Path(
    os.environ.get("DPBB_SHARED", Path(__file__).resolve().parents[2] / "shared")
)

GOLDEN = Path(__file__).parent / "data" / "golden"
"""Values of independent programs; see the README there."""


WATCH_S = pytest.StashKey[float]()
STDERR = pytest.StashKey[int]()


def pytest_configure(config):
    """Prepare the watchdog."""
    timeout = config.getoption("timeout")
    if timeout is None:
        timeout = config.getini("timeout") or 0
    config.stash[WATCH_S] = 2 * float(timeout)
    config.stash[STDERR] = os.dup(2)  # while a test runs, 2 is what pytest captures


def watch(config, item=None):
    """End this process, with the stack of each thread, if it goes on for too long.

    pytest-timeout comes first, but not for the teardown of what failed; and it raises
    in the main thread, which may catch it. This is a thread that needs no Python.
    pytest-xdist tells which test was run, and goes on with another worker.
    """
    marker = item and item.get_closest_marker("timeout")
    limit = 2 * marker.args[0] if marker and marker.args else config.stash[WATCH_S]
    if limit > 0 and not config.getoption("usepdb"):
        faulthandler.dump_traceback_later(limit, file=config.stash[STDERR], exit=True)


def watched(config, item=None):
    watch(config, item)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session):
    """Watch it; in the controller of pytest-xdist it is over at once."""
    return (yield from watched(session.config))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    """Limit the time of a test that is run again: its failure ended the limit.

    pytest-timeout takes every failure for the beginning of a debugger's session.
    """
    if getattr(item, "execution_count", 1) > 1:
        settings = _get_item_settings(item)
        item.ihook.pytest_timeout_set_timer(item=item, settings=settings)
    return (yield from watched(item.config, item))


# Each phase for itself: pytest stops any such watchdog when one fails.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    """Watch it."""
    return (yield from watched(item.config, item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    """Watch it."""
    return (yield from watched(item.config, item))


def pytest_sessionfinish(session):
    """Watch the end, too."""
    watch(session.config)


def pytest_unconfigure(config):
    """The end of a worker of pytest-xdist is that of all; else it is watched on."""
    if hasattr(config, "workerinput"):
        faulthandler.cancel_dump_traceback_later()


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


def pytest_make_parametrize_id(val):
    """Name bytes by their number: those of a gzip file may have the time in them."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and len(val) > 16 else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with benchmark data; the test is skipped where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared beside the repository: benchmark data")
    return SHARED
