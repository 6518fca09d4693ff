"""Speed-up and efficiency by the number of GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from dpbb.errors import DpbbError
from dpbb.plotting import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEADROOM = 0.45
"""Share of the left axis kept free: else both lines would end in the same place."""

ROWS = "rows of dpbb bench multigpu"


def speedup(rows: Mapping[str, Any] | Sequence[Any], ax: Axes | None = None) -> Axes:
    """Draw the speed-up (left axis) and the efficiency (right axis).

    The smallest number of each tree has an efficiency of 100 %. Of repetitions the
    mean is drawn.

    Parameters
    ----------
    rows
        What ``dpbb bench multigpu --json`` wrote; or mappings with ``gpus`` and
        ``nodes_per_s``, and perhaps a ``tree``.
    ax
        Where to draw; default: a new pyplot figure.

    Raises
    ------
    DpbbError
        Rows that are none of these; Matplotlib is not installed.
    """
    found = rows_of(rows)
    curves = efficiencies(found)
    # the suite is tried out without GPUs
    unit = "worker" if found[0].engine == "cpu" else "GPU"
    counts = sorted({count for curve in curves.values() for count in curve})
    ax = style.axes_for(ax, 6.4, 4.2)
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
    ax.set_xlim(0, counts[-1] * 1.06)
    ax.set_ylim(0, best * counts[-1] * (1 + HEADROOM))
    ax.set_xticks(counts)
    style.legend_above(ax, handles)
    return ax


class Row(msgspec.Struct):
    """What is read of a measurement."""

    gpus: Annotated[int, msgspec.Meta(ge=1)]
    nodes_per_s: Annotated[float, msgspec.Meta(gt=0)]
    tree: str = "measured"
    engine: str = "gpu"


def rows_of(data: Any) -> list[Row]:
    """Return the measurements; DpbbError: there are none, or it is something else."""
    rows = data.get("rows") if isinstance(data, dict) else data
    try:
        found = msgspec.convert(rows, list[Row])
    except msgspec.ValidationError as error:
        raise DpbbError(f"speedup: expected {ROWS}, got: {error}") from error
    if not found:
        raise DpbbError(f"speedup: expected {ROWS}, got none")
    return found


def efficiencies(rows: Iterable[Row]) -> dict[str, dict[int, float]]:
    """Return the mean efficiency by tree and number of GPUs."""
    speeds: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        of = speeds.setdefault(row.tree, {})
        of.setdefault(row.gpus, []).append(row.nodes_per_s)
    curves = {}
    for name, of in speeds.items():
        base = mean(of[min(of)]) / min(of)
        curves[name] = {count: mean(of[count]) / count / base for count in sorted(of)}
    return curves
