"""How fast seats are, and how work is dealt out where they differ by much.

A GPU explores a thousand times the nodes of a core. Then what matters is that a slow
seat never holds the end up: it gets little from a fast one, and gives all it has to a
fast one that is idle. Among seats of one kind nothing of this happens.
"""

from collections.abc import Sequence

import numpy as np

from dpbb.coordination.units import SeatRecord
from dpbb.tree.work_unit import WorkUnit

MUCH = 8.0
"""Seats whose speeds differ by less are treated alike."""

LEAST_TIME_S = 2.0
"""A lease that explored for less says nothing of its seat's speed: a GPU takes its
time to get going, and compiles at first."""

LEAST_GIFT = 16
"""Roots that a slow seat gets at least, so that it does not ask again at once."""

PLENTY = 1024
"""Open roots of a fast seat that is not to be disturbed for a slow one below."""

_NODES_PER_S = {"cuda": 1e9, "cpu": 1e6}  # by kind, until something is measured


def kind_of(record: SeatRecord) -> tuple[str, str, int]:
    """Return what makes two seats alike before anything is measured."""
    device = record.seat.device
    return device.kind, device.name, device.threads


def speed_of(record: SeatRecord) -> float:
    """Nodes a second, as measured or, before that, as its kind has them."""
    device = record.seat.device
    guess = _NODES_PER_S.get(device.kind, 1e6) * max(1, device.threads)
    return record.speed or guess


def note_speed(record: SeatRecord, nodes: int, explore_s: float) -> None:
    """Take in what a lease has explored; the best one counts, as others ramp up."""
    if explore_s >= LEAST_TIME_S and nodes > 0:
        record.speed = max(record.speed, nodes / explore_s)


def much_faster(one: SeatRecord, other: SeatRecord) -> bool:
    """Whether the first seat is another class of machine than the second."""
    return speed_of(one) >= MUCH * speed_of(other)


def roots_for(takers: Sequence[SeatRecord], donor: SeatRecord, most: int) -> int:
    """How many roots a donor is to give to these seats, ``most`` to its like."""
    share = sum(map(speed_of, takers)) / speed_of(donor)
    if share * MUCH >= 1:
        return most
    return min(most, max(LEAST_GIFT * len(takers), int(most * share)))


def shares_by_speed(donated: WorkUnit, takers: Sequence[SeatRecord]) -> list[WorkUnit]:
    """Cut a donation into a unit for each seat, of sizes as their speeds.

    Neighbours in leaf order go to different seats where they can, as the sizes of
    neighbouring subtrees are alike. Each gets a root as long as there are enough.
    """
    if len(donated) <= len(takers):
        return donated.split(max(1, len(donated)))
    speeds = np.array([speed_of(taker) for taker in takers])
    free = len(donated) - len(takers)
    ends = 1 + np.arange(len(takers)) + np.rint(free * speeds.cumsum() / speeds.sum())
    # multiples of the golden section spread any number of points evenly
    spread = np.argsort(np.arange(len(donated)) * 0.6180339887498949 % 1)
    parts = np.split(spread, ends[:-1].astype(np.intp))
    return [donated.take(np.sort(part)) for part in parts]
