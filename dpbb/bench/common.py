"""What suites share: the machine, a measured tree and its row, checks, the file."""

from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

import dpbb
from dpbb.engines import nvml
from dpbb.engines.base import SLICE_S, Device, Engine, explore_to_end
from dpbb.engines.cpu.engine import processor_name
from dpbb.kernels.cores import physical_cores
from dpbb.options import BranchingRule, TreeOptions, Tuning, kinds
from dpbb.problem import Problem, bound_of, instance_name_of
from dpbb.text.files import check_writable
from dpbb.text.json_text import json_text
from dpbb.tree.branching import rules_of
from dpbb.tree.work_unit import WorkUnit


def add_common(
    parser: argparse.ArgumentParser,
    trees: Mapping[str, Any],
    default: Sequence[str],
    repeat: int,
) -> None:
    """Add the trees, how often each is explored, and the file."""
    add = parser.add_argument
    add("--trees", nargs="+", choices=trees, default=default, help="which trees")
    add("--repeat", type=int, default=repeat, help="runs of each tree")
    add("--json", type=Path, default=None, help="also write this file")


def check_counts(args: argparse.Namespace, *names: str) -> None:
    """Raise OptionError where one of these numbers, or lists of them, is below 1."""
    for name in names:
        given = getattr(args, name)
        least = min(given) if isinstance(given, list) else given
        kinds.whole(1).check(least, f"--{name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """All repetitions of one tree at a fixed upper bound, with one way to explore it.

    Parameters
    ----------
    tree, instance, digest, ub
        The minmin tree {LB < ub} of an instance, and what the suite calls it.
    engine, device
        What explored.
    nodes, exact
        Decomposed nodes and leaves, and whether that is the known number; None if it is
        not known, or a limit came first.
    seconds
        Of each repetition.
    more
        Further figures of the suite, by name: numbers, texts, or None.
    """

    tree: str
    instance: str
    digest: str
    ub: int
    engine: str
    device: str
    nodes: int
    exact: bool | None
    seconds: tuple[float, ...]
    more: dict[str, Any]

    @property
    def nodes_per_s(self) -> float:
        """By the median of the repetitions."""
        return self.nodes / statistics.median(self.seconds)

    def row(self) -> str:
        """Return a line of the table; see ``HEADER``."""
        exact = {True: "yes", False: "NO", None: "-"}[self.exact]
        median, least, most = (of(self.seconds) for of in (statistics.median, min, max))
        more = ", ".join(f"{name} {_plain(value)}" for name, value in self.more.items())
        return (
            f"{self.tree:<12}{self.instance:<12}{self.ub:>6}  {self.engine:<9}"
            f"{self.nodes:>16,}{exact:>6}{len(self.seconds):>5}{median:>10.3f}{least:>10.3f}{most:>10.3f}"
            f"{self.nodes_per_s / 1e6:>11.2f}  {more}"
        )

    def to_mapping(self) -> dict[str, Any]:
        """All figures, those of the suite beside the others, for JSON."""
        values = asdict(self)
        more = values.pop("more")
        return values | {"nodes_per_s": self.nodes_per_s} | more


def measurement(
    tree: str,
    problem: Problem[Any],
    ub: int,
    device: Device,
    runs: Sequence[Explored],
    known: int | None,
    **more: Any,
) -> Measurement:
    """Return the figures of a tree that an engine explored; see ``Measurement``."""
    counts, whole = {run.nodes for run in runs}, all(run.over for run in runs)
    return Measurement(
        tree=tree,
        instance=instance_name_of(problem),
        digest=problem.digest,
        ub=ub,
        engine={"cuda": "gpu"}.get(device.kind, device.kind),
        device=device.name,
        nodes=runs[0].nodes,
        exact=counts == {known} if whole and known is not None else None,
        seconds=tuple(run.seconds for run in runs),
        more=more,
    )


HEADER = (
    "tree        instance        ub  engine              nodes exact runs  median s"
    "     least      most  M nodes/s"
)


def _plain(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def report(measured: Iterable[Measurement], path: Path | None, *, on: str = "") -> int:
    """Print each measurement as it comes, and write all; 1 if a count is wrong.

    ``on``: what explored, where it is not this machine's processor.
    """
    if path is not None:
        check_writable(path, "--json")
    machine, found = Machine(), list[Measurement]()
    print(f"{machine}{on and '; '}{on}")
    print(HEADER, flush=True)
    for one in measured:
        found.append(one)
        print(one.row(), flush=True)
        if path is not None:
            rows = [row.to_mapping() for row in found]
            path.write_text(json_text({"machine": machine, "rows": rows}))
    return int(any(one.exact is False for one in found))


@dataclass(frozen=True, slots=True)
class Machine:
    """What runs this, and how busy it is: figures of two machines do not compare."""

    processor: str = field(default_factory=processor_name)
    cores: int = field(default_factory=physical_cores)
    load: float = field(default_factory=lambda: os.getloadavg()[0])
    system: str = field(default_factory=platform.platform)
    python: str = field(default_factory=platform.python_version)
    numba: str = numba.__version__
    numpy: str = np.__version__
    dpbb: str = dpbb.__version__

    def __str__(self) -> str:
        return f"{self.processor}, {self.cores} cores, load {self.load:.1f}"


class Explored(NamedTuple):
    """Nodes of a tree, or of its beginning, and what they took without the opening.

    ``statistics``: of the session, of a GPU; ``joules``: where its driver says.
    """

    decomposed: int
    leaves: int
    over: bool
    seconds: float
    statistics: Mapping[str, float]
    joules: float | None

    @property
    def nodes(self) -> int:
        """Of both kinds."""
        return self.decomposed + self.leaves


def explored(
    engine: Engine,
    device: Device,
    problem: Problem[Any],
    ub: int,
    most_s: float = math.inf,
    tuning: Tuning | None = None,
) -> Explored:
    """Explore the tree of a problem, minmin where it has two ends, for so long."""
    rules = rules_of(problem)
    rule = BranchingRule.MINMIN if BranchingRule.MINMIN in rules else rules[0]
    tree = TreeOptions(bound=bound_of(problem), branching=rule)
    session = engine.open(problem, tree, device, ub=ub, tuning=tuning)
    try:
        session.load(WorkUnit.whole(problem.n_jobs))
        before, began = nvml.energy_j(device.uuid), time.perf_counter()
        total = explore_to_end(
            session,
            ub,
            getattr(session, "slice_s", SLICE_S),
            lambda *_: time.perf_counter() - began >= most_s,
        )
        seconds = time.perf_counter() - began
        after = nvml.energy_j(device.uuid)
        joules = None if before is None or after is None else after - before
        statistics = dict(getattr(session, "statistics", {}))
    finally:
        session.close()
    counts, over = total.counters, total.exhausted
    return Explored(counts.decomposed, counts.leaves, over, seconds, statistics, joules)
