"""Speed-up and efficiency by the number of GPUs, workers or seats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from dpbb.errors import DpbbError
from dpbb.plotting import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (6.4, 4.2)
"""Inches."""

LINEAR_UP_TO = 16
"""Above so many times the smallest number, both scales are logarithmic."""

HEADROOM = 0.45
"""Share of the left axis kept free: else both lines would end in the same place."""

COUNTS = {"gpus": "GPU", "seats": "simulated GPU seat", "workers": "worker"}
"""Keys of a row that say how many, and what one of them is called."""


def speedup(rows: Mapping[str, Any] | Iterable[Any], ax: Axes | None = None) -> Axes:
    """Draw the speed-up (left axis) and the efficiency (right axis).

    The smallest number of each series has an efficiency of 100 %, unless the rows say
    how efficient they were. Of repetitions the mean is drawn.

    Parameters
    ----------
    rows
        What ``dpbb bench multigpu --json`` wrote; or mappings with ``workers`` (or
        ``gpus``, ``seats``), with ``nodes_per_s``, ``efficiency`` or ``seconds``, and
        perhaps a ``series``.
    ax
        Where to draw; default: a new pyplot figure.

    Raises
    ------
    DpbbError
        Rows that are none of these; Matplotlib is not installed.
    """
    unit, curves = efficiencies(rows)
    counts = sorted({count for curve in curves.values() for count in curve})
    ax = style.axes_for(ax, SIZE)
    right = ax.twinx()
    style.dress(ax, x=f"{unit}s", y=f"speed-up over one {unit}", grid="x")
    style.dress(right, x="", y="efficiency (%), dashed", grid="none")
    for side in ("left", "bottom"):
        right.spines[side].set_visible(False)
    right.spines["right"].set(visible=True, color=style.MUTED)
    dots: dict[str, Any] = {"color": style.MUTED, "lw": 1.0, "ls": ":"}
    handles = ax.plot(counts, counts, label="linear", **dots)
    for index, (name, curve) in enumerate(curves.items()):
        look: dict[str, Any] = {
            "color": style.SERIES[index % len(style.SERIES)],
            "marker": style.MARKERS[index % len(style.MARKERS)],
            "ms": 5,
            "lw": 1.6,
        }
        speeds = [count * share for count, share in curve.items()]
        handles += ax.plot([*curve], speeds, label=name, **look)
        shares = [100 * share for share in curve.values()]
        right.plot([*curve], shares, ls="--", mfc="white", **look)
    best = max(1.0, *(share for curve in curves.values() for share in curve.values()))
    right.set_ylim(0, best * 105)
    _scale(ax, counts, best * counts[-1])
    style.legend_above(ax, handles)
    return ax


def efficiencies(rows: Any) -> tuple[str, dict[str, dict[int, float]]]:
    """Return what was counted, and the mean efficiency by series and count."""
    if isinstance(rows, dict):
        rows = rows.get("rows", [rows])
    if isinstance(rows, (str, bytes)) or not hasattr(rows, "__iter__"):
        raise DpbbError(f"speedup: expected rows of a benchmark, got {rows!r:.60}")
    units = set()
    told: dict[str, dict[int, list[float]]] = {}
    speeds: dict[str, dict[int, list[float]]] = {}
    for number, row in enumerate(rows):
        unit, count, speed, share = _measured(row, number)
        units.add(unit)
        name = str(row.get("series", row.get("tree", row.get("name", "measured"))))
        value, into = (speed, speeds) if share is None else (share, told)
        into.setdefault(name, {}).setdefault(count, []).append(value)
    if not units:
        raise DpbbError("speedup: expected rows of a benchmark, got none")
    if len(units) != 1:
        found = ", ".join(sorted(units))
        raise DpbbError(f"speedup: expected counts of one thing, got {found}")
    curves = {
        name: {count: mean(of[count]) for count in sorted(of)}
        for name, of in told.items()
    }
    for name, of in speeds.items():
        base = mean(of[min(of)]) / min(of)
        curves[name] = {count: mean(of[count]) / count / base for count in sorted(of)}
    return units.pop(), curves


def _measured(row: Any, number: int) -> tuple[str, int, float, float | None]:
    """Return what a row counts and how many, the speed, and the efficiency if told."""
    try:
        key = next(key for key in COUNTS if key in row)
        count, share = int(row[key]), row.get("efficiency")
        share = None if share is None else float(share)
        if share is not None:
            speed = share
        elif "nodes_per_s" in row:
            speed = float(row["nodes_per_s"])
        else:
            speed = 1.0 / float(row["seconds"])
        if count < 1 or not speed > 0:
            raise ValueError(row)
    except (
        *(ArithmeticError, AttributeError, LookupError),
        *(StopIteration, TypeError, ValueError),
    ) as error:
        raise DpbbError(
            f"speedup: row {number}: expected {', '.join(COUNTS)} of at least 1, and "
            f"nodes_per_s, efficiency or seconds above 0, got {row!r:.80}"
        ) from error
    # the suite is tried out without GPUs
    unit = "worker" if row.get("engine") == "cpu" else COUNTS[key]
    return unit, count, speed, share


def _scale(ax: Axes, counts: Sequence[int], highest: float) -> None:
    """Have ticks at the counts that were measured."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    if counts[-1] > LINEAR_UP_TO * counts[0]:
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        ax.set_xlim(counts[0] / 1.3, counts[-1] * 1.3)
        ax.set_ylim(counts[0] / 1.5, highest * (highest / counts[0]) ** HEADROOM)
    else:
        ax.set_xlim(0, counts[-1] * 1.06)
        ax.set_ylim(0, highest * (1 + HEADROOM))
    ax.xaxis.set_major_locator(FixedLocator(counts))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
