"""Tables and a picture of ``dpbb bench lb2``'s files, beside the founding papers'."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from dpbb.bench.lb2_arms import POOLS
from dpbb.bench.lb2_lists import CLASSES, size_of
from dpbb.flowshop.models.pool import PoolFlowShop
from dpbb.flowshop.models.pool_cuda import tables_of
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions

PAPERS: dict[str, dict[str, tuple[float, ...]]] = {
    "Chakroun III, basic": {
        "200x20": (42.83, 56.23, 57.68, 61.21, 66.75, 68.30, 71.69),
        "100x20": (42.59, 56.18, 57.53, 60.95, 65.52, 65.70, 65.97),
        "50x20": (42.57, 56.15, 55.69, 55.49, 55.39, 55.27, 55.14),
        "20x20": (38.74, 46.47, 45.37, 41.92, 39.55, 38.90, 38.40),
    },
    "Chakroun IV, sorted": {
        "200x20": (44.04, 57.67, 60.13, 63.10, 68.94, 71.23, 74.20),
    },
    "Chakroun V, refactored; Melab II": {
        "200x20": (46.63, 60.88, 63.80, 67.51, 73.47, 75.94, 77.46),
        "100x20": (45.35, 58.49, 60.15, 62.75, 66.49, 66.64, 67.01),
        "50x20": (44.39, 58.30, 57.72, 57.68, 57.37, 57.01, 56.42),
        "20x20": (41.71, 50.28, 49.19, 45.90, 42.03, 41.80, 41.65),
    },
    "Melab III, JM and PTM shared": {
        "200x20": (66.13, 87.34, 88.86, 95.23, 98.83, 99.89, 100.48),
        "100x20": (65.85, 86.33, 87.60, 89.18, 91.41, 92.02, 92.39),
        "50x20": (64.91, 81.50, 78.02, 74.16, 73.83, 73.25, 72.71),
        "20x20": (53.64, 61.47, 59.55, 51.39, 47.40, 46.53, 46.37),
    },
}
"""Speed-ups of a Tesla C2050 over a core of a Xeon E5520, by pool."""

PAPERS_THREADS = {
    "200x20": (4.03, 6.98, 8.76, 9.04, 9.32),
    "20x20": (4.43, 7.35, 9.22, 10.04, 10.85),
}
"""Speed-ups of 3, 5, 7, 9 and 11 threads of an i7-970."""

PAPERS_SHARE = {"200x20": 97.16, "100x20": 98.55, "50x20": 98.76, "20x20": 98.79}
"""Percent of the sequential time that is bounding."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """Theoretical peaks and powers, where they are known."""

    core_gflops: float | None = None
    gpu_gflops: float | None = None
    core_watts: float | None = None
    gpu_watts: float | None = None


def print_report(paths: Sequence[Path], peaks: Peaks, plot: Path | None) -> None:
    """Print tables of files of ``--part arms`` and ``--part trees``; draw a picture."""
    arms: list[dict[str, Any]] = []
    trees: dict[Any, dict[str, Any]] = {}  # files that go on from one have its rows
    for path in paths:
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, list):
            arms += data
        else:
            for row in data["rows"]:
                key = row["instance"], row["branching"], row["how"], row["pool"]
                trees[key] = row
    _print_structures()
    _print_arms([row for row in arms if "pool" in row])
    if trees:
        _print_trees(list(trees.values()), peaks)
    if plot is not None:
        draw(arms, plot)


def structures(size: str) -> list[tuple[str, int, str]]:
    """Name, bytes, and reads for each node of the papers' six structures.

    Reads of a node with n' unscheduled jobs of n, m machines and P pairs of them, when
    all pairs are looked at.
    """
    problem = FlowShopProblem(taillard_instance(f"ta{CLASSES[size]:03}"), "lb2")
    tables = tables_of(PoolFlowShop(problem, TreeOptions(bound="lb2")))
    m = problem.n_machines
    return [
        ("PTM", tables.ptm.nbytes, "2 n' P"),
        ("JM", tables.jm.nbytes, "n P"),
        ("LM", tables.lm.nbytes, "n' P"),
        ("MM", tables.mm.nbytes, "2 P"),
        ("RM", 4 * m, "2 P"),
        ("QM", 4 * m, "2 P"),
    ]


def _print_structures() -> None:
    print("bytes of the structures (RM and QM: of each node), reads for each node")
    sizes = {size: structures(size) for size in CLASSES}
    print(f"{'':<6}" + "".join(f"{size:>9}" for size in sizes) + "  reads")
    for index, (name, _, reads) in enumerate(next(iter(sizes.values()))):
        cells = "".join(f"{rows[index][1]:>9}" for rows in sizes.values())
        print(f"{name:<6}{cells}  {reads}")


def _print_arms(rows: Iterable[dict[str, Any]]) -> None:
    """Speed-ups of off-loaded bounding over a core, by class, arm and pool."""
    found: defaultdict[str, dict[tuple[Any, ...], dict[int, float]]] = defaultdict(dict)
    for row in rows:
        kernel = "registers", "shared_bytes", "active_warps"
        key = row["arm"], row["block_size"], *(row[name] for name in kernel)
        found[row["size"]].setdefault(key, {})[row["pool"]] = row["speed_up"]
    for size, arms in found.items():
        print(f"\n{size}: bounds of random nodes, speed-up over one scalar core")
        head = "".join(f"{pool:>8}" for pool in POOLS)
        print(f"{'arm':<38}{'threads':>8}{'regs':>6}{'shared':>8}{'warps':>6}{head}")
        for (arm, *facts), by_pool in arms.items():
            threads, registers, shared, warps = facts
            cells = _cells(by_pool.get(pool) for pool in POOLS)
            print(f"{arm:<38}{threads:>8}{registers:>6}{shared:>8}{warps:>6}{cells}")
        _print_papers(size)


def _print_papers(size: str) -> None:
    for name, table in PAPERS.items():
        if size in table:
            print(f"{name:<66}{_cells(table[size])}")


def _print_trees(rows: list[dict[str, Any]], peaks: Peaks) -> None:
    cores = {
        (row["instance"], row["branching"]): row for row in rows if row["how"] == "core"
    }
    found: defaultdict[tuple[str, str], dict[str, dict[Any, list[float]]]]
    found = defaultdict(dict)
    shares: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    seconds: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for (instance, branching), core in cores.items():
        key = size_of(instance), branching
        seconds[key].append(core["seconds"][0])
        shares[key].append(100 * core["bounding_s"] / core["seconds"][0])
    for row in rows:
        base = cores.get((row["instance"], row["branching"]))
        if base is None or row["how"] == "core" or not row["exact"]:
            continue
        speed_up = base["seconds"][0] / median(row["seconds"])
        key = size_of(row["instance"]), row["branching"]
        found[key].setdefault(row["how"], {}).setdefault(row["pool"], []).append(
            speed_up
        )
    for key, hows in found.items():
        size, branching = key
        times, theirs = seconds[key], PAPERS_SHARE[size]
        print(f"\n{size}, {branching}: trees, speed-up over one scalar core")
        print(
            f"{len(times)} lists of {min(times):.0f} to {max(times):.0f} s there, "
            f"{fmean(shares[key]):.1f} % of it bounding (papers: {theirs} %)"
        )
        head = "".join(f"{pool:>8}" for pool in POOLS)
        print(f"{'how':<60}{'lists':>6}{head}")
        for how, by_pool in hows.items():
            if None in by_pool:
                values = by_pool[None]
                print(f"{how:<60}{len(values):>6}{fmean(values):>8.1f}")
                continue
            means = {pool: fmean(values) for pool, values in by_pool.items()}
            most = max(map(len, by_pool.values()))
            print(f"{how:<60}{most:>6}{_cells(means.get(pool) for pool in POOLS)}")
            _print_equal(max(means.values()), peaks)
        _print_papers(size)
        if size in PAPERS_THREADS:
            print(f"{'papers: 3, 5, 7, 9, 11 threads':<66}", *PAPERS_THREADS[size])


def _print_equal(speed_up: float, peaks: Peaks) -> None:
    """Say what is left of a speed-up beside as many cores as have the GPU's peak."""
    for what, core, gpu in (
        ("theoretical peak", peaks.core_gflops, peaks.gpu_gflops),
        ("watts", peaks.core_watts, peaks.gpu_watts),
    ):
        if core and gpu:
            cores = gpu / core
            print(f"  at equal {what}: {speed_up / cores:.2f} x {cores:.0f} cores")


def _cells(values: Iterable[float | None]) -> str:
    return "".join(f"{'':>8}" if v is None else f"{v:>8.1f}" for v in values)


def draw(arms: Iterable[dict[str, Any]], path: Path) -> None:
    """Draw bounds a second by pool, a line for each class and some arms."""
    from dpbb.plotting import style

    shown = {"basic": "--", "sorted, tables shared": "-", "parents": ":"}
    found: defaultdict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for row in arms:
        if row.get("arm") in shown:
            found[row["size"], row["arm"]].append((row["pool"], row["speed_up"]))
    figure, ax = style.new_figure((7.0, 4.2))
    colors = {size: f"C{index}" for index, size in enumerate(CLASSES)}
    for (size, arm), points in found.items():
        ax.plot(
            *zip(*sorted(points), strict=True),
            *(shown[arm],),
            color=colors[size],
            label=f"{size}, {arm}",
        )
    for size, values in PAPERS["Melab III, JM and PTM shared"].items():
        ax.plot(POOLS, values, "x", color=colors[size])
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlabel("pool")
    ax.set_ylabel("speed-up over one scalar core (x: Melab 2012)")
    ax.legend(fontsize="x-small", ncols=2)
    figure.savefig(path)
