"""Headless browsers that look at a page: a program, with arguments N and CORE.

A process of its own, so that it can be bound to a core that nothing else uses: what
browsers take there is the reader's, not the run's. It obeys lines on standard input
(``open URL``, ``close``), answers each with a line of JSON, and ends with the input.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.errors import DpbbError

if TYPE_CHECKING:
    from types import TracebackType

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
)

READY_MS = 60_000
POLL_MS = 50
END_S = 20.0
DRAWN = "() => window.Bokeh && Bokeh.documents.length"


class Browsers:
    """Browsers in a process of their own, each with one page; a context manager.

    Parameters
    ----------
    number
        How many browsers.
    core
        Number of the core that they share; None: any.

    Raises
    ------
    DpbbError
        Playwright or Chromium is missing, or a browser failed; says which.
    """

    def __init__(self, number: int, core: int | None) -> None:
        missing = what_is_missing()
        if missing is not None:
            raise DpbbError(
                f"expected Playwright and Chromium, got {missing}; "
                'pip install "dpbb[test]", and Chromium from your system'
            )
        core_text = "" if core is None else str(core)
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", __name__, str(number), core_text],
            cwd=Path(__file__).parents[3],  # where ``tests`` is found
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def open(self, address: str) -> None:
        """Open the address in every browser; returns when all are drawn and live."""
        self._say(f"open {address}")

    def close(self) -> int:
        """Leave the pages; returns how many messages they got since ``open``."""
        return int(self._say("close")["frames"])

    def _say(self, line: str) -> dict[str, Any]:
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise ValueError("expected a process with pipes")
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        if not answer:
            raise DpbbError("the browsers ended; their message is above")
        values: dict[str, Any] = json.loads(answer)
        return values

    def __enter__(self) -> Browsers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._process.communicate(timeout=END_S)  # the end of its input
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def what_is_missing() -> str | None:
    """Return what keeps browsers from being started; None if nothing does."""
    if find_spec("playwright") is None:
        return "no Playwright"
    if executable() is None:
        return f"no Chromium: none of {', '.join(NAMES)} is on the PATH"
    return None


def executable() -> str | None:
    """Return the path of a Chromium; None if there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


async def serve(number: int) -> None:
    """Start browsers and obey lines of standard input until it ends."""
    from playwright.async_api import async_playwright

    frames: Counter[Any] = Counter()

    async with async_playwright() as playwright:
        pages = []
        for _ in range(number):
            browser = await playwright.chromium.launch(
                executable_path=executable(), args=list(ARGS)
            )
            page = await browser.new_page(viewport={"width": 1400, "height": 900})
            page.on("websocket", partial(count, frames, page))
            pages.append(page)
        while line := await asyncio.to_thread(sys.stdin.readline):
            command, _, address = line.strip().partition(" ")
            if command == "open":
                frames.clear()
                for page in pages:
                    await page.goto(address)
                    await page.wait_for_function(DRAWN, timeout=READY_MS)
                drawn = Counter(frames)
                for page in pages:
                    while frames[page] == drawn[page]:  # no update yet
                        await page.wait_for_timeout(POLL_MS)
            else:
                for page in pages:
                    await page.goto("about:blank")
            print(json.dumps({"frames": frames.total()}), flush=True)


def count(frames: Counter[Any], page: Any, socket: Any) -> None:
    """Count the messages of a page's connection."""

    def received(_: object) -> None:
        frames[page] += 1

    socket.on("framereceived", received)


def main() -> None:
    """See the module."""
    number, core = sys.argv[1:]
    if core:
        os.sched_setaffinity(0, {int(core)})
    asyncio.run(serve(int(number)))


if __name__ == "__main__":
    main()
