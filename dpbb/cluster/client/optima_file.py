"""The file of optimal permutations, written by the client while the run goes on."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from dpbb.coordination.optima import Optima
from dpbb.errors import DpbbError, OptionError
from dpbb.problem import Problem, wholes_of
from dpbb.text.files import check_writable

logger = logging.getLogger(__name__)

POLL_S = 1.0
"""Seconds between looks for further permutations."""

Fetch = Callable[[int | None, int], Awaitable[tuple[Optima | None, bool]]]
"""Returns what comes after a value and a position, and whether the run is over."""


def check_held(first: int, path: str | Path) -> None:
    """Raise OptionError where permutations come before the first that is held."""
    if first:
        raise OptionError(
            "optima_file: expected none, as the run holds the first "
            f"{first:,} optimal permutations no more, got {path}"
        )


class OptimaFile:
    """One permutation a line, jobs from 0, in the order of discovery.

    Starts again whenever a better value turns up: what was written before was not
    optimal then. A run that has let go of some of what it found is refused.

    Parameters
    ----------
    path
        Where to write; what is there stays until the first ``write``.

    Attributes
    ----------
    value
        Cost of what was written; None before.
    position
        Number of the permutation that comes next.
    count
        Lines of the file.
    begun
        Whether the file has what was written here, and nothing else.

    Raises
    ------
    OptionError
        The file cannot be written.
    """

    def __init__(self, path: Path, problem: Problem[Any]) -> None:
        self.path = path.absolute()
        self.problem = problem
        self.value: int | None = None
        self.position = self.count = 0
        self.begun = False
        self._task: asyncio.Task[None] | None = None
        check_writable(path, "optima_file")

    def begin(self, value: int | None, first: int) -> None:
        """Keep nothing: permutations of this value follow, from the first held on.

        OptionError: those before it are nowhere here. DpbbError: the file cannot be
        written.
        """
        if not self.begun:
            check_held(first, self.path)
        self.begun = True
        self.value, self.position, self.count = value, first, 0
        self._write(b"", anew=True)

    def write(self, optima: Optima) -> None:
        """Append permutations, or start again if they are better than before.

        OptionError, DpbbError: as ``begin``.
        """
        if not self.begun or optima.value != self.value:
            self.begin(optima.value, optima.first)
        rows = wholes_of(self.problem, optima.permutations)
        if not rows:
            return
        self._write("".join(" ".join(map(str, row)) + "\n" for row in rows).encode())
        self.count += len(rows)
        self.position = optima.end

    def _write(self, content: bytes, *, anew: bool = False) -> None:
        """Append, or begin anew; on the disk when it returns."""
        try:
            with self.path.open("wb" if anew else "ab") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DpbbError(
                f"optima_file: cannot write to {self.path}: {error}"
            ) from error

    async def follow(self, fetch: Fetch) -> None:
        """Write all of a run, those that are there at once, the others as they come."""
        await self._write_chunk(fetch)
        self._task = asyncio.ensure_future(self._collect(fetch))

    async def finished(self) -> None:
        """Wait until all is written that a run which is over has found."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def is_whole(self, run_id: str) -> bool:
        """Whether the file has all of a run that is over; logs why not."""
        if self._task is None or self._task.cancelled():  # this handle let go
            return False
        error = self._task.exception()
        if error is not None:
            logger.error("run %s: %s", run_id, error)
        return error is None

    async def cancel(self, run_id: str) -> None:
        """Let go of a file, which has what was found so far."""
        if self._task is None:
            return
        if not self._task.done():
            logger.warning(
                "run %s goes on, %s has what was found so far; "
                "dpbb.attach(..., optima_file=...) writes all",
                run_id,
                self.path,
            )
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _collect(self, fetch: Fetch) -> None:
        """Fetch permutations and write them, until the run is over."""
        more, finished = True, False
        while more or not finished:
            if not more:
                await asyncio.sleep(POLL_S)
            more, finished = await self._write_chunk(fetch)

    async def _write_chunk(self, fetch: Fetch) -> tuple[bool, bool]:
        """Write what is there; returns whether it was any, and if the run is over."""
        before = self.value, self.position
        chunk, finished = await fetch(*before)
        if chunk is not None:
            await asyncio.to_thread(self.write, chunk)
        elif not self.begun:
            await asyncio.to_thread(self.begin, None, 0)
        return (self.value, self.position) != before, finished
