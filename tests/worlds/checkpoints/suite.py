"""How large the checkpoints of real seats are, and what every step of them takes.

Seats of one process share a tree, as they do in a run: the first explores for a moment,
and gives roots to the others. After some seconds every seat, in a thread of its own,
does what a checkpoint asks it for: it works deepest nodes first for a moment, lists its
open roots (the device's merged with those in the explorers' hands) and packs them. Then
the report is checked and its roots are compressed, as the scheduler does, and written
to a file. The longest of all seats counts.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import dpbb
from dpbb.cluster.worker.exploration import FEW_ROOTS, MOST_SHRINKING_S, SHRINKING_SHARE
from dpbb.coordination.ledger import LeaseBasis, check_full_report
from dpbb.coordination.messages import FullReport, LeaseId, Report
from dpbb.coordination.sections import encode_roots
from dpbb.coordination.wire import decode_report, encode_report
from dpbb.engines import get_engine
from dpbb.errors import OptionError
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options import TreeOptions, Tuning
from dpbb.tree.counters import Counters
from dpbb.tree.packed_paths import prepare
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from dpbb.engines.base import Device, Engine
    from dpbb.problem import Problem

TREES = ["VFR30_20_5@2672", "VFR30_20_10@2805", "ta056@3679"]
"""Instances and cutoffs whose frontiers on GPUs are among the largest known."""

STEPS = ("shrink", "list", "pack", "check", "compress", "write")
SLICE_S = 0.2
WARM_S = 1.0
FIRST_GIFT = 4096
TRIALS = 100
"""Slices in which there have to be roots to give to another seat."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the seats of a tree have shown; the longest or the largest of them.

    Parameters
    ----------
    rate
        Nodes a second, of all seats together.
    open_roots, saved_roots
        Of a seat, before it works deepest nodes first, and after that.
    n_bytes
        Of a seat's section, compressed.
    seconds
        Of every step.
    first_list_s
        Of the first long list of the seats, after a second: code for it is compiled.
    """

    tree: str
    engine: str
    seats: int
    rate: float
    open_roots: int
    saved_roots: int
    n_bytes: int
    seconds: dict[str, float]
    first_list_s: float


@dataclass(slots=True)
class Seat:
    """One session, what it was given, and what it has counted."""

    problem: Problem[Any]
    session: Any
    loaded: WorkUnit
    donated: WorkUnit
    counters: Counters
    open_roots: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def open(
        cls, engine: Engine, problem: Problem[Any], device: Device, ub: int
    ) -> Seat:
        """Open a session with nothing in it."""
        session = engine.open(
            problem, TreeOptions(), device, ub=ub, tuning=Tuning(slice_s=SLICE_S)
        )
        none = WorkUnit.empty(problem.n_jobs)
        return cls(problem, session, none, none, Counters.zero(problem.n_jobs))

    def load(self, unit: WorkUnit) -> None:
        """Take a unit, the only one."""
        self.session.load(unit)
        self.loaded = unit

    def advance(self, ub: int, seconds: float, most_roots: int | None = None) -> None:
        """Explore for some seconds, slice by slice, or for one that shrinks."""
        end = time.monotonic() + seconds
        while True:
            slice_s = SLICE_S if most_roots is None else seconds
            part = self.session.advance(ub, slice_s, most_roots)
            self.counters = self.counters.plus(
                part.decomposed, part.leaves, part.closed
            )
            self.open_roots = part.open_roots
            if part.exhausted or most_roots is not None or time.monotonic() >= end:
                return

    def give(self) -> WorkUnit:
        """Give away about half of what is open."""
        given: WorkUnit = self.session.donate(FIRST_GIFT)
        self.donated = WorkUnit.concatenate([self.donated, given])
        return given

    def list_all(self) -> float:
        """List what is open, for the time that it takes; return that."""
        with self._timed("list"):
            self.session.remaining().to_arrays()
        return self.seconds["list"]

    def save(self, ub: int, shrinking_s: float, folder: Path) -> tuple[int, int]:
        """Do all that a checkpoint takes; return roots and bytes of it."""
        if self.open_roots > FEW_ROOTS:
            with self._timed("shrink"):
                self.advance(ub, shrinking_s, FEW_ROOTS)
        with self._timed("list"):
            remaining = self.session.remaining()
        closed = np.array(self.counters.closed, np.int64)
        report = Report(
            lease=LeaseId("1"),
            seq=1,
            decomposed=self.counters.decomposed,
            leaves=self.counters.leaves,
            open_roots=len(remaining),
            least_lb=None,
            best=None,
            full=FullReport(closed, remaining, self.donated, last=False),
        )
        with self._timed("pack"):
            message = encode_report(report)
        with self._timed("check"):
            basis = LeaseBasis.start(LeaseId("1"), self.problem, self.loaded)
            report = decode_report(message)
            check_full_report(basis, report)
        if report.full is None:
            raise TypeError("expected a full report")
        with self._timed("compress"):
            content = encode_roots(report.full.remaining)
        with self._timed("write"), tempfile.NamedTemporaryFile(dir=folder) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return len(remaining), len(content)

    def _timed(self, step: str) -> _Timed:
        return _Timed(self.seconds, step)


class _Timed:
    """Notes how long its block takes."""

    def __init__(self, seconds: dict[str, float], step: str) -> None:
        self._seconds, self._step = seconds, step

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._step] = time.monotonic() - self._began


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument(
        "--gpus", type=int, default=1, metavar="N", help="seats, a GPU each (1)"
    )
    parser.add_argument(
        "--engine", default="gpu", help="of the seats; with cpu, a thread each (gpu)"
    )
    parser.add_argument(
        "--instances",
        nargs="+",
        default=TREES,
        metavar="NAME@CUTOFF",
        help=f"trees ({' '.join(TREES)})",
    )
    parser.add_argument(
        "--seconds", type=float, default=8.0, help="of exploring before it (8)"
    )
    parser.add_argument(
        "--interval",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="between checkpoints: says how long seats work deepest first (30)",
    )
    parser.add_argument("--data", metavar="FOLDER", help="VRF files")
    parser.add_argument("--json", type=Path, help="file of all rows")


def run(args: argparse.Namespace) -> int:
    """Measure all trees; returns 0."""
    if args.gpus < 1 or args.seconds <= 0 or args.interval <= 0:
        raise OptionError("--gpus, --seconds, --interval: expected > 0")
    trees = [_tree(text, args.data) for text in args.instances]
    engine = get_engine(args.engine)
    prepare()
    if args.engine == "cpu":
        devices = engine.devices(1) * args.gpus
    else:
        devices = engine.devices()[: args.gpus]
    if len(devices) < args.gpus:
        raise OptionError(f"--gpus: expected at most {len(devices)}, got {args.gpus}")
    print(
        "seats | tree             |  G nodes/s | open roots a seat, then |   MB a seat"
        f" | seconds: {', '.join(STEPS)}; all but shrink"
    )
    rows = []
    for text, problem, cutoff in trees:
        row = measured(text, problem, cutoff, engine, devices, args)
        rows.append(row)
        print(line(row), flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


def _tree(text: str, data: str | None) -> tuple[str, FlowShopProblem, int]:
    name, _, cutoff = text.partition("@")
    if not cutoff.isdecimal():
        raise OptionError(f"--instances: expected NAME@CUTOFF, got {text!r}")
    instance = dpbb.read_instance(name, data_dir=data)
    return text, FlowShopProblem(instance), int(cutoff)


def measured(
    text: str,
    problem: Problem[Any],
    cutoff: int,
    engine: Engine,
    devices: list[Device],
    args: argparse.Namespace,
) -> Row:
    """Have a seat on every device explore a part of a tree, then save all of it."""
    with (
        ThreadPoolExecutor(len(devices)) as threads,
        tempfile.TemporaryDirectory() as at,
    ):
        seats = list(
            threads.map(lambda d: Seat.open(engine, problem, d, cutoff), devices)
        )
        try:
            _share(seats, cutoff)
            list(threads.map(lambda s: s.advance(cutoff, WARM_S), seats))
            first_list_s = max(threads.map(Seat.list_all, seats))
            began, before = time.monotonic(), sum(s.counters.nodes for s in seats)
            list(threads.map(lambda s: s.advance(cutoff, args.seconds), seats))
            nodes = sum(s.counters.nodes for s in seats) - before
            rate = nodes / (time.monotonic() - began)
            open_roots = max(s.open_roots for s in seats)
            shrinking_s = min(SHRINKING_SHARE * args.interval, MOST_SHRINKING_S)
            saved = list(
                threads.map(lambda s: s.save(cutoff, shrinking_s, Path(at)), seats)
            )
        finally:
            for seat in seats:
                seat.session.close()
    seconds = {n: max(s.seconds.get(n, 0.0) for s in seats) for n in STEPS}
    return Row(
        tree=text,
        engine=engine.name,
        seats=len(seats),
        rate=rate,
        open_roots=open_roots,
        saved_roots=max(n_roots for n_roots, _ in saved),
        n_bytes=max(n_bytes for _, n_bytes in saved),
        seconds=seconds,
        first_list_s=first_list_s,
    )


def _share(seats: list[Seat], cutoff: int) -> None:
    """Load the whole tree into the first seat, and a part of that into each other."""
    first, *others = seats
    first.load(WorkUnit.whole(first.problem.n_jobs))
    first.advance(cutoff, SLICE_S)
    for seat in others:
        for given in _gifts(first, cutoff):
            if len(given):
                seat.load(given)
                break
        else:
            raise OptionError("--instances: expected a tree with roots for all seats")


def _gifts(seat: Seat, cutoff: int) -> Iterator[WorkUnit]:
    for _ in range(TRIALS):
        yield seat.give()
        seat.advance(cutoff, SLICE_S)


def line(row: Row) -> str:
    """Return a row of the table."""
    steps = ", ".join(f"{row.seconds[name]:.3f}" for name in STEPS)
    rest = sum(row.seconds[name] for name in STEPS[1:])
    return (
        f"{row.seats:5} | {row.tree:16} | {row.rate / 1e9:10.4f} | "
        f"{row.open_roots:12,} {row.saved_roots:10,} | {row.n_bytes / 1e6:11.3f} | "
        f"{steps}; {rest:.3f} | first list {row.first_list_s:.3f}"
    )
