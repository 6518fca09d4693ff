"""What the parts of ``dpbb bench jobshop`` share: findings, picture, time left."""

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbb.plotting import style


@dataclass(slots=True)
class TableRow:
    """Mean over the instances of a set of their median times, in milliseconds.

    Parameters
    ----------
    cpu_cubic_ms, cpu_sweep_ms
        One core: O(o^3), compiled (the compiler makes vectors of its inner loop); and
        the O(o) sweep over machine orders, the same ones again and again.
    gpu_*_ms
        The matrix is on the device, all launches in one CUDA graph.
    gpu_*_with_ms
        With the whole matrix there and back, as in the paper.
    exact
        Whether all ends are those of the sweep.
    """

    name: str
    operations: int
    instances: int
    cpu_cubic_ms: float
    cpu_sweep_ms: float
    gpu_paper_ms: float | None = None
    gpu_paper_with_ms: float | None = None
    gpu_blocked_ms: float | None = None
    gpu_blocked_with_ms: float | None = None
    gpu_squaring_ms: float | None = None
    gpu_squaring_with_ms: float | None = None
    paper_speedup: float | None = None
    exact: bool = True
    graph: bool | None = None


@dataclass(slots=True)
class Rate:
    """Scheduled operations a second of one way to evaluate a batch.

    Parameters
    ----------
    least, median, most
        Of all repetitions.
    exact
        Whether the first costs are those of the CPU (or, there, of the sweep).
    """

    size: str
    how: str
    solutions: int
    least: float
    median: float
    most: float
    exact: bool


@dataclass(slots=True)
class Report:
    """Everything that was measured; written again after every part."""

    device: str = ""
    host: str = ""
    table: list[TableRow] = field(default_factory=list)
    rates: list[Rate] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class Bench:
    """What was found so far; a part that fails loses no other one.

    ``budget_s``: seconds after which nothing more is begun.

    ``cupy``: the module, None without a device.
    """

    def __init__(self, repeat: int, budget_s: float, host: str = "") -> None:
        self.repeat = repeat
        self.report = Report(host=host)
        self.cupy: Any = None
        self._ends = time.perf_counter() + budget_s

    def guarded(self, name: str, work: Callable[[], None]) -> bool:
        """Do a part of the work; whether it ended well."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 (the other parts go on)
            print(f"FAILED: {name}: {error!r}", flush=True)
            traceback.print_exc()
            self.report.failures.append(f"{name}: {error!r}")
            return False
        return True

    def has_time(self, what: str) -> bool:
        """Whether something may still be begun; tells what is not."""
        if time.perf_counter() < self._ends:
            return True
        print(f"left out, the time is over: {what}", flush=True)
        self.report.findings.append(f"left out: {what}")
        return False


LINES = {
    "cpu_cubic_ms": "one core, O(o³)",
    "cpu_sweep_ms": "one core, O(o) sweep",
    "gpu_paper_with_ms": "GPU, paper's kernel, with transfers",
    "gpu_paper_ms": "GPU, paper's kernel",
    "gpu_blocked_with_ms": "GPU, tiles with DPX, with transfers",
    "gpu_blocked_ms": "GPU, tiles with DPX",
    "gpu_squaring_ms": "GPU, squaring",
}


def draw_table(table: Sequence[TableRow], device: str, path: Path) -> None:
    """Draw the absolute times over the number of operations into a file."""
    figure, ax = style.new_figure((8.0, 5.0))
    for number, (column, label) in enumerate(LINES.items()):
        points = sorted(
            (row.operations, value)
            for row in table
            if (value := getattr(row, column)) is not None
        )
        if points:
            sizes, times = zip(*points, strict=True)
            ax.plot(
                sizes,
                times,
                label=label,
                color=style.SERIES[number],
                marker=style.MARKERS[number],
                markersize=4,
                linewidth=1.4,
                linestyle="--" if column.endswith("with_ms") else "-",
            )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ticks = sorted({row.operations for row in table})
    ax.set_xticks(ticks, [str(tick) for tick in ticks], rotation=60)
    ax.minorticks_off()
    style.dress(ax, x="operations", y="time of one solution (ms)")
    ax.legend(fontsize=style.SMALL, frameon=False)
    style.title(ax, device or "CPU", ": cost of one job-shop schedule")
    figure.savefig(path, dpi=style.DPI)
