"""Costs of job-shop schedules: the founding paper's table, and batches of solutions.

The table: one solution of every instance by all pairs of longest paths, with the
paper's kernel, in tiles with DPX instructions and by repeated squaring on the GPU; and
on one CPU core by the same O(o^3) algorithm and by the O(o) sweep. (The paper's CPU
times can only be those of O(o^3), though its text speaks of O(o); its OpenCL column is
not reproduced.) Batches: scheduled operations a second, with the solutions on the
device, with their transfers, and on the CPU. Every cost is compared with another
evaluator's; the exit code is 1 when one is wrong or a part failed. Sets of Lawrence's
instances need ``--data``.
"""

import argparse
import csv
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path

from dpbb.bench.common import Machine, check_counts, find_gpu, write_json
from dpbb.bench.jobshop_batches import BATCHES, Batches
from dpbb.bench.jobshop_report import Bench, TableRow, draw_table
from dpbb.bench.jobshop_table import SETS, Table

PARTS = ("table", "batch", "cpu")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to measure"
    )
    parser.add_argument(
        "--sets", nargs="+", choices=SETS, default=list(SETS), help="rows of the table"
    )
    parser.add_argument(
        "--sizes", nargs="+", choices=BATCHES, default=list(BATCHES), help="of batches"
    )
    parser.add_argument(
        "--solutions", type=int, default=None, help="of a batch (default: by its size)"
    )
    parser.add_argument("--repeat", type=int, default=5, help="runs; medians are shown")
    parser.add_argument(
        "--budget-s",
        type=float,
        default=270.0,
        help="no further set or size is begun after so long; what is left out is told",
    )
    parser.add_argument("--data", metavar="FOLDER", help="benchmark files: la01 ...")
    parser.add_argument(
        "--json", type=Path, help="also write everything into this file"
    )
    parser.add_argument("--csv", type=Path, help="also write the table into this file")
    parser.add_argument(
        "--plot", type=Path, help="also draw the table: .png, .svg, .pdf"
    )


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a cost is wrong or a part failed."""
    check_counts(args, "repeat")
    bench = Bench(args.repeat, args.budget_s, str(Machine.this()))
    write = partial(_write, bench, args)
    batches = Batches(bench, args.sizes, args.solutions)
    parts: dict[str, Callable[[], None]] = {
        "device": partial(_find_device, bench),
        "batch": batches.measure_gpu,
        "cpu": batches.measure_cpu,
        "table": Table(bench, args.sets, args.data, write).measure,
    }
    for name, part in parts.items():
        if name in args.parts or name == "device":
            bench.guarded(name, part)
            write()
    for finding in bench.report.findings:
        print(finding)
    wrong = [f"{row}" for row in bench.report.table if not row.exact]
    wrong += [f"{row}" for row in bench.report.rates if not row.exact]
    for one in wrong:
        print(f"WRONG: {one}")
    return int(bool(wrong or bench.report.failures))


def _write(bench: Bench, args: argparse.Namespace) -> None:
    """Write the files as far as there is something to write."""
    report = bench.report
    write_json(args.json, report)
    if args.csv is not None and report.table:
        with args.csv.open("w", newline="") as file:
            names = [one.name for one in fields(TableRow)]
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(row) for row in report.table)
    if args.plot is not None and report.table:
        bench.guarded(
            "plot", partial(draw_table, report.table, report.device, args.plot)
        )


def _find_device(bench: Bench) -> None:
    """Find a GPU; without one its columns stay empty."""
    print(f"host: {bench.report.host}")
    bench.cupy, name = find_gpu()
    if bench.cupy is None:
        bench.report.findings.append(f"no GPU: {name}")
    else:
        bench.report.device = name
