"""Finer books of a tree: explored again in parts so small that any can be audited.

The units of a run are what seats gave each other, and a GPU keeps nearly all of a tree
to itself. Here the tree is cut until parts are estimated to be small. What turns out
to have too many nodes all the same is cut again.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import reduce
from random import Random
from typing import TYPE_CHECKING, Any

from dpbb.proof import checker
from dpbb.proof.exploring import TOLD_S, Task
from dpbb.proof.walking import opened, trailing_zeros
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpbb.proof.exploring import Counts, Tree

    Done = tuple[list[tuple[int, ...]], Counts]

MOST_UNITS = 20_000 - 1
"""Beside the first unit, the whole tree: files of more would be too large to read."""

SMALL = 1 / 2
"""What is estimated at more than this share of the nodes that a part may have is cut
before it is explored."""

PIECES = 64
"""Parts that come from one at most."""

FEW_ROOTS = 64
"""Neighbors are listed as one unit up to so many roots."""


def least_part(claimed: int) -> int:
    """Nodes of the largest part, so that there is room for all parts of a tree."""
    return max(1, 8 * claimed // MOST_UNITS)


def in_parts(
    content: dict[str, Any], tree: Tree, say: Callable[[str], None]
) -> tuple[dict[str, Any], Counts]:
    """Explore the tree of a certificate.

    Returns
    -------
    tuple of dict and tuple
        Finer books, and all counts.
    """
    floor, n_jobs = checker.floor_of(content), tree.problem.n_jobs
    claimed = sum(content["totals"][name] for name in ("decomposed", "leaves"))
    # of roots that cannot be cut two jobs are left, and they count nodes above them
    most = max(least_part(claimed), n_jobs + 3)
    done: list[Done] = []
    closed: Counter[int] = Counter()  # above all parts
    above = nodes = 0
    large = [(WorkUnit.whole(n_jobs), float(claimed))]

    def size_of(roots: WorkUnit, seed: int) -> float:
        can_be_cut = len(roots) > 1 or roots.depths[0] < n_jobs - 2
        if not (can_be_cut and tree.compiled):
            return 0.0
        random = Random(seed)  # noqa: S311 - the same parts wherever it is called
        return tree.size_of(roots, floor, random)

    while large:
        parts = []
        for roots, size in large:
            wanted = min(PIECES, 1 + int(size / (SMALL * most)))
            paths, pruned = opened(tree.problem, tree.options, roots, floor, wanted)
            closed.update(map(len, pruned))
            above += sum(map(trailing_zeros, pruned))
            step = min(wanted, len(paths))
            parts += [
                WorkUnit.from_paths(n_jobs, paths[at::step]) for at in range(step)
            ]
        with ThreadPoolExecutor(tree.threads) as pool:
            sizes = [*pool.map(size_of, parts, range(len(parts)))]
        sized = [*zip(parts, sizes, strict=True)]
        large = [part for part in sized if part[1] > SMALL * most]
        tasks = [Task(roots, floor, most) for roots, s in sized if s <= SMALL * most]
        say(
            f"{nodes / claimed:.1%} explored, explores {len(tasks)} parts, and cuts "
            f"{len(large)}"
        )
        told = time.monotonic()
        with closing(tree.explore_tasks(tasks)) as answers:
            for index, found in answers:
                roots = tasks[index].roots
                if found is None:
                    large.append((roots, 2.0 * most))
                    continue
                done.append(([*map(roots.path, range(len(roots)))], found))
                nodes += found[0] + found[1]
                if time.monotonic() > told + TOLD_S:
                    told = time.monotonic()
                    say(f"{nodes / claimed:.1%} explored")
    done.sort(key=lambda part: part[0])
    return _books(content, floor, [([()], (above, 0, closed)), *_merged(done, most)])


def _merged(done: list[Done], most: int) -> list[Done]:
    """Put neighbors together: as few as can be explored and listed as one unit.

    More where there would be too many units.
    """
    share = 1.0
    while True:
        found = done[:1]
        for paths, counts in done[1:]:
            before, sums = found[-1]
            nodes = sum(sums[:2]) + sum(counts[:2])
            few = len(before) + len(paths) <= share * FEW_ROOTS
            if few and nodes <= share * most:
                found[-1] = before + paths, checker.plus(sums, counts)
            else:
                found.append((paths, counts))
        if len(found) <= MOST_UNITS:
            return found
        share *= 9 / 8


def _books(
    content: dict[str, Any], floor: int, parts: list[Done]
) -> tuple[dict[str, Any], Counts]:
    """Return a certificate with these parts as units, and the sum of their counts."""
    total = reduce(checker.plus, (counts for _, counts in parts))
    sums = *total[:2], pairs(total[2])
    books = content | {
        "schema": checker.SCHEMA,
        "bounds": [(floor, content["result"]["permutation"] or ())],
        "units": [
            (roots, *counts[:2], pairs(counts[2]), (floor, floor))
            for roots, counts in parts
        ],
        "totals": dict(zip(checker.COUNTS, sums, strict=True)),
    }
    books = json.loads(json.dumps(books))
    checker.check_books(books)
    return books, total


def pairs(closed: Counter[int]) -> list[tuple[int, int]]:
    """Return closed subtrees by depth as a certificate has them."""
    return [(depth, closed[depth]) for depth in sorted(closed)]
