"""The map of [0, n!): which permutations are finished, and where work is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.snapshot import Snapshot
from dpbb.coordination.span_map import STATES, cells_of, spans_of
from dpbb.plotting import style
from dpbb.progress.words import time_unit
from dpbb.text.names import percent
from dpbb.tree.counters import closed_leaves
from dpbb.tree.factoradic import n_leaves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {"finished": "#33715a", "waiting": "#9ecae1", "leased": "#eaaa6d"}
"""Those of the page: a dark one and two light ones that everybody tells apart."""


def interval_map(data: Snapshot | Checkpoint, ax: Axes | None = None) -> Axes:
    """Draw which parts of [0, n!) are finished, being explored, or waiting.

    Permutations lie in the order of the tree. A cell of the map is finished when no
    open root touches it.

    Parameters
    ----------
    data
        A snapshot or a checkpoint. In a checkpoint, whatever an engine has begun counts
        as being explored.
    ax
        Where to draw; default: a new pyplot figure.

    Raises
    ------
    DpbbError
        Matplotlib is not installed.
    """
    ax = style.axes_for(ax, 7.0, 1.7)
    from matplotlib.patches import Patch

    if isinstance(data, Checkpoint):
        name, explored, units, spans = _of_checkpoint(data)
        seconds, begun = data.totals.seconds, "begun"
    else:
        name, explored, spans = data.instance, data.explored, data.spans
        units = {"waiting": data.waiting, "leased": data.leased}
        seconds, begun = data.seconds, "being explored"
    style.dress(
        ax,
        x="share of the n! permutations, in the order of the tree",
        y="",
        grid="none",
    )
    for state in STATES:
        ax.broken_barh(
            [
                (begin, end - begin)
                for begin, end, kind in [(0.0, 1.0, "finished"), *spans]
                if kind == state
            ],
            (0.0, 1.0),
            facecolors=COLORS[state],
            linewidth=0,
            gid=state,
        )
    ax.set(xlim=(0, 1), ylim=(0, 1), yticks=[])
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    ax.spines["left"].set_visible(False)
    labels = {"finished": "finished"}
    for state, label in (("leased", begun), ("waiting", "waiting")):
        labels[state] = f"{label} ({units[state]} part{'s' * (units[state] != 1)})"
    key = [Patch(color=COLORS[state], label=label) for state, label in labels.items()]
    style.legend_above(ax, key)
    unit_s, unit = time_unit(seconds)
    after = f"{seconds / unit_s:.3g} {unit}"
    style.title(ax, name, f": {percent(explored)} of n! finished after {after}")
    return ax


def _of_checkpoint(
    saved: Checkpoint,
) -> tuple[str, float, dict[str, int], Sequence[tuple[float, float, str]]]:
    """Return the instance's name, the share that is finished, units, and spans."""
    fresh, begun = (
        [cells_of(unit.open_roots) for unit in saved.units if unit.fresh == is_fresh]
        for is_fresh in (True, False)
    )
    units = {"waiting": len(fresh), "leased": len(begun)}
    leaves = n_leaves(saved.spec.problem.n_jobs)
    explored = closed_leaves(saved.counters.closed) / leaves
    return saved.spec.instance, explored, units, spans_of(fresh, begun)
