"""Solve on SLURM with workers that come and go: a job for each.

    python jobqueue.py CHECKPOINT INSTANCE [--jobs 8] [--gpus 1] [-- OPTION...]

Runs scheduler and client here (a login node that allows it, or a small long job), and
submits workers as jobs through dask-jobqueue. Workers close before their wall time and
give their work back; new jobs take their place. SIGTERM or Ctrl-C stops the run, with
its state saved, and cancels the jobs. However this script is cut off, call it again: it
goes on from the checkpoint.
"""

import argparse
import shlex
import sys
from pathlib import Path

import dask.config
from dask_jobqueue import SLURMCluster
from distributed.utils import get_ip
from launch import end_in_order, run_client

DEPLOY = Path(__file__).resolve().parents[1]
ADDRESS = "from distributed.utils import get_ip; print(get_ip())"


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
    parser.add_argument("--hours", type=int, default=4, help="wall time of a job")
    parser.add_argument("--interface", help="network interface, such as ib0")
    args = parser.parse_args(arguments[:end])
    args.options = arguments[end + 1 :]
    return args


def make_cluster(args: argparse.Namespace) -> SLURMCluster:
    """Describe a job: one worker process a GPU, or one with all cores."""
    minutes = 60 * args.hours
    processes = max(1, args.gpus)
    # on one interface, not on all of them; each node asks for its own address
    here = {} if args.interface else {"host": get_ip()}
    there = [] if args.interface else ["--host", '"$DPBB_HOST"']
    return SLURMCluster(
        queue=args.queue,
        account=args.account,
        cores=args.cores,
        processes=processes,
        memory=args.memory,
        walltime=f"{args.hours}:00:00",
        interface=args.interface,
        # workers that see the same GPUs share them, one each
        job_extra_directives=[f"--gpus={args.gpus}"] if args.gpus else [],
        job_script_prologue=[
            f"export DASK_CONFIG={DEPLOY / 'dask.yaml'}",
            f"export DPBB_SEATS={'gpu' if args.gpus else 'cpu'}",
            f"export DPBB_HOST=$({shlex.quote(sys.executable)} -c '{ADDRESS}')",
        ],
        # the work is given back before SLURM kills the job, not all at one moment
        worker_extra_args=[
            *("--lifetime", f"{minutes - 6}m"),
            *("--lifetime-stagger", "3m"),
            *there,
            *("--dashboard-address", "127.0.0.1:0"),
        ],
        scheduler_options={"dashboard_address": "127.0.0.1:0", **here},
    )


def main() -> int:
    """Solve or resume; returns dpbb's exit code."""
    args = parse(sys.argv[1:])
    end_in_order()
    settings = dask.config.collect([str(DEPLOY / "dask.yaml")], env={})
    dask.config.update(dask.config.config, settings)
    with make_cluster(args) as cluster:
        cluster.adapt(minimum=1, maximum=args.jobs * max(1, args.gpus))
        print(f"dashboard {cluster.dashboard_link}", file=sys.stderr)
        address = cluster.scheduler_address
        return run_client(args.checkpoint, address, args.instance, *args.options)


if __name__ == "__main__":
    sys.exit(main())
