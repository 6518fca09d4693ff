"""Schedulers and workers of Dask in processes of their own, to be killed and frozen."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def free_port() -> int:
    """Return a port of this host that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run(
    *command: object, code: int = 0, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, which comes with this exit code; keep what it wrote."""
    asked = {"capture_output": True, "text": True, "timeout": 300, **options}
    done = subprocess.run([str(part) for part in command], check=False, **asked)  # noqa: S603
    if done.returncode != code:
        raise AssertionError(f"{done}")
    return done


class DaskProcesses:
    """A scheduler at a fixed port, and workers of it; see ``dask_processes``.

    Parameters
    ----------
    common
        Options of the scheduler and every worker.
    environ
        Added to their environment.
    port
        Of the scheduler; None: a free one.
    logs
        Folder of what they print, a file each; None: nobody keeps it.

    Attributes
    ----------
    environ
        Environment of the processes that are started from now on.
    """

    def __init__(
        self,
        *common: str,
        environ: Mapping[str, str] | None = None,
        port: int | None = None,
        logs: Path | None = None,
    ) -> None:
        self._common = ("--no-dashboard", *common)
        self.environ = {**os.environ, **(environ or {})}
        self._logs = logs
        self._started = 0
        self.port = free_port() if port is None else port
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        """Start it, also again at the same port."""
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port)
        )
        return self.scheduler

    def add_worker(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a worker of one thread without a nanny."""
        worker = self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", *options
        )
        self.workers.append(worker)
        return worker

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process, also one that is frozen, and wait for its end."""
        process.kill()
        process.wait()
        if process in self.workers:
            self.workers.remove(process)

    def end_all(self) -> None:
        """Kill all that is left."""
        for process in [*self.workers, self.scheduler]:
            if process is not None:
                self.end(process)

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}"]
        self._started += 1
        with contextlib.ExitStack() as stack:
            log: IO[bytes] | int = subprocess.DEVNULL
            if self._logs is not None:
                self._logs.mkdir(parents=True, exist_ok=True)
                path = self._logs / f"{self._started:02}-{kind}.log"
                log = stack.enter_context(path.open("wb"))
            return subprocess.Popen(  # noqa: S603 - Dask's own commands
                [*command, *options, *self._common],
                stdout=log,
                stderr=log,
                env=self.environ,
            )


@contextlib.contextmanager
def dask_processes(
    n_workers: int, *common: str, environ: Mapping[str, str] | None = None
) -> Iterator[DaskProcesses]:
    """Start a scheduler and workers; kill them all at the end of the block."""
    processes = DaskProcesses(*common, environ=environ)
    try:
        processes.start_scheduler()
        for _ in range(n_workers):
            processes.add_worker()
        yield processes
    finally:
        processes.end_all()
