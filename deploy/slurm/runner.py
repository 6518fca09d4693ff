"""One SLURM job for everything, started by ``runner.sbatch`` with ``srun``.

Task 0 becomes the scheduler, task 1 the client, all others workers (``SLURMRunner`` of
dask-jobqueue). They find each other by a file in the job's folder. The client ends a
few minutes before the job's time is over, with the state of the run saved.

SLURM cancels a job by SIGTERM to every task: the client stops its run, workers give
their work back, and the scheduler waits for both.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from dask_jobqueue.slurm import SLURMRunner
from distributed import Client
from distributed.utils import get_ip
from launch import run_client

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

MARGIN_S = 180.0
"""Time to stop, to save and to close before SLURM kills the job."""

CLIENT_S = 20.0
"""A scheduler that is asked to end gives the client so long; SLURM kills after 30 s."""


class Ending:
    """What SIGTERM does to a task: the first one ends it in order, others nothing."""

    def __init__(self) -> None:
        self.end: Callable[[], object] | None = None  # None: there is nothing to end
        self._asked = False
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.end is None:
            sys.exit(128 + number)
        if not self._asked:
            self._asked = True
            self.end()


class Runner(SLURMRunner):
    """A scheduler, a client or a worker, as the task's number says."""

    def __init__(self, ending: Ending, **options: Any) -> None:  # noqa: ANN401
        self._ending = ending
        super().__init__(**options)  # does not return but in the client

    async def on_scheduler_start(self, scheduler: Any) -> None:  # noqa: ANN401
        """Outlive the client, which stops the run, but not for ever."""
        loop = scheduler.loop

        def close() -> None:
            loop.add_callback(scheduler.close, reason="SIGTERM")

        self._ending.end = lambda: loop.add_callback(loop.call_later, CLIENT_S, close)

    async def on_worker_start(self, worker: Any) -> None:  # noqa: ANN401
        """Give the work back first."""
        close = worker.close_gracefully
        self._ending.end = lambda: worker.loop.add_callback(close, reason="SIGTERM")


def listening() -> dict[str, str]:
    """Where scheduler and workers listen: on one interface, not on all of them.

    On that of ``DPBB_INTERFACE``, such as ib0, or the one that leads out of this node,
    which is what Dask would have the others connect to.
    """
    interface = os.environ.get("DPBB_INTERFACE")
    return {"interface": interface} if interface else {"host": get_ip()}


def time_limit_s(environ: dict[str, str], now: float) -> float | None:
    """Seconds that the client may take; None when SLURM does not say (before 22.05)."""
    end = environ.get("SLURM_JOB_END_TIME")
    return None if end is None else max(1.0, float(end) - now - MARGIN_S)


def main(checkpoint: str, instance: str, *options: str) -> int:
    """Take the role of this task; the client returns dpbb's exit code."""
    ending = Ending()
    threads = int(os.environ.get("SLURM_CPUS_PER_TASK", "1"))
    with (
        Runner(
            ending,
            scheduler_file="dpbb-scheduler-{job_id}.json",
            # for this node alone: the page has no login
            scheduler_options={"dashboard_address": "127.0.0.1:0", **listening()},
            worker_options={"nthreads": threads, **listening()},
        ) as runner,
        Client(runner) as client,
    ):
        limit_s = time_limit_s(dict(os.environ), time.time())
        limit = [] if limit_s is None else [f"--time-limit={limit_s:.0f}"]
        address = client.scheduler.address
        return run_client(checkpoint, address, instance, *options, *limit)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
