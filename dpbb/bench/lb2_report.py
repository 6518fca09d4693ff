"""Tables and a picture of ``dpbb bench lb2``'s files, beside the founding papers'."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

from dpbb.bench.lb2_arms import POOLS
from dpbb.bench.lb2_lists import CLASSES, size_of
from dpbb.bench.lb2_trees import LIST_KEY, NOT_WRITTEN, not_written
from dpbb.errors import OptionError
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
        "200x20": (44.04, 57.67, 60.13, 63.10, 68.94, 71.23, 74.20)
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

PAPERS_COUNTS = (3, 5, 7, 9, 11)

PAPERS_SHARE = {"200x20": 97.16, "100x20": 98.55, "50x20": 98.76, "20x20": 98.79}
"""Percent of the sequential time that is bounding."""


RULES = {"minmin": "trees, both sides", "front": "trees, the front alone"}

Lines = defaultdict[tuple[str, str], list[tuple[int, float]]]
"""Points of pool and speed-up, by class and way."""

ByPool = dict[int | None, dict[str, float]]
"""Speed-ups by pool and instance."""

Equal = tuple[str, float | None, float | None]
"""What is equal, and how much of it a core and a GPU have, where that is known."""

GPU_PEAKS: dict[str | None, tuple[float | None, float | None]] = {
    "NVIDIA H200": (34_000.0, 700.0)
}
"""GFLOPS in double precision, as the papers', and watts, of NVIDIA's data sheet."""


def print_report(
    paths: Sequence[Path],
    core_gflops: float | None,
    core_watts: float | None,
    plot: Path | None,
) -> None:
    """Print tables of files of ``--part arms`` and ``--part trees``; draw a picture.

    Of rows of the same thing the last counts: files that go on from one have its rows.
    """
    arms: dict[Any, dict[str, Any]] = {}
    files: list[list[dict[str, Any]]] = []
    trees: dict[tuple[str, str], Trees] = {}
    peaks: tuple[float | None, float | None] = None, None
    for path in paths:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(data, list):
                for row in data:
                    if "pool" in row:
                        arms[row["size"], row["arm"], row["pool"]] = row
                continue
            peaks = GPU_PEAKS.get(data["host"].get("gpu"), peaks)
            files.append(data["rows"])
            trees = trees_of(files)
        except NOT_WRITTEN as error:
            raise not_written(path, error) from error
    _print_structures()
    _print_arms(arms.values())
    equals = [
        ("theoretical peak", core_gflops, peaks[0]),
        ("watts", core_watts, peaks[1]),
    ]
    _print_trees(trees, equals)
    if plot is not None:
        draw(arms.values(), trees, plot)


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


@dataclass(frozen=True, slots=True)
class Trees:
    """What rows say of the lists of one class and rule.

    Parameters
    ----------
    seconds, shares
        Of every instance's list on a core, and percent of it in bounding.
    speed_ups
        By way, pool and instance.
    watts
        Of the GPU, by way, and by pool and instance.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    speed_ups: defaultdict[str, ByPool] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    watts: defaultdict[str, dict[tuple[int | None, str], float]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    @property
    def threads(self) -> dict[int, list[float]]:
        """Speed-ups of threads with SIMD, by their number."""
        found = self.speed_ups.items()
        return {
            int(how.split()[0]): list(by[None].values())
            for how, by in found
            if None in by
        }


def trees_of(files: Iterable[Iterable[dict[str, Any]]]) -> dict[tuple[str, str], Trees]:
    """Return what rows of files say, by class and rule; wrong counts are left out.

    A speed-up is over the core that explored the same list, in the same file, as hosts
    differ, or in one before it.
    """
    found: defaultdict[tuple[str, str], Trees] = defaultdict(Trees)
    cores: dict[tuple[Any, ...], dict[str, Any]] = {}
    for file in files:
        rows = [row for row in file if row["exact"]]
        cores |= {_list_of(row): row for row in rows if row["how"] == "core"}
        for row in rows:
            instance, branching, how, pool = (
                row[name] for name in ("instance", "branching", "how", "pool")
            )
            core = cores.get(_list_of(row))
            if core is None:
                continue
            trees, seconds = found[size_of(instance), branching], core["seconds"][0]
            if how == "core":
                trees.seconds[instance] = seconds
                trees.shares[instance] = 100 * core["bounding_s"] / seconds
                continue
            trees.speed_ups[how][pool][instance] = seconds / median(row["seconds"])
            if row.get("watts"):
                trees.watts[how][pool, instance] = row["watts"]
    return dict(found)


def _list_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in LIST_KEY)


def _print_trees(found: dict[tuple[str, str], Trees], equals: Sequence[Equal]) -> None:
    for (size, branching), trees in sorted(found.items()):
        times, theirs = trees.seconds.values(), PAPERS_SHARE[size]
        print(f"\n{size}, {branching}: trees, speed-up over one scalar core (lists)")
        print(
            f"{len(times)} lists of {min(times):.0f} to {max(times):.0f} s there, "
            f"{fmean(trees.shares.values()):.1f} % of it bounding (papers: {theirs} %)"
        )
        print(f"{'how':<50}" + "".join(f"{pool:>11}" for pool in POOLS))
        for how, by_pool in trees.speed_ups.items():
            if None not in by_pool:
                _print_pools(how, by_pool)
                same = _of_the_same_lists(by_pool)
                if any(len(by) > len(same[pool]) for pool, by in by_pool.items()):
                    _print_pools(f"{how}, lists with all of these pools", same)
        for name, table in PAPERS.items():
            if size in table:
                cells = "".join(f"{value:>7.1f}    " for value in table[size])
                print(f"{'papers: ' + name:<50}{cells}")
        _print_threads(size, trees)
        _print_equal(trees, equals)


def _print_pools(how: str, by_pool: ByPool) -> None:
    found = [by_pool.get(pool, {}) for pool in POOLS]
    print(f"{how:<50}" + "".join(_mean(list(by.values())) for by in found))


def _of_the_same_lists(by_pool: ByPool) -> ByPool:
    """Leave out the lists that were not explored with all of the pools."""
    lists = set.intersection(*map(set, by_pool.values()))
    return {pool: {name: by[name] for name in lists} for pool, by in by_pool.items()}


def _print_threads(size: str, trees: Trees) -> None:
    counts = sorted(trees.threads)
    if not counts:
        return
    print(f"{'threads with SIMD':<50}" + "".join(f"{count:>11}" for count in counts))
    print(f"{'':<50}" + "".join(_mean(trees.threads[count]) for count in counts))
    if size in PAPERS_THREADS:
        theirs = dict(zip(PAPERS_COUNTS, PAPERS_THREADS[size], strict=True))
        cells = (f"{theirs[t]:>7.2f}    " if t in theirs else 11 * " " for t in counts)
        print(f"{'papers: threads':<50}" + "".join(cells))


def _print_equal(trees: Trees, equals: Sequence[Equal]) -> None:
    """Say what is left of speed-ups beside as many cores as have the GPU's peak."""
    _, core_watts, _ = equals[-1]
    for how, by_pool in trees.speed_ups.items():
        if None in by_pool:
            continue
        lists = max(len(by) for by in by_pool.values())
        means = {p: fmean(by.values()) for p, by in by_pool.items() if len(by) == lists}
        pool = max(means, key=lambda p: means[p])
        best = means[pool]
        watts = [w for (p, _), w in trees.watts.get(how, {}).items() if p == pool]
        measured = fmean(watts) if watts else None
        said = [
            f"{what} ({gpu / core:.0f} cores) {best * core / gpu:.2f}"
            for what, core, gpu in (
                *equals,
                ("the GPU's measured watts", core_watts, measured),
            )
            if core and gpu
        ]
        if said:
            print(f"{how}, over as many cores of equal {', '.join(said)}")


def _mean(values: list[float]) -> str:
    if not values:
        return 11 * " "
    return f"{fmean(values):>6.1f} {f'({len(values)})':<4}"


def _cells(values: Iterable[float | None]) -> str:
    return "".join(f"{'':>8}" if v is None else f"{v:>8.1f}" for v in values)


def draw(
    arms: Iterable[dict[str, Any]], trees: dict[tuple[str, str], Trees], path: Path
) -> None:
    """Draw speed-ups by pool, a line for each class: of bounds, and of trees."""
    from dpbb.plotting import style

    bounds: Lines = defaultdict(list)
    for row in arms:
        if row["arm"] in ("sorted, tables shared", "parents"):
            bounds[row["size"], row["arm"]].append((row["pool"], row["speed_up"]))
    panels: dict[str, Lines] = {"bounds alone": bounds}
    panels |= {title: defaultdict(list) for title in RULES.values()}
    for (size, rule), found in trees.items():
        for how in {"tables, refactored", "parents"} & found.speed_ups.keys():
            for pool, by in _of_the_same_lists(found.speed_ups[how]).items():
                if pool is not None and by:
                    panels[RULES[rule]][size, how].append((pool, fmean(by.values())))
    panels = {title: lines for title, lines in panels.items() if lines}
    if not panels:
        raise OptionError("--plot: expected files with rows, got none to draw")
    figure, whole = style.new_figure((4.6 * len(panels), 4.0))
    whole.remove()
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, (title, lines) in zip(axes, panels.items(), strict=True):
        _draw_lines(ax, lines)
        ax.set_title(title)
    axes[0].set_ylabel("speed-up over one scalar core")
    figure.savefig(path, bbox_inches="tight")


def _draw_lines(ax: Any, lines: Lines) -> None:
    colors = {size: f"C{index}" for index, size in enumerate(CLASSES)}
    for (size, how), points in sorted(lines.items()):
        ax.plot(
            *zip(*sorted(points), strict=True),
            "." + (":" if how == "parents" else "-"),
            color=colors[size],
            label=f"{size}, {how}",
        )
    for size, values in PAPERS["Melab III, JM and PTM shared"].items():
        ax.plot(POOLS, values, "x", color=colors[size])
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlabel("pool (x: Melab 2012, JM and PTM shared)")
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16)}
    ax.legend(fontsize="x-small", ncols=2, **below)
