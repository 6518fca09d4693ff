"""Finer books of a tree: explored again in parts so small that any can be audited.

The units of a run are what seats gave each other, and a GPU keeps nearly all of a tree
to itself. Here the tree is cut where estimates say that subtrees are small enough, and
what turns out to have too many nodes is cut again.
"""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import reduce
from typing import TYPE_CHECKING, Any

from dpbb.errors import OptionError
from dpbb.proof import checker
from dpbb.proof.cutting import FEW_ROOTS, Cutter, Part
from dpbb.proof.exploring import Task
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from concurrent.futures import Future

    from dpbb.options import TreeOptions
    from dpbb.problem import Problem
    from dpbb.proof.cutting import Cut, Root
    from dpbb.proof.exploring import Counts

    Done = tuple[list[Root], Counts]
    ExploreTasks = Callable[[Sequence[Task]], Generator[tuple[int, Counts | None]]]

ROUND = 1 / 128
"""About this part of the tree is cut while as much is explored, and so on."""

ALL_SMALL = 1 / 16
"""About this part is explored at a time once all parts are small enough."""

MOST_UNITS = 20_000 - 1
"""Beside the first unit, the whole tree: files of more would be too large to read."""


def least_part(claimed: int) -> int:
    """Nodes of the largest part, so that there is room for all parts of a tree."""
    return max(1, 8 * claimed // MOST_UNITS)


def claimed_by(content: dict[str, Any]) -> int:
    """Nodes that the tree of a certificate is said to have."""
    return sum(content["totals"][name] for name in ("decomposed", "leaves"))


class Progress:
    """What is done of a tree, and what is left.

    Attributes
    ----------
    parts
        Those that are not done.
    done, nodes
        Roots of parts that are done, and counts; nodes of all of them.
    closed, above
        Subtrees pruned, by depth, and nodes, above all parts.

    Parameters
    ----------
    claimed
        Nodes of the tree.
    """

    def __init__(self, claimed: int) -> None:
        self.parts = {Part(claimed, [()])}
        self.done: list[Done] = []
        self.nodes = 0
        self.closed: Counter[int] = Counter()
        self.above = 0

    def note_done(self, part: Part, counts: Counts) -> None:
        """Take counts of a part."""
        self.parts.remove(part)
        self.done.append((part.roots, counts))
        self.nodes += counts[0] + counts[1]

    def note_cut(self, cut: Cut) -> None:
        """Take parts in the place of those that were cut."""
        self.parts -= {*cut.parts}
        self.parts |= {*cut.new}
        self.closed += cut.closed
        self.above += cut.above


def in_parts(
    content: dict[str, Any],
    problem: Problem[Any],
    tree: TreeOptions,
    explore_tasks: ExploreTasks,
    most: int,
    say: Callable[[str], None],
) -> tuple[dict[str, Any], Counts]:
    """Explore the tree of a certificate.

    Parameters
    ----------
    content, problem, tree
        The certificate, and what it is about.
    explore_tasks
        Of ``exploring.Tree``.
    most
        A part that has more nodes is cut (a few for each job are allowed). Units are
        larger only where a certificate has no room for so many.

    Returns
    -------
    tuple of dict and tuple
        Finer books, and all counts.

    Raises
    ------
    OptionError
        The parts have too many roots for a certificate.
    """
    floor = checker.floor_of(content)
    # of roots that cannot be cut: two jobs are left, and they count nodes above them
    most = max(most, problem.n_jobs + 3)
    claimed = claimed_by(content)
    progress = Progress(claimed)
    cutter = Cutter(problem, tree, floor, most)
    given_up = 0
    with ThreadPoolExecutor(1, "dpbb-cut") as pool:
        try:
            cutting: Future[Cut] | None = None
            while progress.parts:
                unsure = [part for part in progress.parts if not part.is_small]
                if cutting is None and unsure:
                    cutting = pool.submit(cutter.cut, _some(unsure, ROUND * claimed))
                share = ROUND if unsure else ALL_SMALL
                small = (part for part in progress.parts if part.is_small)
                if waiting := _some(small, share * claimed):
                    explored = progress.nodes / claimed
                    say(f"{explored:.1%} explored, explores {len(waiting)} parts")
                    large = _explore(
                        progress, waiting, explore_tasks, problem.n_jobs, floor, most
                    )
                    cutter.note(len(waiting), large)
                    given_up += large
                if cutting is not None and (not waiting or cutting.done()):
                    cut, cutting = cutting.result(), None
                    progress.note_cut(cut)
                    if cut.parts:
                        say(f"cut {len(cut.parts)} parts of more than {most} nodes")
        finally:
            cutter.over.set()
    say(f"gave up {given_up} parts of more than {most} nodes")
    progress.done.sort(key=lambda part: part[0])
    done, larger = _merged(progress.done, most), most
    while len(done) > MOST_UNITS:
        if larger > claimed:
            raise OptionError(
                f"most_nodes: expected so many that there are at most {MOST_UNITS} "
                f"parts, got {most}"
            )
        larger += larger // 8 + 1
        done = _merged(progress.done, larger)
    return _books(content, floor, [([()], (progress.above, 0, progress.closed)), *done])


def _explore(
    progress: Progress,
    waiting: list[Part],
    explore_tasks: ExploreTasks,
    n_jobs: int,
    floor: int,
    most: int,
) -> int:
    """Explore parts, note which are done; returns how many are too large."""
    large = 0
    units = (WorkUnit.from_paths(n_jobs, part.roots) for part in waiting)
    with closing(explore_tasks([Task(unit, floor, most) for unit in units])) as answers:
        for index, found in answers:
            part = waiting[index]
            if found is not None:
                progress.note_done(part, found)
            else:
                part.nodes, part.is_small = 2 * most, False
                large += 1
    return large


def _some(parts: Iterable[Part], most: float) -> list[Part]:
    """Return parts that have about so many nodes together, the smallest first."""
    taken: list[Part] = []
    nodes = 0
    for part in sorted(parts, key=lambda part: (part.nodes, part.roots)):
        if taken and nodes > most:
            break
        taken.append(part)
        nodes += part.nodes
    return taken


def _merged(done: list[Done], most: int) -> list[Done]:
    """Put neighbors together as long as they can be explored, and listed, as one."""
    found: list[Done] = []
    for paths, counts in done:
        if found:
            before, sums = found[-1]
            nodes = sum(sums[:2]) + sum(counts[:2])
            if nodes <= most and len(before) + len(paths) <= FEW_ROOTS:
                found[-1] = before + paths, checker.plus(sums, counts)
                continue
        found.append((paths, counts))
    return found


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
