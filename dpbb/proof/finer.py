"""Finer books of a tree: explored again in parts so small that any can be audited.

The units of a run are what seats gave each other, and a GPU keeps nearly all of a tree
to itself. Here the tree is cut below its root, shallowest nodes first, and what turns
out to have too many nodes is cut again.
"""

from __future__ import annotations

from collections import Counter
from math import factorial
from typing import TYPE_CHECKING, Any

import dpbb
from dpbb.errors import OptionError
from dpbb.proof import checker
from dpbb.proof.pieces import Task, grown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

    Path = tuple[int, ...]
    Counts = tuple[int, int, dict[int, int]]
    Part = tuple[list[Path], Counts]
    ExploreAll = Callable[
        [Sequence[tuple[list[list[int]], int, int]]],
        Iterator[tuple[int, Counts | None]],
    ]

AT_FIRST = 4096
"""Nodes that the tree is cut into before anything is explored."""

AGAIN = 128
"""Nodes that a part becomes which has too many nodes."""

TOGETHER = 8
"""Neighbors that are explored as one part."""

MOST_UNITS = checker.MAX_ENTRIES - 1
"""Beside the first unit, the whole tree."""


def least_part(claimed: int) -> int:
    """Nodes of the largest part, so that there is room for all parts of a tree."""
    return max(1, 8 * claimed // MOST_UNITS)


def in_parts(
    content: dict[str, Any],
    problem: Problem[Any],
    tree: TreeOptions,
    explore_all: ExploreAll,
    most: int,
    seat: tuple[str, str],
    say: Callable[[str], None],
) -> tuple[dict[str, Any], Counts]:
    """Explore the tree of a certificate; returns finer books, and all counts.

    Parameters
    ----------
    content, problem, tree
        The certificate, and what it is about.
    explore_all
        As of ``checker.Tree``.
    most
        A part that has more nodes is cut (a few for each job are allowed).
    seat
        Of the new leases, and the engine.

    Raises
    ------
    OptionError
        The tree has more parts than a certificate can have.
    """
    result = content["result"]
    floor = result["ub"] + result["all_optima"]
    # of roots that cannot be cut: two jobs are left, and they count nodes above them
    most = max(most, TOGETHER * (problem.n_jobs + 3))
    own, above = Counter[int](), 0  # closed by depth, and nodes, above the parts
    done: list[Part] = []
    large: list[list[Path]] = [[()]]
    while large:
        waiting = []
        for part in large:
            wanted = AGAIN if done else AT_FIRST
            roots, pruned = grown(problem, tree, Task(part, floor, 0), wanted)
            waiting += [
                roots[at : at + TOGETHER] for at in range(0, len(roots), TOGETHER)
            ]
            own.update(map(len, pruned))
            above += sum(map(checker.trailing_zeros, pruned))  # with its first leaf
        say(f"explores {len(waiting)} parts of at most {most} nodes")
        jobs = [([[*path] for path in part], floor, most) for part in waiting]
        large = []
        for index, found in explore_all(jobs):
            if found is None:
                large.append(waiting[index])
            else:
                done.append((waiting[index], found))
        done = _merged(sorted(done), most)
        if len(done) > MOST_UNITS:
            raise OptionError(
                f"most_nodes: expected so many that there are at most {MOST_UNITS} "
                f"parts, got {most}"
            )
    return _books(content, floor, (above, 0, dict(own)), done, seat)


def _merged(done: list[Part], most: int) -> list[Part]:
    """Put neighbors together as long as they can be explored, and listed, as one."""
    found: list[Part] = []
    for paths, counts in done:
        if found:
            before, sums = found[-1]
            nodes = sum(sums[:2]) + sum(counts[:2])
            if nodes <= most and len(before) + len(paths) <= checker.FEW_ROOTS:
                found[-1] = before + paths, _sum([sums, counts])
                continue
        found.append((paths, counts))
    return found


def _sum(counts: Sequence[Counts]) -> Counts:
    closed = sum((Counter(one[2]) for one in counts), Counter[int]())
    return sum(one[0] for one in counts), sum(one[1] for one in counts), dict(closed)


def _books(
    content: dict[str, Any],
    floor: int,
    above: Counts,
    done: list[Part],
    seat: tuple[str, str],
) -> tuple[dict[str, Any], Counts]:
    """Return a certificate with these parts as units, and the sum of their counts."""
    n_jobs, _ = checker.size_of(content)
    units: list[list[Any]] = [[1, 0, str(factorial(n_jobs)), 1, [[]]]]
    counts = [above]
    for number, (paths, found) in enumerate(done, 2):
        leaves = sum(factorial(n_jobs - len(path)) for path in paths)
        listed = [[*path] for path in paths]
        units.append([number, 1, str(leaves), len(paths), listed])
        counts.append(found)
    ends, version = [floor, floor], dpbb.__version__
    leases = [
        [row[0], 1, *seat, *one[:2], _pairs(one[2]), ends, row[0] > 1, version]
        for row, one in zip(units, counts, strict=True)
    ]
    total = _sum(counts)
    names = "decomposed", "leaves", "closed"
    books = content | {
        "schema": checker.SCHEMA,
        "bounds": [[floor, content["result"]["permutation"]]],
        "units": units,
        "leases": leases,
        "totals": dict(zip(names, (*total[:2], _pairs(total[2])), strict=True)),
        "rest": dict(zip(names, (0, 0, []), strict=True)),
    }
    checker.check_units(books)
    checker.check_sums(books)
    return books, total


def _pairs(closed: dict[int, int]) -> list[list[int]]:
    return [[depth, closed[depth]] for depth in sorted(closed)]
