"""The tables of the literature's largest runs, measured here and put beside them.

``engines``: one core, all cores and one GPU, both ways of balancing, on whole trees (or
their first ``--limit-s`` seconds). ``scaling``: whole solves on 1, 2, ... GPUs, which
is ``dpbb bench multigpu`` with the trees of Table 2 (minutes on one GPU; more GPUs than
are there: ``python -m tests.worlds scale``). ``closed``: instances that campaigns have
proved.
Published: J. Gmys, "Exactly solving hard permutation flowshop scheduling problems on
peta-scale GPU-accelerated supercomputers", INFORMS Journal on Computing 34(5), 2022.
The exit code is 1 when a count is wrong.
"""

import argparse
import csv
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpbb.bench import multigpu
from dpbb.bench.common import Explored, Machine, differ, explored, write_json
from dpbb.campaign.checking import read_all
from dpbb.campaign.folder import DOUBTFUL, Record, best_of
from dpbb.campaign.report import CLASS_COLUMNS, as_table, classes
from dpbb.engines.base import Device, Engine
from dpbb.engines.registry import get_engine
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import Balance, Tuning

TREES = {"ta021": 2297, "ta056": 3666, "ta081": 6115, "ta101": 11156}
"""Upper bounds of Table 1 and Figure 9."""

TABLE_2 = "vfr30_15_2", "vfr30_15_5", "vfr30_15_9"
"""Of Table 2 and Figure 10."""

PUBLISHED_ENGINES = (
    "published (K = 16,384): one GPU 41 times one core of a Xeon Gold 6126 (20x20, "
    "P100) to 325 times (200x20, V100); its 24 cores about 24 times"
)

PUBLISHED_CLOSED = {
    "ta058": (256, 13 * 3600 + 17 * 60, "3,399", 339e12, 3691),
    "ta053": (128, 7 * 3600 + 59 * 60, "1,022", 95e12, 3640),
    "ta052": (384, 3600 + 54 * 60, "729.6", 68e12, 3699),
    "ta057": (384, 3600 + 11 * 60, "454.4", 42e12, 3704),
    "ta083": (64, 24 * 60, "25.8", 2.2e12, 6252),
    "ta084": (32, 16 * 60, "8.5", 427e9, 6254),
    "ta090": (128, 78, "3", 168e9, 6404),
    "ta101": (32, 18 * 60, "9.6", 225e9, 11158),
    "ta107": (32, 6 * 60, "3", 41e9, 11337),
    "ta109": (32, 100, "1", 10e9, 11146),
    "ta108": (32, 28, "< 1", 2e9, 11301),
}
"""Tables 3 to 5: V100s, seconds, GPU-hours, nodes and optimum."""

PUBLISHED_VFR = (
    "of 480 instances VFR, 55 were solved for the first time there, and 122 best-known "
    "makespans improved; the largest, VFR30_20_1, 53.4 * 10^12 nodes and 200 GPU-hours"
)
"""What is known here of Figure 11; its bars are not."""

TIES = (
    "ties of MinMin: here the larger sum of bounds, then the front; another rule "
    "there, by which trees have up to 1.6 times as many nodes, or as few"
)

PARTS = ("engines", "scaling", "closed")


@dataclass(frozen=True, slots=True)
class Rate:
    """One tree on one device.

    Parameters
    ----------
    nodes, complete
        Decomposed nodes and leaves; whether that is the whole tree.
    seconds
        Of each repetition, from the first slice to the last.
    nodes_per_s, ratio
        In the median of them; and over that of one core.
    """

    tree: str
    ub: int
    device: str
    how: str
    nodes: int
    complete: bool
    seconds: tuple[float, ...]
    nodes_per_s: float
    ratio: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument(
        "--part",
        nargs="+",
        choices=PARTS,
        default=list(PARTS),
        help="which tables (default: all)",
    )
    parser.add_argument("--trees", nargs="+", choices=TREES, default=list(TREES))
    parser.add_argument("--threads", type=int, default=None, help="default: all cores")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each engine")
    parser.add_argument(
        "--limit-s", type=float, default=20.0, help="rates of longer runs: of so long"
    )
    parser.add_argument(
        "--gpus",
        nargs="+",
        type=int,
        help="scaling: numbers of GPUs, in turn (default: 1, 2, 4, ... of those here)",
    )
    parser.add_argument(
        "--data", metavar="FOLDER", help="scaling: files of VFR; default: $DPBB_DATA"
    )
    parser.add_argument(
        "--campaigns",
        nargs="+",
        default=[],
        metavar="FOLDER|REPORT.csv",
        help="closed: folders, or tables that dpbb campaign report has written",
    )
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Print the tables as Markdown; returns 0 unless a count is wrong."""
    for name in ("repeat", "limit_s", "threads"):
        if getattr(args, name) is not None and getattr(args, name) <= 0:
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(f"{flag}: expected above 0, got {getattr(args, name)}")
    machine = Machine.this()
    print(f"{machine}; {TIES}")
    record: dict[str, Any] = {"machine": asdict(machine)}
    wrong = False
    if "scaling" in args.part:  # first: its files may not be there
        measured = _scaling(args)
        record["scaling"] = [asdict(one) for one in measured]
        wrong |= multigpu.wrong(measured)
        write_json(args.json, record)
    if "engines" in args.part:
        rates = list(_engines(args))
        record["engines"] = [asdict(rate) for rate in rates]
        wrong |= differ((one.tree, one.nodes) for one in rates if one.complete)
        write_json(args.json, record)
    if "closed" in args.part:
        record["closed"] = _closed(args.campaigns)
        write_json(args.json, record)
    return int(wrong)


# -- Table 1 and Figure 9 ---------------------------------------------------------


def _engines(args: argparse.Namespace) -> Iterator[Rate]:
    print(f"\n{PUBLISHED_ENGINES}\n")
    _head("tree", "UB", "device", "how", "nodes", "s", "M nodes/s", "times one core")
    arms = list(_arms(args.threads))
    for tree in args.trees:
        problem = FlowShopProblem(taillard_instance(tree))
        one_core = None
        for engine, device, how, tuning in arms:
            runs: list[Explored] = []
            while not runs or (runs[-1].over and len(runs) < args.repeat):
                how_long = engine, device, problem, TREES[tree], args.limit_s
                runs.append(explored(*how_long, tuning))
            whole = [run for run in runs if run.over]
            nodes, complete = (whole or runs)[0].nodes, bool(whole)
            seconds = tuple(run.seconds for run in whole or runs)
            median = statistics.median(seconds)
            speed = nodes / median
            one_core = one_core or speed
            about = tree, TREES[tree], device.name, how
            yield Rate(*about, nodes, complete, seconds, speed, speed / one_core)
            _row(
                *about,
                f"{nodes:,}" + ("" if complete else " (part)"),
                f"{median:.3g}",
                f"{speed / 1e6:,.1f}",
                f"{speed / one_core:,.1f}",
            )


def _arms(threads: int | None) -> Iterator[tuple[Engine, Device, str, Tuning]]:
    """One core, all cores, and a GPU, where there is one, with both ways to balance."""
    cpu = get_engine("cpu")
    every = cpu.devices(threads)[0]
    yield cpu, cpu.devices(1)[0], "one core", Tuning()
    if every.threads > 1:
        yield cpu, every, f"{every.threads} threads", Tuning()
    gpu = get_engine("gpu")
    try:
        device = gpu.devices()[0]
    except EngineUnavailable as error:
        print(f"no GPU to measure: {error}")
        return
    for balance in Balance:
        yield gpu, device, f"one GPU, {balance}", Tuning(balance=balance)


# -- Table 2 and Figure 10 --------------------------------------------------------


def _scaling(args: argparse.Namespace) -> list[multigpu.Measurement]:
    try:
        here = len(get_engine("gpu").devices())
    except EngineUnavailable as error:
        print(f"\nno GPU to measure: {error}")
        return []
    parser = argparse.ArgumentParser()
    multigpu.add_arguments(parser)
    given = parser.parse_args(["--trees", *TABLE_2])
    given.gpus = args.gpus or [2**k for k in range(here.bit_length())]
    given.data = args.data
    print()
    return multigpu.measured(given)


# -- Tables 3 to 5 ----------------------------------------------------------------


def _closed(folders: Sequence[str]) -> list[dict[str, Any]]:
    tables = [Path(name) for name in folders if name.endswith(".csv")]
    paths = [Path(name) for name in folders if not name.endswith(".csv")]
    own, doubts = read_all(paths, "--campaigns")
    for doubt in doubts:
        print(doubt)
    records: dict[str, Record] = {}
    for record in (*own, *(row for table in tables for row in _rows(table))):
        if record.status != DOUBTFUL:
            other = records.get(record.instance, record)
            records[record.instance] = best_of(other, record)
    print(
        "\nsolved for the first time there (V100), and by campaigns, whose hosts "
        "their records name, here\n"
    )
    _head(
        *("instance", "optimum", "V100s", "s", "GPU-hours", "nodes"),
        *("here", "s", "GPU-hours", "nodes", "engine", "proof"),
    )
    rows = []
    for name, (gpus, seconds, hours, nodes, optimum) in PUBLISHED_CLOSED.items():
        known = records.get(name)
        rows.append(
            {"instance": name, "here": None if known is None else asdict(known)}
        )
        published = name, optimum, gpus, f"{seconds:,}", hours, f"{nodes:.3g}"
        if known is None or not known.attempts:
            _row(*published, "not tried", "-", "-", "-", "-", "-")
            continue
        best = known.makespan if known.proved else None  # a cutoff has no schedule
        found = f">= {known.lower_bound:,}" if best is None else f"{best:,}"
        explored = known.decomposed + known.leaves
        _row(
            *published,
            *(found, f"{known.seconds:.1f}", f"{known.gpu_seconds / 3600:.3g}"),
            *(f"{explored:.2g}", known.engine, known.proof),
        )
    vfr = [one for one in records.values() if one.instance.startswith("VFR")]
    if vfr:
        print(f"\n{PUBLISHED_VFR}; here\n\n{as_table(CLASS_COLUMNS, classes(vfr))}")
    return rows


def _rows(file: Path) -> list[Record]:
    """Return the instances of a report, without their schedules."""

    def number(text: str) -> int | None:
        return int(text) if text else None

    def record(row: dict[str, str]) -> Record:
        n_jobs, n_machines = map(int, row["size"].split("x"))
        return Record(
            source=str(file),
            instance=row["instance"],
            digest="",
            n_jobs=n_jobs,
            n_machines=n_machines,
            status=row["status"],
            makespan=number(row["makespan"]),
            best_lower=number(row["best_lower"]),
            best_upper=number(row["best_upper"]),
            lower_bound=int(row["lower_bound"] or 0),
            decomposed=int(row["nodes"]),
            seconds=float(row["seconds"]),
            gpu_seconds=float(row["gpu_hours"] or 0) * 3600,
            engine=row["engine"],
            proof=row["proof"],
            attempts=int(row["attempts"]),
        )

    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return [record(row) for row in csv.DictReader(lines)]
    except (OSError, KeyError, ValueError) as error:
        raise OptionError(
            f"--campaigns: expected a report, got {file}: {error}"
        ) from error


def _head(*names: str) -> None:
    _row(*names)
    print("|" + "---|" * len(names), flush=True)


def _row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
