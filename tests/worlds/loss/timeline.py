"""What a kill would have cost at every instant of a run, by its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from dpbb.coordination.format import decode_header

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint; times in seconds since the run was opened.

    Parameters
    ----------
    covered_s
        What was explored until then is in it.
    taken_s, durable_s
        When it was taken, and when its header was in the folder.
    nodes, n_roots, n_bytes
        What it holds: decomposed nodes and leaves, open roots, and bytes.
    """

    covered_s: float
    taken_s: float
    durable_s: float
    nodes: int
    n_roots: int
    n_bytes: int


def read_folder(folder: Path, opened: float) -> list[Saved]:
    """Return the checkpoints of a folder on a local disk, the oldest first.

    Parameters
    ----------
    folder
        With all checkpoints of a run that was never resumed.
    opened
        When it was opened, in seconds since the epoch.
    """
    found = []
    for path in sorted(folder.glob("checkpoint-*.dpbb")):
        header = decode_header(path.read_bytes(), path.name)
        found.append(
            Saved(
                covered_s=header.covered_s,
                taken_s=header.totals.seconds,
                durable_s=path.stat().st_ctime - opened,  # of its renaming
                nodes=header.totals.nodes,
                n_roots=sum(unit.roots.n_roots for unit in header.units),
                n_bytes=path.stat().st_size,
            )
        )
    return found


def newest(saved: Sequence[Saved], moment: float) -> Saved | None:
    """Return the newest checkpoint that was in the folder at a moment."""
    return max(
        (one for one in saved if one.durable_s <= moment),
        key=lambda one: one.durable_s,
        default=None,
    )


def losses(saved: Sequence[Saved], until: float) -> tuple[float, float]:
    """Return what is lost at the worst instant, and on the mean of all instants.

    The loss grows with the time, and falls when a checkpoint is in the folder: to the
    age of what that one covers.

    Parameters
    ----------
    saved
        Checkpoints of a run.
    until
        The last instant; the first is that of the first checkpoint.
    """
    steps = sorted((one.durable_s, one.covered_s) for one in saved)
    steps = [step for step in steps if step[0] < until]
    if not steps:
        raise ValueError("expected a checkpoint before the end, got none")
    worst, area = 0.0, 0.0
    first = steps[0][0]
    for (begin, covered), (end, _) in pairwise([*steps, (until, 0.0)]):
        worst = max(worst, end - covered)
        area += (end - begin) * ((begin + end) / 2 - covered)
    return worst, area / (until - first)
