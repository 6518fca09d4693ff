"""Finer books of a tree: explored again in parts so small that any can be audited.

The units of a run are what seats gave each other, and a GPU keeps nearly all of a tree
to itself. Here the tree is cut below its root, shallowest nodes first, and what turns
out to have too many nodes is cut again. What is done is kept in a file, to go on from.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from math import factorial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpbb
from dpbb.errors import OptionError
from dpbb.proof import checker
from dpbb.proof.pieces import Task, grown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

    Root = tuple[int, ...]
    Counts = tuple[int, int, dict[int, int]]
    Part = tuple[list[Root], Counts]
    ExploreAll = Callable[
        [Sequence[tuple[list[list[int]], int, int]]],
        Iterator[tuple[int, Counts | None]],
    ]

AT_FIRST = 4096
"""Nodes that the tree is cut into before anything is explored."""

AGAIN = 64
"""Nodes that a part becomes which has too many nodes."""

TOGETHER = 8
"""Neighbors that are explored as one part."""

KEEP_S = 15.0
"""Seconds between two times that what is done is written."""

_PATHS: Any = [[int]]
_CLOSED: Any = [(int, int)]

KEPT = str, [(_PATHS, int, int, _CLOSED)], [_PATHS], [_PATHS], _CLOSED, int
"""Form of the file: tree, done, waiting, large, closed, above; see ``_Progress``."""

MOST_UNITS = checker.MAX_ENTRIES - 1
"""Beside the first unit, the whole tree."""


def least_part(claimed: int) -> int:
    """Nodes of the largest part, so that there is room for all parts of a tree."""
    return max(1, 8 * claimed // MOST_UNITS)


@dataclass
class _Progress:
    """What is done of a tree, and what is left; written to a file now and then.

    Parameters
    ----------
    path
        Of the file.
    tree
        Hash of what is explored.
    done
        Parts and their counts.
    waiting
        Parts that nobody has explored yet.
    large
        Those that turned out too large.
    closed, above
        Subtrees pruned, by depth, and nodes, above all parts.
    """

    path: Path
    tree: str
    done: list[Part] = field(default_factory=list)
    waiting: dict[int, list[Root]] = field(default_factory=dict)
    large: list[list[Root]] = field(default_factory=lambda: [[()]])
    closed: Counter[int] = field(default_factory=Counter)
    above: int = 0

    def write(self) -> None:
        """Replace the file."""
        rows = [(paths, *one[:2], _pairs(one[2])) for paths, one in self.done]
        left = [*self.waiting.values()], self.large
        known = self.tree, rows, *left, _pairs(self.closed), self.above
        beside = self.path.with_name(f"{self.path.name}~")
        beside.write_bytes(gzip.compress(json.dumps(known).encode(), 1))
        beside.replace(self.path)

    def read(self) -> None:
        """Go on from the file, if it is there.

        Raises
        ------
        OptionError
            It is none, or of another tree.
        """
        if not self.path.exists():
            return
        try:
            known = json.loads(gzip.decompress(self.path.read_bytes()))
            if checker.misfit(known, KEPT) is not None:
                raise ValueError("another form")
            tree, rows, waiting, large, closed, self.above = known
            self.done = [
                (_roots(paths), (nodes, leaves, dict(map(tuple, pruned))))
                for paths, nodes, leaves, pruned in rows
            ]
            self.waiting = dict(enumerate(map(_roots, waiting)))
            self.large = [*map(_roots, large)]
            self.closed = Counter(dict(map(tuple, closed)))
        except checker.DAMAGED as error:
            raise OptionError(
                f"finer: expected what is done so far, got {self.path}: {error}"
            ) from error
        if tree != self.tree:
            raise OptionError(f"finer: {self.path} is of another tree: remove it")


def _roots(paths: list[list[int]]) -> list[Root]:
    return [*map(tuple, paths)]


def in_parts(
    content: dict[str, Any],
    problem: Problem[Any],
    tree: TreeOptions,
    explore_all: ExploreAll,
    most: int,
    seat: tuple[str, str],
    say: Callable[[str], None],
    kept: Path,
) -> tuple[dict[str, Any], Counts]:
    """Explore the tree of a certificate.

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
    kept
        File of what is done so far; one that is there is where it goes on from, and
        what it says is believed.

    Returns
    -------
    tuple of dict and tuple
        Finer books, and all counts.

    Raises
    ------
    OptionError
        The tree has more parts than a certificate can have; the file is of another one.
    """
    result = content["result"]
    floor = result["ub"] + result["all_optima"]
    # of roots that cannot be cut: two jobs are left, and they count nodes above them
    most = max(most, TOGETHER * (problem.n_jobs + 3))
    about = [content[name] for name in ("instance", "tree", "result")]
    text = json.dumps(about, sort_keys=True)
    here = _Progress(kept, hashlib.sha256(text.encode()).hexdigest())
    here.read()
    while here.large or here.waiting:
        if not here.waiting:
            _cut(here, problem, tree, floor)
        say(f"explores {len(here.waiting)} parts of at most {most} nodes")
        parts = [*here.waiting.values()]
        here.waiting = dict(enumerate(parts))
        jobs = [([[*path] for path in part], floor, most) for part in parts]
        here.write()
        written = time.monotonic()
        for index, found in explore_all(jobs):
            part = here.waiting.pop(index)
            if found is None:
                here.large.append(part)
            else:
                here.done.append((part, found))
            if time.monotonic() - written > KEEP_S:
                here.write()
                written = time.monotonic()
        here.done = _merged(sorted(here.done), most)
        if len(here.done) > MOST_UNITS:
            raise OptionError(
                f"most_nodes: expected so many that there are at most {MOST_UNITS} "
                f"parts, got {most}"
            )
    above = here.above, 0, dict(here.closed)
    return _books(content, floor, above, here.done, seat)


def _cut(here: _Progress, problem: Problem[Any], tree: TreeOptions, ub: int) -> None:
    """Make many parts of each that is too large."""
    for part in here.large:
        wanted = AGAIN if here.done else AT_FIRST
        roots, pruned = grown(problem, tree, Task(part, ub, 0), wanted)
        for at in range(0, len(roots), TOGETHER):
            here.waiting[len(here.waiting)] = roots[at : at + TOGETHER]
        here.closed.update(map(len, pruned))
        # with its first leaf
        here.above += sum(map(checker.trailing_zeros, pruned))
    here.large = []


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
