"""The map of [0, n!): which permutations are finished, and where work is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.snapshot import Snapshot
from dpbb.coordination.span_map import N_CELLS, STATES, SpanMap, cells_of, states_of
from dpbb.errors import DpbbError
from dpbb.plotting import style
from dpbb.text.names import percent
from dpbb.tree.counters import closed_leaves
from dpbb.tree.factoradic import n_leaves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (7.0, 1.7)
SIZE_OVER_TIME = (7.0, 4.0)
"""Inches."""

COLORS = {"finished": "#33715a", "waiting": "#9ecae1", "leased": "#eaaa6d"}
"""Those of the page: a dark one and two light ones that everybody tells apart."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A run at one moment, as far as its map goes."""

    name: str
    seconds: float
    explored: float
    waiting: int
    leased: int
    spans: tuple[tuple[float, float, str], ...]


def interval_map(
    data: Snapshot | Checkpoint | Sequence[Snapshot], ax: Axes | None = None
) -> Axes:
    """Draw the finished, leased and waiting parts of [0, n!).

    Permutations lie in the order of the tree. A cell of the map is finished when no
    open root touches it.

    Parameters
    ----------
    data
        A snapshot or a checkpoint: one band. In a checkpoint, whatever an engine has
        begun counts as leased. Or snapshots of one run, oldest first: a band for each
        of them, above each other in time.
    ax
        Where to draw; default: a new pyplot figure.

    Raises
    ------
    DpbbError
        There are no snapshots; Matplotlib is not installed.
    """
    moments = _moments(data)
    over_time = len(moments) > 1
    ax = style.axes_for(ax, size_of(data))
    style.dress(
        ax,
        x="share of the n! permutations, in the order of the tree",
        y="",
        grid="none",
    )
    if over_time:
        _draw_bands(ax, moments)
        ax.set_ylabel(style.time_axis(ax.yaxis, moments[-1].seconds))
    else:
        _draw_band(ax, moments[0])
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    begun = {"leased": "begun"} if isinstance(data, Checkpoint) else {}
    style.legend_above(ax, _key(moments, begun))
    style.title(ax, moments[-1].name, _title(moments[-1]))
    return ax


def size_of(data: Any) -> tuple[float, float]:
    """Width and height in inches that suit some data."""
    one = isinstance(data, (Snapshot, Checkpoint)) or len(data) == 1
    return SIZE if one else SIZE_OVER_TIME


def _moments(data: Any) -> list[Moment]:
    if isinstance(data, Checkpoint):
        return [_of_checkpoint(data)]
    shots = [data] if isinstance(data, Snapshot) else list(data)
    if not shots:
        raise DpbbError("intervals: expected snapshots, got none")
    return [
        Moment(
            shot.instance,
            shot.seconds,
            shot.explored,
            shot.waiting,
            shot.leased,
            shot.spans,
        )
        for shot in shots
    ]


def _of_checkpoint(saved: Checkpoint) -> Moment:
    n_jobs = saved.spec.problem.n_jobs
    cells, counts = SpanMap(), {"waiting": 0, "leased": 0}
    for unit in saved.units:
        state = "waiting" if unit.fresh else "leased"
        counts[state] += 1
        cells.add(state, cells_of(unit.open_roots))
    return Moment(
        saved.spec.instance,
        saved.totals.seconds,
        closed_leaves(saved.counters.closed) / n_leaves(n_jobs),
        counts["waiting"],
        counts["leased"],
        cells.spans(),
    )


def _draw_band(ax: Axes, moment: Moment) -> None:
    bars = [(0.0, 1.0, "finished"), *moment.spans]
    for state in STATES:
        ax.broken_barh(
            [(begin, end - begin) for begin, end, kind in bars if kind == state],
            (0.0, 1.0),
            facecolors=COLORS[state],
            linewidth=0,
            gid=state,
        )
    ax.set_ylim(0, 1)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)


def _draw_bands(ax: Axes, moments: Sequence[Moment]) -> None:
    """Draw a row for each moment, from it to the next one."""
    from matplotlib.colors import ListedColormap

    seconds = [moment.seconds for moment in moments]
    pause = max((seconds[-1] - seconds[0]) / (len(seconds) - 1), 1e-3)
    ax.pcolormesh(
        np.linspace(0.0, 1.0, N_CELLS + 1),
        np.maximum.accumulate([*seconds, seconds[-1] + pause]),
        np.stack([states_of(moment.spans) for moment in moments]),
        cmap=ListedColormap([COLORS[state] for state in STATES]),
        vmin=-0.5,
        vmax=len(STATES) - 0.5,
        rasterized=True,
    )
    ax.set_ylim(seconds[0], seconds[-1] + pause)


def _key(moments: Sequence[Moment], names: dict[str, str]) -> list[Any]:
    """Legend entries; of a single moment with the numbers of units."""
    from matplotlib.patches import Patch

    units = {"waiting": moments[-1].waiting, "leased": moments[-1].leased}
    entries = []
    for state in ("finished", "leased", "waiting"):
        label = names.get(state, state)
        if state in units and len(moments) == 1:
            label += f" ({units[state]} unit{'' if units[state] == 1 else 's'})"
        entries.append(Patch(color=COLORS[state], label=label))
    return entries


def _title(moment: Moment) -> str:
    unit_s, unit = style.time_unit(moment.seconds)
    after = f"{moment.seconds / unit_s:.3g} {unit}"
    return f": {percent(moment.explored)} of n! finished after {after}"
