"""Searches: ``dpbb solve``, ``resume``, ``slurm``, ``heuristic`` and ``estimate``."""

import argparse
import json
import shlex
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from dpbb.cli import Parser
from dpbb.cli.arguments import (
    add_common,
    add_instance,
    add_option,
    add_options,
    add_rows,
    add_shown,
    flags_given,
    given_options,
)
from dpbb.cli.output import fitted
from dpbb.cli.running import EXIT_CODES_TEXT, check_files, problem_of, run_and_show
from dpbb.errors import DpbbError, OptionError
from dpbb.estimation.result import USED_OPTIONS
from dpbb.options import OPTIONS, SolveOptions
from dpbb.options.rows import Group
from dpbb.problem import BestKnown, best_known_of
from dpbb.result import Result
from dpbb.text.json_text import json_text


def add_solve(parser: argparse.ArgumentParser) -> None:
    """Add the instance, the output and all options of a search."""
    parser.epilog = EXIT_CODES_TEXT
    add_instance(parser)
    add_common(parser, "--output", "--json", title="output")
    add_common(parser, "--config", "--fresh", "--on-end")
    add_options(parser, "INSTANCE")


def run_solve(args: argparse.Namespace) -> int:
    """Solve, show the result, write the schedule."""
    given = given_options(args)
    options = SolveOptions.from_mapping(given)
    instance = problem_of(args, options)
    check_files(args, given)

    def solve(**how: Any) -> Result:
        from dpbb import api

        return api.solve(instance, options=options, fresh=args.fresh, **how)

    return run_and_show(args, options, solve)


SHOWN = [name for name, row in OPTIONS.items() if row.group is Group.SHOWN]
"""Options of how a run is shown, which ``dpbb resume`` does itself."""


def add_resume(parser: argparse.ArgumentParser) -> None:
    """Add the checkpoint, the output and all options of a search."""
    parser.epilog = (
        "The tree's options are as before; a smaller --upper-bound and a better "
        "--initial schedule\nare used. Checkpoints go on in the same folder, unless "
        f"another is given.\n\n{EXIT_CODES_TEXT}"
    )
    source = {
        "source CHECKPOINT": "folder of checkpoints (the newest counts), one of them, "
        "or a file that dpbb save wrote; a path or URL"
    }
    add_rows(parser, source)
    add_common(parser, "--output", "--json", title="output")
    add_common(parser, "--config", "--on-end")
    add_options(parser, "CHECKPOINT")


def run_resume(args: argparse.Namespace) -> int:
    """Go on, show the result, write the schedule."""
    given = given_options(args)
    # only with those of the checkpoint are the given options whole: see ``read_saved``
    shown = {name: given[name] for name in SHOWN if name in given}
    given.pop("progress", None)
    check_files(args, given)

    def resume(**how: Any) -> Result:
        from dpbb import api

        return api.resume(args.source, **given, **how)

    return run_and_show(args, SolveOptions.from_mapping(shown), resume)


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


SHARED = ("threads", "seed", "initial", "scheduler", "progress", "verbosity")
"""Options of ``dpbb heuristic`` that mean what they mean in a solve."""


def add_heuristic(parser: argparse.ArgumentParser) -> None:
    """Add the instance, the method, its limits and the output."""
    parser.epilog = """\
The JSON object is a result as dpbb solve has it: dpbb evaluate and dpbb plot take the
file. Exit codes: 0 a schedule; 1 error; 2 bad input; 130 interrupted twice. Ctrl-C once
(or SIGTERM) ends the search and still prints the best schedule."""
    add_instance(parser)
    group = parser.add_argument_group("search")
    rows = {
        "--method NAME=auto": "auto: what does best on such instances, or a heuristic: "
        "see the help of dpbb solve --heuristics (default: auto)",
        "--time X": "seconds (default: 10, or as long as --iterations take), with what "
        "is compiled on the first use",
        "--iterations N": "steps of the method's own kind: with --threads 1 a seed "
        "repeats a search",
        "--device KIND=cpu": "cpu or gpu (default: cpu)",
    }
    add_rows(group, rows)
    for name in SHARED:
        add_option(group, OPTIONS[name])
    add_shown(group, verbose=False)
    add_common(parser, "--output", "--json", title="output")


def run_heuristic(args: argparse.Namespace) -> int:
    """Search and show the schedule."""
    given = flags_given(args, [OPTIONS[name] for name in SHARED])
    options = SolveOptions.from_mapping(given)
    if args.time is not None:
        args.time = OPTIONS["heuristic_time_s"].kind.parse(args.time, "--time")
    problem = problem_of(args, options)
    check_files(args, given)
    known = best_known_of(problem)

    def search(**how: Any) -> Result:
        from dpbb.solving.heuristic import heuristic

        return heuristic(
            problem,
            args.method,
            time_limit_s=args.time,
            device=args.device,
            threads=options.threads,
            seed=options.seed,
            iterations=args.iterations,
            initial=options.initial,
            scheduler=options.scheduler,
            **how,
        )

    def text(result: Result) -> str:
        if not args.json:
            return fitted(_found(result, known))
        upper = None if known is None else known.upper_bound
        return json_text({**json.loads(result.to_json()), "best_known": upper})

    run_and_show(args, options, search, text)
    return 0


def _found(result: Result, known: BestKnown | None) -> str:
    """Return the schedule, how good it is, and which method found what."""
    value = result.makespan
    rows = [("instance", f"{result.instance} ({result.n_jobs} x {result.n_machines})")]
    if value is None:
        rows.append((result.objective, "none found"))
    else:
        rows.append((result.objective, str(value)))
        if known is not None:
            above = 100 * (value - known.upper_bound) / known.upper_bound
            rows.append(("best known", f"{known}: {above:.2f} % above"))
        how = f"gap {result.gap:.2%}" if result.gap else f"optimal ({result.proof})"
        rows.append(("lower bound", f"{result.lower_bound}: {how}"))
    rows.append(("time", f"{result.seconds:.2f} s"))
    rows.append(("permutation", " ".join(map(str, result.permutation or ()))))
    for source, steps in groupby(result.trajectory, lambda step: step.source):
        *before, last = steps
        more = f", step {len(before) + 1}" if before else ""
        rows.append(("", f"{last.seconds:>7.2f} s {last.value:>7}  {source}{more}"))
    return "\n".join(f"{name:<12} {text}" for name, text in rows)


def add_estimate(parser: argparse.ArgumentParser) -> None:
    """Add the instance, the tree and the effort."""
    parser.epilog = """\
The tree is that of a solve with a schedule of makespan U at hand. What the interval
means, and where it fails, is in docs/estimates.md; a line WARNING says that an estimate
is not to be trusted."""
    add_instance(parser)
    text = "time (default: 5)"
    parser.add_argument("--seconds", type=float, default=5.0, metavar="X", help=text)
    rows = {
        "--upper-bound U": "makespan of a known schedule; default: the best-known one, "
        "or else one that heuristics find first, in seconds",
        "--gpus N=1": "H100s to give the time for (lb1)",
    }
    add_rows(parser, rows)
    group = parser.add_argument_group("options of the tree and of this machine")
    for name in USED_OPTIONS:
        add_option(group, OPTIONS[name])
    add_common(parser, "--json")


def run_estimate(args: argparse.Namespace) -> int:
    """Estimate and show."""
    from dpbb.estimation.estimating import estimate

    result = estimate(
        problem_of(args),
        upper_bound=args.upper_bound,
        seconds=args.seconds,
        gpus=args.gpus,
        **flags_given(args, [OPTIONS[name] for name in USED_OPTIONS]),
    )
    print(result.to_json() if args.json else fitted(result.summary()))
    return 0
