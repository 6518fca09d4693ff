"""What a kill would have cost at every instant of a run, by its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
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
    durable_s
        When its header was in the folder.
    """

    covered_s: float
    durable_s: float


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
        durable_s = path.stat().st_ctime - opened  # of its renaming
        found.append(Saved(header.covered_s, durable_s))
    return found


def newest(saved: Sequence[Saved], moment: float) -> Saved | None:
    """Return the newest checkpoint that was in the folder at a moment."""
    return max(
        (one for one in saved if one.durable_s <= moment),
        key=lambda one: one.durable_s,
        default=None,
    )


def worst(saved: Sequence[Saved], until: float) -> float:
    """Return what is lost at the worst instant, from the first checkpoint on.

    The loss grows with the time, and falls when a checkpoint is in the folder: to the
    age of what that one covers.
    """
    steps = sorted((one.durable_s, one.covered_s) for one in saved)
    steps = [step for step in steps if step[0] < until]
    if not steps:
        raise ValueError("expected a checkpoint before the end, got none")
    ends = [end for end, _ in steps[1:]] + [until]
    return max(end - covered for (_, covered), end in zip(steps, ends, strict=True))
