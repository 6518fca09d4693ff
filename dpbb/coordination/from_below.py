"""From below: trees at rising upper bounds, each of which proves a lower bound.

A tree below an upper bound that is exhausted without a schedule proves that there is
none: the bound is a lower one, which has a certificate. The next upper bound is higher,
by as much as makes the tree some times larger; a tree that is much larger than that is
given up, and the step halved. A tree in which a schedule is found goes on below that
schedule, as any other, so that the end of it is the proof of an optimum. (Destructive
bounds: Klein and Scholl, EJOR 112(2), 1999, step the bound up; there a step refutes by
constraint propagation, here by a whole tree.)

What is in here is pure arithmetic: ``dpbb.solving.exploring`` explores the trees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from dpbb.coordination.snapshot import Snapshot
from dpbb.result import ProvedBound, Totals

FACTOR = 8.0
"""How many times larger than the last the next tree is to be."""

PATIENCE = 16
"""A tree so many times larger than the last is given up, and the step halved."""

FEW_NODES = 1_000
"""Decomposed nodes up to which a tree says nothing of how trees grow."""

FREE_NODES = 2_000_000
"""No tree is given up before it has so many decomposed nodes: it takes no second."""


@dataclass(frozen=True, slots=True)
class Step:
    """One tree of the way up.

    Parameters
    ----------
    number
        Which tree it is, from 1; those that were given up count.
    proved
        No schedule is below: the root bound, or the upper bound of the last tree that
        was exhausted.
    width
        The tree's upper bound is ``proved + width``, unless less is known to be enough.
    nodes
        Decomposed nodes of the last exhausted tree; 0 before the first.
    """

    number: int
    proved: int
    width: int = 1
    nodes: int = 0

    @property
    def upper_bound(self) -> int:
        """Look for schedules below this value only."""
        return self.proved + self.width

    @property
    def node_limit(self) -> int | None:
        """Decomposed nodes after which it is given up; None: the least step is not."""
        return None if self.width == 1 else max(FREE_NODES, PATIENCE * self.nodes)

    def after(self, ub: int, *, exhausted: bool, decomposed: int) -> Step:
        """Return the step after a tree that found no schedule below its upper bound.

        ``exhausted``: or it was given up.
        """
        number, width = self.number + 1, ub - self.proved
        if not exhausted:
            return replace(self, number=number, width=max(1, width // 2))
        return Step(
            number,
            proved=ub,
            width=next_width(width, self.nodes, decomposed),
            nodes=max(1, decomposed),
        )


def next_width(width: int, before: int, nodes: int) -> int:
    """Return how much the upper bound rises, after it has risen by ``width``.

    Parameters
    ----------
    before, nodes
        Decomposed nodes of the last two trees.

    Notes
    -----
    Trees grow by about the same factor with each unit of their upper bound.
    """
    most = 2 * width
    if nodes <= FEW_NODES:
        return most
    growth = nodes / max(before, 1)
    if growth <= 1:
        return most
    wanted = math.floor(width * math.log(FACTOR) / math.log(growth))
    return max(1, min(most, wanted))


@dataclass(frozen=True, slots=True)
class Below:
    """How far a call from below has come.

    Parameters
    ----------
    step
        The tree to explore next.
    bounds
        What the trees before it have proved.
    earlier
        What they took.
    """

    step: Step
    bounds: tuple[ProvedBound, ...] = ()
    earlier: Totals = field(default_factory=Totals)

    def shown_on(self, snapshot: Snapshot, given: int | None = None) -> Snapshot:
        """Return the state of a tree with the nodes of those before it.

        What is left is only told of a tree that may be the last one: with nothing below
        its upper bound what is known is optimal, an incumbent or a value ``given``.
        """
        known = [value for value in (snapshot.value, given) if value is not None]
        last = bool(known) and min(known) <= self.step.upper_bound
        return replace(
            snapshot,
            decomposed=snapshot.decomposed + self.earlier.decomposed,
            leaves=snapshot.leaves + self.earlier.leaves,
            left=snapshot.left if last else None,
        )
