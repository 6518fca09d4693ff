"""Leaf intervals, one at a time: what units of roots are compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpbb.tree import Counters, WorkUnit, n_leaves
from dpbb.tree.work_unit import narrow

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Leaves ``begin`` to ``end - 1``; Python ints, as 21! passes 64 bits."""

    begin: int
    end: int

    @property
    def size(self) -> int:
        """Number of leaves."""
        return self.end - self.begin

    def intersect(self, other: Interval) -> Interval:
        """Leaves in both; an empty interval when there are none."""
        begin = max(self.begin, other.begin)
        return Interval(begin, max(begin, min(self.end, other.end)))


def leaf_of_path(n_jobs: int, path: Sequence[int]) -> int:
    """First leaf of the node with this path: sum of path[i] (n - 1 - i)! (law 2)."""
    leaf = 0
    for depth, digit in enumerate(path):
        leaf = leaf * (n_jobs - depth) + int(digit)
    return leaf * n_leaves(n_jobs - len(path))


def interval_of(root: Sequence[int], n_jobs: int) -> Interval:
    """Leaves below a root."""
    begin = leaf_of_path(n_jobs, root)
    return Interval(begin, begin + n_leaves(n_jobs - len(root)))


def intervals_of(unit: WorkUnit) -> list[Interval]:
    """Leaves below the roots of a unit; adjoining intervals are merged."""
    merged: list[Interval] = []
    for root in unit.roots():
        interval = interval_of(root, unit.n_jobs)
        if merged and merged[-1].end == interval.begin:
            interval = Interval(merged.pop().begin, interval.end)
        merged.append(interval)
    return merged


def unchecked(n_jobs: int, paths: Sequence[Sequence[int]]) -> WorkUnit:
    """Return paths in this order, whatever they are, as if from outside."""
    columns: dict[str, list[int]] = {"depths": [], "shared": [], "tails": []}
    before: Sequence[int] = ()
    for path in paths:
        least = min(len(before), len(path))
        keeps = next((i for i in range(least) if before[i] != path[i]), least)
        columns["depths"].append(len(path))
        columns["shared"].append(keeps)
        columns["tails"] += path[keeps:]
        before = path
    kind = narrow(n_jobs)
    arrays = {key: np.array(value, kind) for key, value in columns.items()}
    return WorkUnit.from_arrays_unchecked(n_jobs, arrays)


def less_exported(counters: Counters, *units: WorkUnit) -> Counters:
    """Without the ancestors that exported roots take along (law 4)."""
    taken = sum(unit.owned_ancestors for unit in units)
    return replace(counters, decomposed=counters.decomposed - taken)


def unit_between(n_jobs: int, begin: int, end: int) -> WorkUnit:
    """Return the maximal roots of [begin, end): nodes inside whose parents are not."""
    paths: list[tuple[int, ...]] = []

    def visit(path: tuple[int, ...], first: int) -> None:
        size = n_leaves(n_jobs - len(path))
        if first >= end or first + size <= begin:
            return
        if begin <= first and first + size <= end:
            paths.append(path)
            return
        below = size // (n_jobs - len(path))
        for digit in range(n_jobs - len(path)):
            visit((*path, digit), first + digit * below)

    visit((), 0)
    return WorkUnit.from_paths(n_jobs, paths)
