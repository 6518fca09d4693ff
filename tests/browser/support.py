"""A headless Chromium for the tests and for the pictures of the documentation."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

ARGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def missing():
    """Why there is no browser; None if there is one."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    if executable() is None:
        return f"no Chromium: none of {', '.join(NAMES)} is on the PATH"
    return None


def executable():
    """Path of a Chromium; None if there is none."""
    found = (shutil.which(name) for name in NAMES)
    return next((Path(path) for path in found if path), None)


@contextmanager
def browser():
    """A browser with a user's folder of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=str(executable()), args=list(ARGS)
        )
        try:
            yield chromium
        finally:
            chromium.close()


def page_address(client, name="dpbb"):
    """Address of a page of the cluster's dashboard."""
    return client.dashboard_link.rpartition("/")[0] + "/" + name
