"""What ``dpbb bench heuristics`` says of its runs: table, checks, a picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

from dpbb.flowshop import FlowShopInstance
from dpbb.flowshop.makespan import makespan
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.plotting import style
from dpbb.text.files import whole_file
from dpbb.text.json_text import json_text

if TYPE_CHECKING:
    from dpbb.bench.heuristics_runs import Run

SEEDS = 5
"""Runs whose median is worth a comparison of two time limits."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One instance, method and time limit: all its seeds.

    Parameters
    ----------
    median, mean, best, worst
        Makespans over the seeds.
    rpd, mean_rpd
        Of the median and of the mean, in percent above ``best_known``.
    slowest_s
        The longest that one took.
    """

    class_name: str
    instance: str
    method: str
    device: str
    threads: int
    limit_s: float
    seeds: int
    best_known: int
    median: float
    mean: float
    best: int
    worst: int
    slowest_s: float

    @property
    def rpd(self) -> float:
        """Percent of the median above the best-known makespan."""
        return self._above(self.median)

    @property
    def mean_rpd(self) -> float:
        """Percent of the mean above the best-known makespan."""
        return self._above(self.mean)

    def above(self) -> tuple[float, float, float, float]:
        """Percent of median, mean, best and worst above the best-known makespan."""
        best, worst = self._above(self.best), self._above(self.worst)
        return self.rpd, self.mean_rpd, best, worst

    def _above(self, value: float) -> float:
        return 100.0 * (value - self.best_known) / self.best_known


@dataclass(frozen=True, slots=True)
class Report:
    """All runs, and what they are together."""

    runs: tuple[Run, ...]
    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Report:
        """Return the report of some runs."""
        groups: defaultdict[tuple[object, ...], list[Run]] = defaultdict(list)
        for run in runs:
            task = run.task
            key = (task.class_name, task.method, task.device, task.threads)
            groups[(*key, task.limit_s, task.instance)].append(run)
        return cls(tuple(runs), tuple(_cell(group) for group in groups.values()))

    def lines(self) -> list[dict[str, object]]:
        """Return the table: a row a class, method and time limit, as mappings."""
        rows: defaultdict[tuple[object, ...], list[Cell]] = defaultdict(list)
        for cell in self.cells:
            where = (cell.class_name, cell.method, cell.device, cell.threads)
            rows[(*where, cell.limit_s)].append(cell)
        names = ("class", "method", "device", "threads", "limit_s")
        table: list[dict[str, object]] = []
        for key, cells in rows.items():
            every = list(zip(*(cell.above() for cell in cells), strict=True))
            shares = dict(
                zip(
                    ("arpd", "arpd_of_means", "arpd_of_best", "arpd_of_worst"),
                    (round(fmean(column), 4) for column in every),
                    strict=True,
                )
            )
            table.append(
                {
                    **dict(zip(names, key, strict=True)),
                    "instances": len(cells),
                    "seeds": min(cell.seeds for cell in cells),
                    **shares,
                    "slowest_s": max(cell.slowest_s for cell in cells),
                }
            )
        return table

    def text(self) -> str:
        """Return table, instances and comparisons for people."""
        lines = [
            "",
            "class        method dev threads  limit  inst seeds   ARPD %  (of means, "
            "best, worst)  slowest",
        ]
        lines += [
            f"{row['class']:<12} {row['method']:<6} {row['device']} "
            f"{row['threads']:>7} {row['limit_s']:>5g} s {row['instances']:>5} "
            f"{row['seeds']:>5} {row['arpd']:>8.3f}  ({row['arpd_of_means']:.3f}, "
            f"{row['arpd_of_best']:.3f}, {row['arpd_of_worst']:.3f}) "
            f"{row['slowest_s']:>12.1f} s"
            for row in self.lines()
        ]
        lines += ["", "instance    method  limit  best known   median     best   RPD %"]
        lines += [
            f"{cell.instance:<11} {cell.method:<6} {cell.limit_s:>4g} s "
            f"{cell.best_known:>11} {cell.median:>8g} {cell.best:>8} {cell.rpd:>7.3f}"
            for cell in sorted(self.cells, key=_place)
        ]
        return "\n".join([*lines, "", *self.comparisons()])

    def comparisons(self) -> list[str]:
        """Say where the median is worse with more time, and how many are not."""
        found: defaultdict[tuple[object, ...], list[Cell]] = defaultdict(list)
        for cell in self.cells:
            key = (cell.instance, cell.method, cell.device, cell.threads)
            found[key].append(cell)
        pairs = [
            pair
            for cells in found.values()
            for pair in pairwise(sorted(cells, key=lambda cell: cell.limit_s))
        ]
        if not pairs:
            return []
        worse = [(short, long) for short, long in pairs if long.median > short.median]
        least = min(cell.seeds for pair in pairs for cell in pair)
        few = "" if least >= SEEDS else f" (of {least} seeds only)"
        return [
            f"median with more time{few}: no worse in {len(pairs) - len(worse)} of "
            f"{len(pairs)} comparisons",
            *(
                f"  worse: {long.instance} {long.method}: {short.median:g} after "
                f"{short.limit_s:g} s, {long.median:g} after {long.limit_s:g} s"
                for short, long in worse
            ),
        ]

    def wrong(self, instances: Mapping[str, FlowShopInstance]) -> list[str]:
        """Return what is wrong: a makespan, or an incumbent that does not improve."""
        found = []
        for run in self.runs:
            task = run.task
            name = f"WRONG: {task.instance} {task.method} seed {task.seed}"
            shop = instances[task.instance]
            exact = makespan(shop.times, run.permutation)
            if exact != run.value:
                found.append(f"{name}: {run.value} is said of a schedule of {exact}")
            values = [value for _, value, _ in run.trajectory]
            times = [second for second, _, _ in run.trajectory]
            falls = all(old > new for old, new in pairwise(values))
            if not falls or times != sorted(times) or values[-1:] != [run.value]:
                found.append(f"{name}: not every incumbent is better: {values}")
        return found

    def to_json(self) -> str:
        """Return the table, and its instances, as one JSON object."""
        cells = [{**asdict(cell), "rpd": round(cell.rpd, 4)} for cell in self.cells]
        return json_text({"table": self.lines(), "instances": cells}, indent=1)


def save_better(run: Run, instance: FlowShopInstance, folder: Path) -> Path:
    """Write a schedule below the best-known one; ``dpbb evaluate`` checks the file."""
    schedule = FlowShopProblem(instance).schedule(run.permutation)
    path = folder / f"{instance.name}-{run.value}.json"
    content = {
        "instance": instance.name,
        "digest": instance.digest,
        "makespan": run.value,
        "permutation": run.permutation,
        "start": schedule.start.tolist(),
        "end": schedule.end.tolist(),
    }
    with whole_file(path):
        path.write_text(json_text(content) + "\n")
    return path


def _cell(group: Sequence[Run]) -> Cell:
    task, values = group[0].task, [run.value for run in group]
    return Cell(
        class_name=task.class_name,
        instance=task.instance,
        method=task.method,
        device=task.device,
        threads=task.threads,
        limit_s=task.limit_s,
        seeds=len(group),
        best_known=group[0].best_known,
        median=median(values),
        mean=fmean(values),
        best=min(values),
        worst=max(values),
        slowest_s=max(run.seconds for run in group),
    )


def _place(cell: Cell) -> tuple[str, str, float]:
    return cell.instance, cell.method, cell.limit_s


FIRST_S = 0.1
"""Where the time axis begins."""

POINTS = 200


def curve(runs: Sequence[Run], end_s: float) -> list[tuple[float, float]]:
    """Return (second, mean percent above best known) of runs, as time goes by.

    Begins when every run has an incumbent.
    """
    first = max(FIRST_S, max(run.trajectory[0][0] for run in runs))
    ratio = (end_s / first) ** (1 / (POINTS - 1)) if end_s > first else 1.0
    points = []
    for second in (first * ratio**at for at in range(POINTS)):
        shares = []
        for run in runs:
            value = [value for at, value, _ in run.trajectory if at <= second][-1]
            shares.append(100.0 * (value - run.best_known) / run.best_known)
        points.append((second, fmean(shares)))
    return points


def draw(runs: Sequence[Run], path: Path) -> None:
    """Draw a line for each class and method, of the runs with the longest limit."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    groups: defaultdict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.task.class_name, run.task.method].append(run)
    classes = list(dict.fromkeys(name for name, _ in groups))
    methods = list(dict.fromkeys(method for _, method in groups))
    figure, ax = style.new_figure((7.0, 4.2))
    longest = 0.0
    for (name, method), group in groups.items():
        limit = max(run.task.limit_s for run in group)
        longest = max(longest, limit)
        points = curve([run for run in group if run.task.limit_s == limit], limit)
        ax.plot(
            [second for second, _ in points],
            [share for _, share in points],
            label=name if len(methods) == 1 else f"{name} {method}",
            color=style.SERIES[classes.index(name) % len(style.SERIES)],
            linestyle=("-", "--", ":", "-.")[methods.index(method) % 4],
            drawstyle="steps-post",
            linewidth=1.6,
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlim(FIRST_S, max(longest, 10 * FIRST_S))
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    style.dress(ax, x="time (s)", y="above best known (%), mean")
    style.legend_above(ax)
    task = runs[0].task
    style.title(
        ax, "heuristics", f": {task.device}, {task.threads} thread(s) a run, warm"
    )
    figure.savefig(path, dpi=style.DPI)
