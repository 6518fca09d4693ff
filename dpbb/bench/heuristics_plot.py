"""ARPD over time of ``dpbb bench heuristics`` as a picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from dpbb.plotting import style

if TYPE_CHECKING:
    from dpbb.bench.heuristics_runs import Run

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
