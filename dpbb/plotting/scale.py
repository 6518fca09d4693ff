"""The curve of ``dpbb bench scale``: efficiency and load by the number of seats."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def plot_scale(
    points: Sequence[tuple[str, int, float, float]], seconds: float, path: Path
) -> None:
    """Draw efficiency and the load of the scheduler's event loop.

    Parameters
    ----------
    points
        Case, seats, parallel efficiency, share of the event loop's time.
    seconds
        Length of an ideal run.
    path
        File to write; its suffix says the format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    cases = list(dict.fromkeys(case for case, *_ in points))
    for index, case in enumerate(cases):
        rows = [row for row in points if row[0] == case]
        seats = [row[1] for row in rows]
        style = "o-" if index == 0 else "sDv^"[index % 4]
        axes.plot(seats, [row[2] for row in rows], style, label=f"efficiency, {case}")
        if index == 0:
            busy = [row[3] for row in rows]
            axes.plot(
                seats, busy, "x--", color="gray", label=f"event loop busy, {case}"
            )
    axes.axhline(0.9, color="black", linewidth=0.5)
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, 1)
    axes.set_xlabel(f"simulated GPU seats, an ideal run takes {seconds:g} s")
    axes.set_ylabel("share of time")
    axes.legend(loc="center left")
    figure.savefig(path, dpi=120)
