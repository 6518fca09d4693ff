"""The curve of the simulation: efficiency and load by the number of seats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpbb.plotting import style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

SIZE = (7.0, 4.0)
"""Inches."""

TARGET = 0.9
"""Efficiency that is asked for."""

REPORTED = (32, 128)
"""GPUs at which solvers with a single coordinator are reported to saturate.

A range that is handed down, without a table to cite; ``docs/clusters.md`` says what
has been published.
"""


def scale_curve(
    points: Sequence[tuple[str, int, float, float]],
    seconds: float,
    ax: Axes | None = None,
) -> Axes:
    """Draw efficiency and the load of the scheduler's event loop.

    Parameters
    ----------
    points
        Case, seats, parallel efficiency, share of the event loop's time. Of the first
        case a line is drawn, of the others what they are at their seats.
    seconds
        Length of an ideal run.
    ax
        Where to draw; default: a new pyplot figure.

    Raises
    ------
    DpbbError
        Matplotlib is not installed.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax = style.axes_for(ax, SIZE)
    cases = list(dict.fromkeys(case for case, *_ in points))
    for index, case in enumerate(cases):
        rows = sorted(row for row in points if row[0] == case)
        seats = [row[1] for row in rows]
        color = style.SERIES[index % len(style.SERIES)]
        marker = style.MARKERS[index % len(style.MARKERS)]
        ax.plot(
            seats,
            [100 * row[2] for row in rows],
            color=color,
            marker=marker,
            ms=5 if index == 0 else 7,
            mfc=color if index == 0 else "none",  # to be seen where they meet
            mew=1.6,
            lw=1.6,
            clip_on=False,
            label=f"efficiency, {case}",
        )
        if index == 0:
            ax.plot(
                seats,
                [100 * row[3] for row in rows],
                color=style.MUTED,
                marker="x",
                ms=5,
                lw=1.2,
                ls="--",
                clip_on=False,
                label="event loop busy",
            )
    ax.axhline(100 * TARGET, color=style.MUTED, lw=0.8, ls=":")
    all_seats = sorted({row[1] for row in points})
    if all_seats[0] < REPORTED[1] and all_seats[-1] > REPORTED[0]:
        _band(ax)
    style.dress(
        ax,
        x=f"simulated GPU seats (an ideal run takes {seconds:g} s)",
        y="share of time (%)",
    )
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator(all_seats))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_ylim(0, 100)
    style.legend_above(ax)
    return ax


def _band(ax: Axes) -> None:
    """Shade what is reported of others, with a label between the curves."""
    first, last = REPORTED
    ax.axvspan(first, last, color=style.GRID, alpha=0.7, lw=0, zorder=0)
    ax.annotate(
        f"one coordinator\nis reported to\nsaturate here:\n{first} to {last}",
        xy=((first * last) ** 0.5, 50),  # the middle, as the axis is logarithmic
        ha="center",
        va="center",
        fontsize=style.SMALL,
        color=style.MUTED,
    )


def plot_scale(
    points: Sequence[tuple[str, int, float, float]], seconds: float, path: Path
) -> None:
    """Draw the curve into a file, whose suffix says the format; see ``scale_curve``."""
    figure, ax = style.new_figure(SIZE)
    scale_curve(points, seconds, ax)
    figure.savefig(path, dpi=style.DPI)
