"""How good the schedules of heuristics are: ARPD a class and time, checked and drawn.

ARPD is the average, over the instances of a class, of the percentage by which a
makespan is above the best-known one; of several seeds the median counts. Runs are warm:
kernels are compiled before the clock starts. Each finished run is a line of the file
``--runs``, from which the same command goes on. Within a run the incumbent may only
improve, and its permutation must have its makespan: the exit code is 1 when one does
not.
"""

import argparse
import os
import platform
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpbb.bench.common import Machine, check_counts
from dpbb.bench.heuristics_report import Report, draw, save_better
from dpbb.bench.heuristics_runs import Run, RunsFile, Task, cores_of_their_own, run_all
from dpbb.cluster.worker.gpus import VISIBLE, visible_gpus
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.heuristics import DEVICES, HEURISTICS

TAILLARD = {
    "20x5": 1,
    "20x10": 11,
    "20x20": 21,
    "50x5": 31,
    "50x10": 41,
    "50x20": 51,
    "100x5": 61,
    "100x10": 71,
    "100x20": 81,
    "200x10": 91,
    "200x20": 101,
    "500x20": 111,
}
"""Classes of ten instances, and the number of the first one."""

VRF_CLASS = re.compile(r"VFR(\d+)_(\d+)", re.IGNORECASE)

MEMBERS = range(1, 11)

SPARE_S = 2.0
"""Seconds that a run may take beyond its limit, as far as the budget counts it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument(
        "--classes",
        nargs="+",
        metavar="CLASS",
        default=["50x20", "100x20", "200x20", "500x20"],
        help="of Taillard, such as 50x20; of VRF, such as VFR100_20 (with --data)",
    )
    parser.add_argument(
        "--members",
        nargs="+",
        type=int,
        choices=MEMBERS,
        default=list(MEMBERS),
        help="which instances of a class, from 1 (default: all ten)",
    )
    parser.add_argument(
        "--limits",
        nargs="+",
        type=float,
        default=[60.0],
        metavar="S",
        help="time limits of a run in seconds (default: 60)",
    )
    parser.add_argument("--seeds", type=int, default=1, help="runs of each, seeds 0 on")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=["auto", *HEURISTICS],
        default=["auto"],
        help="what runs (default: auto)",
    )
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="of a run (default: 2)")
    parser.add_argument(
        "--side-by-side",
        type=int,
        default=1,
        metavar="N",
        help="runs at a time, each on cores (and a GPU) of its own",
    )
    parser.add_argument(
        "--runs",
        type=Path,
        default=None,
        help="a JSON line a finished run; those that are there are not made again",
    )
    parser.add_argument(
        "--budget-s",
        type=float,
        default=None,
        help="no run is begun that would end later; what is left out is told",
    )
    parser.add_argument("--data", metavar="FOLDER", help="benchmark files, for VRF")
    parser.add_argument("--json", type=Path, default=None, help="also write the table")
    parser.add_argument(
        "--plot", type=Path, default=None, help="ARPD over time: .png, .svg, .pdf"
    )


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a schedule or trajectory is wrong."""
    check_counts(args, "seeds", "threads", "side_by_side")
    if min(args.limits) <= 0:
        raise OptionError(f"--limits: expected seconds above 0, got {min(args.limits)}")
    wanted = tasks_of(args)
    places = _places(args)
    runs = RunsFile(args.runs)
    left = [(shop, task) for shop, task in wanted if task not in runs.runs]
    print(
        f"{Machine.this()}; {len(wanted)} runs, {len(wanted) - len(left)} made before; "
        f"{args.side_by_side} side by side, {args.threads} thread(s) each",
        flush=True,
    )
    instances = {task.instance: shop for shop, task in wanted}
    failures = _make(left, places, runs, instances, args)
    report = Report.of([runs.runs[task] for _, task in wanted if task in runs.runs])
    print(report.text())
    wrong = report.wrong(instances)
    for line in [*wrong, *failures]:
        print(line)
    if args.json is not None:
        args.json.write_text(report.to_json())
    if args.plot is not None and report.runs:
        draw(report.runs, args.plot)
    return int(bool(wrong or failures))


def tasks_of(args: argparse.Namespace) -> list[tuple[FlowShopInstance, Task]]:
    """Return all runs, so that whatever part is made first says something of all."""
    shops = {}
    for member in args.members:
        for name in args.classes:
            label = member_of(name, member)
            shop = read_instance(label, data_dir=args.data)
            if shop.best_known is None:
                raise OptionError(
                    f"--classes: expected instances that have a best-known makespan, "
                    f"got {label}"
                )
            shops[label] = (name, shop)
    return [
        (
            shop,
            Task(
                instance=shop.name,
                digest=shop.digest,
                class_name=name,
                method=method,
                device=args.device,
                threads=args.threads,
                seed=seed,
                limit_s=limit,
            ),
        )
        for seed in range(args.seeds)
        for limit in sorted(args.limits)
        for name, shop in shops.values()
        for method in args.methods
    ]


def member_of(class_name: str, member: int) -> str:
    """Return the name of an instance of a class, from 1; OptionError for no class."""
    if class_name in TAILLARD:
        return f"ta{TAILLARD[class_name] + member - 1:03d}"
    if VRF_CLASS.fullmatch(class_name):
        return f"{class_name}_{member}"
    raise OptionError(
        f"--classes: expected {', '.join(TAILLARD)} or one like VFR100_20, got "
        f"{class_name!r}"
    )


def _places(args: argparse.Namespace) -> list[tuple[list[int], str | None]]:
    cores = cores_of_their_own(args.side_by_side, args.threads)
    if args.device != "gpu":
        return [(mine, None) for mine in cores]
    gpus = visible_gpus(os.environ)
    if args.side_by_side > len(gpus):
        raise OptionError(
            f"--side-by-side: expected at most {len(gpus)} with --device gpu, one for "
            f"each visible GPU ({VISIBLE}), got {args.side_by_side}"
        )
    return list(zip(cores, gpus, strict=False))


def _make(
    left: Sequence[tuple[FlowShopInstance, Task]],
    places: list[tuple[list[int], str | None]],
    file: RunsFile,
    instances: dict[str, FlowShopInstance],
    args: argparse.Namespace,
) -> list[str]:
    """Make the runs that are left; returns what went wrong."""
    began = time.monotonic()
    failures: list[str] = []
    skipped: list[Task] = []
    host, made = platform.node(), 0

    def may_begin(task: Task) -> bool:
        end = time.monotonic() - began + task.limit_s + SPARE_S
        if args.budget_s is None or end <= args.budget_s:
            return True
        skipped.append(task)
        return False

    def finished(run: Run) -> None:
        nonlocal made
        made += 1
        run = replace(run, side_by_side=len(places), host=host)
        file.add(run)
        task = run.task
        print(
            f"{made:>5}/{len(left)} {time.monotonic() - began:>8.0f} s  "
            f"{task.instance:<11} {task.method:<5} seed {task.seed} "
            f"{task.limit_s:>5g} s: {run.value:>6} {run.rpd:>6.2f} %  "
            f"({run.trajectory[-1][2]} at {run.trajectory[-1][0]:.1f} s)",
            flush=True,
        )
        if run.value < run.best_known:
            folder = Path() if args.runs is None else args.runs.parent
            saved = save_better(run, instances[task.instance], folder)
            print(f"BETTER than best known ({run.best_known}): {saved}", flush=True)

    run_all(
        left,
        places,
        may_begin=may_begin,
        on_run=finished,
        on_failure=lambda task, why: failures.append(f"FAILED: {task}: {why}"),
    )
    if skipped:
        print(f"{len(skipped)} runs left out by --budget-s; the same command goes on")
    return failures
