"""``dpbb slurm``: solve by one SLURM job that queues itself again until the proof."""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from dpbb.cli import Parser
from dpbb.cli.arguments import add_rows, given_options
from dpbb.cli.running import problem_of
from dpbb.cli.search import add_solve
from dpbb.errors import DpbbError, OptionError
from dpbb.options import SolveOptions

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=dpbb
#SBATCH --ntasks={tasks}
#SBATCH --cpus-per-task={cores}
#SBATCH --time={time}
#SBATCH --signal=B:USR1@180
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=dpbb-%j.log
trap '' USR1 # until the runner listens to it
export DPBB_SEATS=${{DPBB_SEATS:-{seats}}} PYTHONUNBUFFERED=1
exec {python} -m dpbb.cluster.slurm.runner {arguments}
"""

GPU = "#SBATCH --gpus-per-task=1\n#SBATCH --time"


def add_slurm(parser: argparse.ArgumentParser) -> None:
    """Add the job's size, the folder, and what ``dpbb solve`` is given."""
    parser.usage = "%(prog)s [options] CHECKPOINT INSTANCE [OPTION of dpbb solve ...]"
    parser.epilog = """\
Every task is a worker; scheduler and client run beside them on the first node. Minutes
before its time is over the run is saved, and the job queues itself again. sbatch takes
partition and account from $SBATCH_PARTITION and $SBATCH_ACCOUNT; with --write give it
any flags yourself. $DPBB_INTERFACE, such as ib0, says which network to use."""
    rows = {
        "--tasks N=4": "workers (4)",
        "--cores N=16": "of each worker (16)",
        "--gpus": "a GPU for each worker, which alone explores",
        "--time TIME=04:00:00": "of the job, five minutes at least (04:00:00)",
        "--write FILE": "write the batch script there; submit nothing",
        "checkpoint CHECKPOINT": "folder that all nodes see",
    }
    add_rows(parser, rows)
    parser.add_argument("solve", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run_slurm(args: argparse.Namespace) -> int:
    """Write the batch script, or submit it.

    DpbbError: there is no sbatch here, or it refuses.
    """
    solve = Parser(prog="dpbb slurm CHECKPOINT")
    add_solve(solve)
    job = solve.parse_args(args.solve)
    given = given_options(job)
    for name in ("checkpoint", "scheduler", "workers"):
        if name in given:
            raise OptionError(f"{name}: expected none, it is the job's own")
    problem_of(job, SolveOptions.from_mapping(given))  # bad input is told here
    script = SCRIPT.format(
        tasks=args.tasks,
        cores=args.cores,
        time=args.time,
        seats="gpu" if args.gpus else "cpu",
        python=shlex.quote(sys.executable),
        arguments=shlex.join([args.checkpoint, *args.solve]),
    )
    if args.gpus:
        script = script.replace("#SBATCH --time", GPU, 1)
    if args.write is not None:
        Path(args.write).write_text(script)
        return 0
    try:
        done = subprocess.run(["sbatch"], input=script, text=True, check=False)  # noqa: S607
    except FileNotFoundError as error:
        raise DpbbError(
            "expected sbatch on the PATH, got none: this is no host of a SLURM "
            "cluster (--write FILE writes the script)"
        ) from error
    return 1 if done.returncode else 0
