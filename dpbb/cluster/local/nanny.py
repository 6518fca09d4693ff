"""Starts, watches, restarts and closes an embedded worker process, as Dask asks."""

import asyncio
import contextlib
import logging
import pickle
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from distributed.deploy.spec import ProcessInterface

from dpbb.cluster.local.process import end, launch

logger = logging.getLogger(__name__)

POLL_S = 0.1

QUICK_DEATH_S = 20.0
MAX_QUICK_DEATHS = 3
"""So many deaths within ``QUICK_DEATH_S`` of the start: it cannot run here."""

HOPELESS_PAUSE_S = 1.0
"""Then it is tried this often, and every time the open runs fail."""

PASSED_ON = ("name", "nthreads", "memory_limit", "host", "protocol", "local_directory")


class EmbeddedWorker(ProcessInterface):
    """A worker in a process of its own, for ``LocalCluster(worker_class=...)``.

    Parameters
    ----------
    spares
        Processes that were launched ahead, by their workers' names; taken from first.
    environs
        What is added to the environment of the workers called 0, 1, ...; the last
        one for those beyond.
    on_hopeless
        Called with a message when the process dies again and again.
    **options
        Of ``distributed.Worker``; those that mean nothing here are dropped.
    """

    def __init__(
        self,
        scheduler: str,
        *,
        spares: dict[int, subprocess.Popen[bytes]],
        environs: Sequence[Mapping[str, str]],
        on_hopeless: Callable[[str], None],
        warm_up: bytes | None,
        **options: Any,
    ) -> None:
        self._order = {
            "scheduler": scheduler,
            "dashboard": False,
            "warm_up": warm_up,
            "log_level": logging.getLogger("dpbb").getEffectiveLevel(),
            **{key: options[key] for key in PASSED_ON if options.get(key) is not None},
        }
        self._spares = spares
        self._number = int(options.get("name") or 0)
        self._environ = environs[min(self._number, len(environs) - 1)]
        self._on_hopeless = on_hopeless
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: asyncio.Task[None] | None = None
        super().__init__(name=options.get("name"))  # type: ignore[no-untyped-call]

    @property
    def pid(self) -> int | None:
        """Id of the process."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the process and watch it; does not wait for it to join."""
        self._begin()
        self._watcher = asyncio.create_task(self._watch())
        await super().start()  # type: ignore[no-untyped-call]

    async def close(self) -> None:
        """Ask the process to end, and see that it does."""
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
        if self._process is not None:
            await asyncio.to_thread(end, self._process)
        await super().close()  # type: ignore[no-untyped-call]

    def _begin(self) -> None:
        spare = self._spares.pop(self._number, None)
        process = launch(self._environ) if spare is None else spare
        self._process = process
        self._began = time.monotonic()
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it is dead: see _watch
                pickle.dump(self._order, process.stdin)
                process.stdin.flush()

    async def _watch(self) -> None:
        """Start the process again when it dies."""
        deaths = 0
        while True:
            await asyncio.sleep(POLL_S)
            process = self._process
            if process is None or process.poll() is None:
                continue
            quick = time.monotonic() - self._began < QUICK_DEATH_S
            deaths = deaths + 1 if quick else 1
            text = f"worker process {process.pid} ended with code {process.returncode}"
            logger.warning("%s; starting another", text)
            if deaths >= MAX_QUICK_DEATHS:
                self._on_hopeless(f"{text}, {deaths} times in a row; see its output")
                await asyncio.sleep(HOPELESS_PAUSE_S)
            await asyncio.to_thread(end, process)  # closes its standard input
            self._begin()
