"""One SLURM job for everything, started by ``runner.sbatch`` with ``srun``.

Task 0 becomes the scheduler, task 1 the client, all others workers (``SLURMRunner`` of
dask-jobqueue). They find each other by a file in the job's folder. The client ends a
few minutes before the job's time is over, with the state of the run saved.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from dask_jobqueue.slurm import SLURMRunner
from distributed import Client

MARGIN_S = 180.0
"""Time to stop, to save and to close before SLURM kills the job."""


def time_limit_s(environ: dict[str, str], now: float) -> float | None:
    """Seconds that the client may take; None when SLURM does not say (before 22.05)."""
    end = environ.get("SLURM_JOB_END_TIME")
    return None if end is None else max(1.0, float(end) - now - MARGIN_S)


def main(checkpoint: str, instance: str, *options: str) -> int:
    """Take the role of this task; the client returns dpbb's exit code."""
    threads = int(os.environ.get("SLURM_CPUS_PER_TASK", "1"))
    with (
        SLURMRunner(
            scheduler_file="dpbb-scheduler-{job_id}.json",
            # for this node alone: the page has no login
            scheduler_options={"dashboard_address": "127.0.0.1:0"},
            worker_options={"nthreads": threads},
        ) as runner,
        Client(runner) as client,
    ):
        limit_s = time_limit_s(dict(os.environ), time.time())
        limit = [] if limit_s is None else [f"--time-limit={limit_s:.0f}"]
        # next to this script's source: SLURM copies the batch script alone elsewhere
        script = Path(__file__).resolve().parents[1] / "solve-or-resume.sh"
        command = [
            *(script, checkpoint, client.scheduler.address, instance),
            *(*options, *limit),
        ]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
