"""Finer books of a tree: explored again in parts so small that any can be audited.

The units of a run are what seats gave each other, and a GPU keeps nearly all of a tree
to itself. Here the tree is cut where estimates say that subtrees are small enough, and
what turns out to have too many nodes is cut again. What is done is kept in a file, to
go on from.
"""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections import Counter
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing
from math import factorial
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

import dpbb
from dpbb.errors import OptionError
from dpbb.estimation.plain import sampler_of
from dpbb.estimation.roots import RootSample
from dpbb.estimation.sampling import Sampler
from dpbb.kernels.cores import in_parts as on_cores
from dpbb.kernels.cores import usable_cores
from dpbb.proof import checker
from dpbb.proof.pieces import Growing, Node
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

    Root = tuple[int, ...]
    Counts = tuple[int, int, dict[int, int]]
    Part = tuple[list[Root], Counts]
    ExploreAll = Callable[
        [Sequence[tuple[list[list[int]], int, int]]],
        Generator[tuple[int, Counts | None]],
    ]

CUT_ABOVE, TOGETHER = 0.4, 0.5
"""A node that is estimated at more is cut, neighbors are explored as one part up to so
many nodes: as parts of the most that a part may have."""

SAMPLES, MORE = 8, 32
"""Nodes of a stratum that an estimate keeps; more of a part that was estimated at too
little, and of the first ones."""

COARSE = 256
"""The tree is cut into so many parts first. While some are explored, others are cut."""

ROUND = 1 / 32
"""About this part of the tree is cut while as much is explored, and so on."""

BATCH = 8
"""Roots that a core estimates at a time."""

KEEP_S = 5.0
"""Seconds between two times that what is done is written."""

_CLOSED: Any = [(int, int)]

FORMS: dict[str, Any] = {
    "tree": str,
    "cut": ([int], [(int, [[int]])], _CLOSED, int),
    "done": (int, int, int, _CLOSED),
    "large": (int, int),
}
"""Rows of the file, by their names; see ``Progress``."""

MOST_UNITS = checker.MAX_ENTRIES - 1
"""Beside the first unit, the whole tree."""


def least_part(claimed: int) -> int:
    """Nodes of the largest part, so that there is room for all parts of a tree."""
    return max(1, 8 * claimed // MOST_UNITS)


def claimed_by(content: dict[str, Any]) -> int:
    """Nodes that the tree of a certificate is said to have."""
    return sum(content["totals"][name] for name in ("decomposed", "leaves"))


class Progress:
    """What is done of a tree, and what is left; rows of a file, in the order of events.

    The file grows by a gzip member now and then; what is behind the last whole one is
    removed, and explored again. Rows: ``tree``, the hash of what is explored; ``cut``,
    numbers of parts, new ones in their place with about how many nodes they have, and
    subtrees pruned, by depth, and nodes, above these; ``done``, number of a part and
    its counts; ``large``, number of one and how many nodes it has at least.

    Attributes
    ----------
    parts
        About how many nodes each part has that is not done, and its roots, by number;
        the whole tree is number 0.
    done
        Parts and their counts.
    closed, above
        Subtrees pruned, by depth, and nodes, above all parts.
    went_on
        Whether the file was there: what it said is believed.

    Parameters
    ----------
    path
        Of the file; it is gone on from, if it is there.
    content
        The certificate of the tree.

    Raises
    ------
    OptionError
        The file is none, or of another tree.
    """

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        about = [content[name] for name in ("instance", "tree", "result")]
        text = json.dumps(about, sort_keys=True)
        tree = hashlib.sha256(text.encode()).hexdigest()
        claimed = claimed_by(content)
        self.parts: dict[int, tuple[int, list[Root]]] = {0: (claimed, [()])}
        self.done: list[Part] = []
        self.closed: Counter[int] = Counter()
        self.above = 0
        self._path, self._tree, self._n_parts = path, "", 1
        self._new: list[bytes] = []
        self._written = time.monotonic()
        self._whole = 0  # bytes of whole members
        first = _packed([_row("tree", tree)])
        if path.exists():
            data = path.read_bytes()
            try:
                self._read_all(data)
                # one that was cut off as it was begun is begun anew
                if not self._tree and not first.startswith(data):
                    raise ValueError("no tree")
            except (*checker.DAMAGED, LookupError) as error:
                raise OptionError(
                    f"finer: expected what is done so far, got {path}: {error}"
                ) from error
        self.went_on = bool(self._tree)
        if not self.went_on:
            self.note("tree", tree)
            self.write()
        elif self._tree != tree:
            raise OptionError(f"finer: {path} is of another tree: remove it")

    def note(self, name: str, row: Any) -> None:
        """Take a row, and write it with others some seconds later."""
        self._take(name, row)
        self._new.append(_row(name, row))
        if time.monotonic() - self._written > KEEP_S:
            self.write()

    def write(self) -> None:
        """Write all rows that are not in the file.

        One that fails, or is interrupted, can be done again: it removes what was
        written of it.
        """
        self._written = time.monotonic()
        if not self._new:
            return
        text = _packed(self._new)
        with self._path.open("ab") as file:
            file.truncate(self._whole)
            file.write(text)
        # in this order: rows are never written twice, wherever it is interrupted
        self._new = []
        self._whole += len(text)

    def _read_all(self, data: bytes) -> None:
        """Take the rows of all whole members."""
        while self._whole < len(data):
            member = zlib.decompressobj(31)
            try:
                text = member.decompress(data[self._whole :])
            except zlib.error:
                if not self._tree:
                    raise
                return  # behind what was written: half a member, or anything
            if not member.eof:
                return
            for line in text.splitlines():
                self._read(json.loads(line))
            self._whole = len(data) - len(member.unused_data)

    def _read(self, row: Any) -> None:
        for name, form in FORMS.items():
            if checker.misfit(row, (str, form)) is None and row[0] == name:
                self._take(*row)
                return
        raise ValueError("another form")

    def _take(self, name: str, row: Any) -> None:
        if name == "tree":
            self._tree = row
        elif name == "cut":
            numbers, parts, closed, above = row
            for number in numbers:
                del self.parts[number]
            for nodes, paths in parts:
                self.parts[self._n_parts] = nodes, [*map(tuple, paths)]
                self._n_parts += 1
            self.closed.update(dict(closed))
            self.above += above
        elif name == "done":
            number, decomposed, leaves, closed = row
            counts = decomposed, leaves, dict(map(tuple, closed))
            self.done.append((self.parts.pop(number)[1], counts))
        else:
            number, nodes = row
            self.parts[number] = nodes, self.parts[number][1]


def _row(name: str, row: Any) -> bytes:
    return json.dumps([name, row], separators=(",", ":")).encode()


def _packed(rows: list[bytes]) -> bytes:
    """Return rows as a gzip member."""
    packing = zlib.compressobj(1, wbits=31)
    return packing.compress(b"\n".join(rows)) + packing.flush()


def in_parts(
    content: dict[str, Any],
    problem: Problem[Any],
    tree: TreeOptions,
    explore_all: ExploreAll,
    most: int,
    seat: tuple[str, str],
    say: Callable[[str], None],
    here: Progress,
) -> tuple[dict[str, Any], Counts]:
    """Explore the tree of a certificate.

    Parameters
    ----------
    content, problem, tree
        The certificate, and what it is about.
    explore_all
        As of ``checker.Tree``.
    most
        A part that has more nodes is cut (a few for each job are allowed). Units are
        larger only where a certificate has no room for so many.
    seat
        Of the new leases, and the engine.
    here
        What is done so far: where it goes on from.

    Returns
    -------
    tuple of dict and tuple
        Finer books, and all counts.

    Raises
    ------
    OptionError
        The parts have too many roots for a certificate.
    """
    result = content["result"]
    floor = result["ub"] + result["all_optima"]
    # of roots that cannot be cut: two jobs are left, and they count nodes above them
    most = max(most, problem.n_jobs + 3)
    claimed = claimed_by(content)
    cutter = _Cutter(problem, tree, floor, most)
    with ThreadPoolExecutor(1, "dpbb-cut") as beside:
        try:
            cutting: Future[tuple[Any, Any, int]] | None = None
            taken: list[int] = []
            while here.parts:
                large = [n for n, (nodes, _) in here.parts.items() if nodes > most]
                waiting = [n for n, (nodes, _) in here.parts.items() if nodes <= most]
                if large and cutting is None:
                    taken = _some(large, here, claimed)
                    cutting = beside.submit(cutter.cut, [here.parts[n] for n in taken])
                if waiting:
                    waiting = _some(waiting, here, claimed)
                    say(f"explores {len(waiting)} parts of at most {most} nodes")
                    _explore(here, waiting, explore_all, floor, most)
                if cutting is not None and (not waiting or cutting.done()):
                    here.note("cut", [taken, *cutting.result()])
                    say(f"cut {len(taken)} parts of more than {most} nodes")
                    cutting = None
        finally:
            cutter.over.set()  # first: nobody waits for a cut if nothing can be written
            here.write()
    here.done.sort(key=lambda part: part[0])  # a file may have roots twice
    done, larger = _merged(here.done, most), most
    while len(done) > MOST_UNITS:
        if larger > claimed:
            raise OptionError(
                f"most_nodes: expected so many that there are at most {MOST_UNITS} "
                f"parts, got {most}"
            )
        larger += larger // 8 + 1
        done = _merged(here.done, larger)
    above = here.above, 0, dict(here.closed)
    return _books(content, floor, above, done, seat)


def _some(numbers: list[int], here: Progress, claimed: int) -> list[int]:
    """Return parts for a round, the smallest first."""
    taken: list[int] = []
    nodes = 0
    for number in sorted(numbers, key=lambda number: here.parts[number][0]):
        if taken and nodes > ROUND * claimed:
            break
        taken.append(number)
        nodes += here.parts[number][0]
    return taken


def _explore(
    here: Progress, waiting: list[int], explore_all: ExploreAll, floor: int, most: int
) -> None:
    """Explore parts, and note which are done, or too large."""
    parts = [here.parts[number][1] for number in waiting]
    jobs = [([[*path] for path in part], floor, most) for part in parts]
    with closing(explore_all(jobs)) as explored:
        for index, found in explored:
            if found is None:
                here.note("large", [waiting[index], 2 * most])
            else:
                counts = [*found[:2], _pairs(found[2])]
                here.note("done", [waiting[index], *counts])


class _Cutter:
    """Cuts what is too large where estimates say that it is small enough.

    Attributes
    ----------
    over
        Once it is set, cutting ends with a ``CancelledError``.

    Parameters
    ----------
    problem, tree, ub
        Of the tree.
    most
        Nodes that a part may have.
    """

    def __init__(
        self, problem: Problem[Any], tree: TreeOptions, ub: int, most: int
    ) -> None:
        self._problem, self._tree, self._ub, self._most = problem, tree, ub, most
        sampler = sampler_of(problem, tree, ub)
        self.over = Event()
        self._sampler = sampler if isinstance(sampler, Sampler) else None

    def cut(self, large: Sequence[tuple[int, list[Root]]]) -> tuple[Any, Any, int]:
        """Make many parts of each that is too large.

        Parameters
        ----------
        large
            About how many nodes each has, and its roots.

        Returns
        -------
        tuple
            Parts, as in ``large``, the largest first; subtrees pruned by depth, and
            nodes, above them. Those that are too large still can be cut.
        """
        growing = Growing(self._problem, self._tree, self._ub)
        parts: list[tuple[int, list[Root]]] = []
        for known, roots in large:
            parts += self._parts(growing, roots, known)
        parts.sort(key=lambda part: -part[0])
        # with its first leaf
        above = sum(map(checker.trailing_zeros, growing.pruned))
        return parts, _pairs(Counter(map(len, growing.pruned))), above

    def _parts(
        self, growing: Growing, roots: list[Root], known: int
    ) -> Iterator[tuple[int, list[Root]]]:
        """Yield the estimated nodes of each part, and its roots."""
        begin = growing.walked(roots)
        limit = CUT_ABOVE * self._most
        few = known <= 2 * self._most  # it was explored
        samples = MORE if few or not roots[0] else SAMPLES
        if not roots[0]:
            limit = max(limit, known / COARSE)
        new: list[tuple[Node, float]] = [(node, known) for node in begin]
        if len(begin) > 1:
            new = self._estimated([(begin, known)], samples)
        kept: list[tuple[Node, float]] = []
        shared = False
        while new:
            families: list[tuple[list[Node], float]] = []
            for node, size in new:
                if node.can_be_cut and size > limit:
                    families.append((growing.children(node), size))
                else:
                    kept.append((node, size))
            new = self._estimated(families, samples, shared=shared)
            factor = known / max(1.0, sum(size for _, size in kept))
            if not new and not shared and factor > 1.0:
                shared, new = True, [(node, factor * size) for node, size in kept]
                kept = []
        kept.sort(key=lambda one: one[0].path)
        part: list[Root] = []
        nodes = 0.0
        for node, size in kept:
            large = node.can_be_cut and size > CUT_ABOVE * self._most
            full = nodes + size > TOGETHER * self._most
            if part and (large or full or len(part) == checker.FEW_ROOTS):
                yield min(int(nodes), self._most), part
                part, nodes = [], 0.0
            if large:
                yield max(int(size), self._most + 1), [node.path]
                continue
            part.append(node.path)
            nodes += size
        if part:
            yield min(int(nodes), self._most), part

    def _estimated(
        self,
        families: list[tuple[list[Node], float]],
        samples: int,
        *,
        shared: bool = False,
    ) -> list[tuple[Node, float]]:
        """Estimate the nodes below siblings, of whose sum another estimate is given.

        Where it is to be shared, as estimates are too small, theirs only say in what
        proportion, and where there is no sampler, all siblings have the same.
        """
        nodes = [node for siblings, _ in families for node in siblings]
        sizes = np.ones(len(nodes))
        if self._sampler is not None and nodes:
            each, n_jobs = self._sampler.each, self._problem.n_jobs
            seeds = np.random.SeedSequence(len(nodes)).spawn(-(-len(nodes) // BATCH))

            def estimate(begin: int, end: int) -> None:
                if self.over.is_set():
                    raise CancelledError
                # in any order, where a unit of work has its own
                paths = [node.path for node in nodes[begin:end]]
                roots = RootSample.of(WorkUnit.from_paths(n_jobs, paths))
                order = sorted(range(begin, end), key=lambda at: nodes[at].path)
                sizes[order] = each(roots, samples, seeds[begin // BATCH])

            # those that explore meanwhile want cores, too
            threads = usable_cores() - usable_cores() // 4
            on_cores(estimate, len(nodes), BATCH, threads)
        sizes = np.maximum(sizes, 1.0)
        begin = 0
        for siblings, known in families:
            if shared or self._sampler is None:
                part = sizes[begin : begin + len(siblings)]
                part *= known / max(1.0, part.sum())
            begin += len(siblings)
        return [*zip(nodes, sizes.tolist(), strict=True)]


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
