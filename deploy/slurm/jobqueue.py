"""Solve on SLURM with workers that come and go: a job for each.

    python jobqueue.py CHECKPOINT INSTANCE [--jobs 8] [--minutes 240] [-- OPTION...]

Runs scheduler and client here (a login node that allows it, or a small long job), and
submits workers as jobs through dask-jobqueue. Workers close before their wall time and
give their work back; new jobs take their place. SIGTERM or Ctrl-C stops the run, with
its state saved, and cancels the jobs. However this script is cut off, call it again: it
goes on from the checkpoint.
"""

import argparse
import os
import shlex
import sys
from pathlib import Path

import dask.config
from dask_jobqueue import SLURMCluster
from dask_jobqueue.slurm import SLURMJob
from distributed import Client, Status
from distributed.security import Security
from distributed.utils import get_ip
from tornado.ioloop import PeriodicCallback

from dpbb.cluster.slurm.launch import (
    CONFIG,
    PATIENCE,
    end_in_order,
    private_folder,
    refused,
    run_client,
    use_tls,
)

ADDRESS = "from distributed.utils import get_ip; print(get_ip())"
EXIT_NO_CLUSTER = 1
RETRY_S = 30.0
LEAST_MINUTES = 5
"""Of a job: a worker of a shorter one would hardly explore, or not end in time."""


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the arguments; what follows ``--`` is for dpbb."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkpoint", help="folder that this host sees")
    parser.add_argument("instance")
    parser.add_argument("--jobs", type=int, default=8, help="at most so many at once")
    parser.add_argument("--cores", type=int, default=16, help="of a job")
    parser.add_argument("--memory", default="16GB", help="of a job")
    parser.add_argument("--gpus", type=int, default=0, help="of a job")
    parser.add_argument("--queue", help="partition")
    parser.add_argument("--account")
    parser.add_argument("--minutes", type=int, default=240, help="wall time of a job")
    parser.add_argument("--wait", type=float, default=60, help="minutes for a worker")
    parser.add_argument("--interface", help="network interface, such as ib0")
    args = parser.parse_args(arguments[:end])
    if args.minutes < LEAST_MINUTES:
        parser.error(
            f"--minutes: expected at least {LEAST_MINUTES}, got {args.minutes}"
        )
    args.options = arguments[end + 1 :]
    return args


def lifetime_s(minutes: int) -> tuple[int, int]:
    """Seconds after which a worker closes, give or take the second number.

    The work is given back before SLURM kills the job, not all at one moment: three to
    nine minutes earlier, in short jobs a sixth to a half of their time.
    """
    stagger = min(180, 60 * minutes // 6)
    return 60 * minutes - 2 * stagger, stagger


class Job(SLURMJob):
    """Notes its end: else one that SLURM did not take lets the closing fail."""

    async def close(self) -> None:
        """Cancel it."""
        await super().close()
        self.status = Status.closed


def make_cluster(args: argparse.Namespace, security: Security) -> SLURMCluster:
    """Describe a job: one worker process a GPU, or one with all cores."""
    processes = max(1, args.gpus)
    # on one interface, not on all of them; each node asks for its own address
    here = {} if args.interface else {"host": get_ip()}
    there = [] if args.interface else ["--host", '"$DPBB_HOST"']
    lifetime, stagger = lifetime_s(args.minutes)
    return SLURMCluster(
        job_cls=Job,
        queue=args.queue,
        account=args.account,
        cores=args.cores,
        processes=processes,
        memory=args.memory,
        walltime=str(args.minutes),
        interface=args.interface,
        security=security,
        # the shell's process becomes the worker's nanny, which SLURM then asks to end
        python=f"exec {shlex.quote(sys.executable)}",
        # workers that see the same GPUs share them, one each
        job_extra_directives=[f"--gpus={args.gpus}"] if args.gpus else [],
        job_script_prologue=[
            f"export DASK_CONFIG={shlex.quote(str(CONFIG))}",
            f"export DPBB_SEATS={'gpu' if args.gpus else 'cpu'}",
            f"export DPBB_HOST=$({shlex.quote(sys.executable)} -c '{ADDRESS}')",
        ],
        worker_extra_args=[
            *("--lifetime", f"{lifetime}s"),
            *("--lifetime-stagger", f"{stagger}s"),
            *there,
            *("--dashboard-address", "127.0.0.1:0"),
            *("--preload", shlex.quote(str(PATIENCE))),
            *("--preload-nanny", shlex.quote(str(PATIENCE))),
        ],
        scheduler_options={"dashboard_address": "127.0.0.1:0", **here},
    )


def submit_again(cluster: SLURMCluster) -> None:
    """From now on submit, every half minute, jobs that SLURM did not take.

    Its controller may be away just then, and Dask would give such a job up.
    """

    async def start_all() -> None:
        if cluster.status is Status.running:
            await cluster  # starts the workers that have not been started

    cluster.loop.add_callback(PeriodicCallback(start_all, 1000 * RETRY_S).start)


def main() -> int:
    """Solve or resume; returns dpbb's exit code."""
    args = parse(sys.argv[1:])
    end_in_order()
    why = refused()
    if why is not None:
        print(f"expected SLURM's controller to answer, got: {why}", file=sys.stderr)
        return EXIT_NO_CLUSTER
    settings = dask.config.collect([str(CONFIG)], env={})
    dask.config.update(dask.config.config, settings)
    with (
        private_folder(f"dpbb-{Path(args.checkpoint).name}-{os.getpid()}") as folder,
        make_cluster(args, use_tls(folder)) as cluster,
    ):
        submit_again(cluster)
        cluster.adapt(minimum=1, maximum=args.jobs * max(1, args.gpus))
        print(f"dashboard {cluster.dashboard_link}", file=sys.stderr)
        try:
            with Client(cluster) as client:
                client.wait_for_workers(1, timeout=60 * args.wait)
        except TimeoutError:
            print(
                f"expected a worker within {args.wait:g} minutes (--wait), got none: "
                "see squeue, and the jobs' logs (slurm-*.out)",
                file=sys.stderr,
            )
            return EXIT_NO_CLUSTER
        address = cluster.scheduler_address
        return run_client(args.checkpoint, address, args.instance, *args.options)


if __name__ == "__main__":
    sys.exit(main())
