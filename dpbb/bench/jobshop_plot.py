"""The times of ``dpbb bench jobshop`` as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpbb.plotting import style

if TYPE_CHECKING:
    from dpbb.bench.jobshop_report import TableRow

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
