"""Seats in equal parts for the runs that can use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def fair_shares(demands: Sequence[int], seats: int, turn: int = 0) -> list[int]:
    """Share seats in equal parts, none above a run's demand.

    Parameters
    ----------
    demands
        Seats that each run can feed, oldest run first.
    seats
        Seats to share.
    turn
        The odd seats that cannot be shared go to the oldest runs, unless there are
        fewer seats than runs: then to the runs from this one on, in a circle, so that
        they take turns.

    Returns
    -------
    list of int
        Sums to ``min(seats, sum(demands))``.
    """
    shares = [0] * len(demands)
    left = min(seats, sum(demands))
    while left:
        hungry = [i for i, demand in enumerate(demands) if shares[i] < demand]
        each = left // len(hungry)
        if not each:
            first = turn % len(hungry) if seats < len(hungry) else 0
            for i in (hungry[first:] + hungry[:first])[:left]:
                shares[i] += 1
            break
        for i in hungry:
            given = min(each, demands[i] - shares[i])
            shares[i] += given
            left -= given
    return shares


@dataclass(frozen=True, slots=True)
class Moves:
    """How many seats each run gets of the free ones, and how many it gives up."""

    take: list[int]
    give: list[int]


def moves(held: Sequence[int], shares: Sequence[int], free: int, coming: int) -> Moves:
    """Find the way from what the runs hold to their shares that disturbs the fewest.

    Parameters
    ----------
    held
        Seats of every run, without those that it is about to give up.
    shares
        What each should have.
    free
        Seats of no run.
    coming
        Seats that will soon be free.
    """
    missing = [max(0, share - mine) for share, mine in zip(shares, held, strict=True)]
    wanted = max(0, sum(missing) - free - coming)
    take, give = [], []
    for share, mine, lacking in zip(shares, held, missing, strict=True):
        taken = min(free, lacking)
        given = min(wanted, max(0, mine - share))
        free -= taken
        wanted -= given
        take.append(taken)
        give.append(given)
    return Moves(take, give)
