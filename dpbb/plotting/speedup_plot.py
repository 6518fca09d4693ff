"""Speed-up and efficiency by the number of GPUs, workers or seats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
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


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement.

    Parameters
    ----------
    series, unit, count
        What was measured, on how many of what.
    speed
        In any unit; or the efficiency times the count, if ``absolute``.
    """

    series: str
    unit: str
    count: int
    speed: float
    absolute: bool


def speedup(rows: Mapping[str, Any] | Iterable[Any], ax: Axes | None = None) -> Axes:
    """Draw the speed-up (left axis) and the efficiency (right axis).

    The smallest number of each series has an efficiency of 100 %, unless the rows say
    how efficient they were. Repetitions are dots; the lines connect their means.

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
    points = points_of(rows)
    units = sorted({point.unit for point in points})
    if len(units) != 1:
        raise DpbbError(
            f"speedup: expected counts of one thing, got {', '.join(units)}"
        )
    curves = efficiencies(points)
    counts = sorted({point.count for point in points})
    ax = style.axes_for(ax, SIZE)
    right = ax.twinx()
    style.dress(ax, x=f"{units[0]}s", y=f"speed-up over one {units[0]}", grid="x")
    style.dress(right, x="", y="efficiency (%), dashed", grid="none")
    for side in ("left", "bottom"):
        right.spines[side].set_visible(False)
    right.spines["right"].set(visible=True, color=style.MUTED)
    (linear,) = ax.plot(
        counts, counts, color=style.MUTED, lw=1.0, ls=":", label="linear"
    )
    handles = [linear]
    for index, (name, curve) in enumerate(curves.items()):
        handles.append(_draw(ax, right, name, curve, index))
    best = max(share for curve in curves.values() for _, share in curve)
    right.set_ylim(0, max(1.0, best) * 105)
    _scale(ax, counts, max(1.0, best) * counts[-1])
    style.legend_above(ax, handles)
    return ax


def efficiencies(points: Sequence[Point]) -> dict[str, list[tuple[int, float]]]:
    """Return (count, efficiency) of every measurement, by series and count."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for name in dict.fromkeys(point.series for point in points):
        mine = sorted(
            (point for point in points if point.series == name),
            key=lambda point: point.count,
        )
        least = mine[0].count
        base = mean(point.speed for point in mine if point.count == least) / least
        curves[name] = [
            (point.count, point.speed / point.count / (1 if point.absolute else base))
            for point in mine
        ]
    return curves


def points_of(rows: Any) -> list[Point]:
    """Return the measurements in rows of any known kind."""
    if isinstance(rows, dict):
        rows = rows.get("rows", [rows])
    if isinstance(rows, (str, bytes)) or not hasattr(rows, "__iter__"):
        raise DpbbError(f"speedup: expected rows of a benchmark, got {rows!r:.60}")
    found = [_point(row, number) for number, row in enumerate(rows)]
    if not found:
        raise DpbbError("speedup: expected rows of a benchmark, got none")
    return found


def _point(row: Any, number: int) -> Point:
    if is_dataclass(row) and not isinstance(row, type):
        row = asdict(row)
    try:
        key = next(key for key in COUNTS if key in row)
        count, absolute = int(row[key]), False
        if "nodes_per_s" in row:
            speed = float(row["nodes_per_s"])
        elif "efficiency" in row:
            speed, absolute = float(row["efficiency"]) * count, True
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
    unit = COUNTS[key]
    if row.get("engine") == "cpu":  # as the suite is tried out without GPUs
        unit = "worker"
    name = row.get("series", row.get("tree", row.get("name", "measured")))
    return Point(str(name), unit, count, speed, absolute)


def _draw(
    ax: Axes, right: Axes, name: str, curve: Sequence[tuple[int, float]], index: int
) -> Any:
    """Draw a series on both axes; returns the line for the legend."""
    color = style.SERIES[index % len(style.SERIES)]
    marker = style.MARKERS[index % len(style.MARKERS)]
    counts = list(dict.fromkeys(count for count, _ in curve))
    means = [mean(share for at, share in curve if at == count) for count in counts]
    if len(curve) > len(counts):
        every = [count for count, _ in curve]
        shares = [share for _, share in curve]
        dots: dict[str, Any] = {"color": color, "ls": "", "marker": ".", "ms": 4}
        ax.plot(every, [n * e for n, e in zip(every, shares, strict=True)], **dots)
        right.plot(every, [100 * share for share in shares], **dots)
    lines: dict[str, Any] = {"color": color, "marker": marker, "ms": 5, "lw": 1.6}
    (line,) = ax.plot(
        counts, [n * e for n, e in zip(counts, means, strict=True)], label=name, **lines
    )
    right.plot(counts, [100 * share for share in means], ls="--", mfc="white", **lines)
    return line


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
