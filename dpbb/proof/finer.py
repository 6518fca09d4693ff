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
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import reduce
from math import factorial
from typing import TYPE_CHECKING, Any

from dpbb.errors import OptionError
from dpbb.proof import checker
from dpbb.proof.cutting import FEW_ROOTS, Cutter
from dpbb.proof.exploring import Task
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from dpbb.options import TreeOptions
    from dpbb.problem import Problem
    from dpbb.proof.exploring import Counts

    Root = tuple[int, ...]
    Part = tuple[list[Root], Counts]
    ExploreTasks = Callable[[Sequence[Task]], Generator[tuple[int, Counts | None]]]

ROUND = 1 / 128
"""About this part of the tree is cut while as much is explored, and so on."""

ALL_SURE = 1 / 16
"""About this part is explored at a time once all parts are small enough."""

KEEP_S = 5.0
"""Seconds between two times that what is done is written."""

_CLOSED: Any = [(int, int)]

FORMS: dict[str, Any] = {
    "tree": str,
    "cut": ([int], [(int, [[int]])], _CLOSED, int),
    "done": (int, int, int, _CLOSED),
    "large": (int, int),
    "sure": (int, [int]),
}
"""Rows of the file, by their names; see ``Progress``. A list is of one form."""

MOST_UNITS = 20_000 - 1
"""Beside the first unit, the whole tree: files of more would be too large to read."""


def least_part(claimed: int) -> int:
    """Nodes of the largest part, so that there is room for all parts of a tree."""
    return max(1, 8 * claimed // MOST_UNITS)


def claimed_by(content: dict[str, Any]) -> int:
    """Nodes that the tree of a certificate is said to have."""
    return sum(content["totals"][name] for name in ("decomposed", "leaves"))


def fits(value: Any, form: Any) -> bool:
    """Whether a value is of a form: numbers are 0 or more."""
    if isinstance(form, type):
        return type(value) is form and (type(value) is not int or value >= 0)
    forms = form * len(value) if type(value) is type(form) is list else form
    ok = type(value) is list and len(value) == len(forms)
    return ok and all(map(fits, value, forms))


class Progress:
    """What is done of a tree, and what is left; rows of a file, in the order of events.

    The file grows by a gzip member now and then; what is behind the last whole one is
    removed, and explored again. Rows: ``tree``, the hash of what is explored; ``cut``,
    numbers of parts, new ones in their place with about how many nodes they have, and
    subtrees pruned, by depth, and nodes, above these; ``done``, number of a part and
    its counts; ``large``, number of one and how many nodes it has at least; ``sure``,
    how many nodes parts have at most by their estimates, and their numbers.

    Attributes
    ----------
    parts
        About how many nodes each part has that is not done, and its roots, by number;
        the whole tree is number 0.
    done, nodes
        Parts and their counts; nodes of all of them.
    closed, above
        Subtrees pruned, by depth, and nodes, above all parts.
    sure
        How many nodes parts have at most by their estimates, by number.
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
        self.nodes = 0
        self.closed: Counter[int] = Counter()
        self.above = 0
        self.sure: dict[int, int] = {}
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

    def check(self, n_jobs: int) -> None:
        """Check that all parts and what is closed above them are the tree.

        A file that cannot be of it is known so before anything is explored.

        Raises
        ------
        ValueError
            A part has no roots, roots overlap, or leaves are missing.
        """
        listed = [paths for paths, _ in self.done]
        listed += [paths for _, paths in self.parts.values()]
        roots = WorkUnit.from_paths(n_jobs, (path for part in listed for path in part))
        closed = checker.leaves_below(self.closed, n_jobs)
        if not all(listed) or roots.leaves + closed != factorial(n_jobs):
            raise ValueError("its parts are more than the tree, or less")
        for paths, (_, _, below) in self.done:
            depths = Counter(map(len, paths))
            leaves = checker.leaves_below(depths, n_jobs)
            if checker.leaves_below(below, n_jobs) != leaves:
                raise ValueError(f"{paths[0]} is done, but not closed")

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
            if fits(row, (str, form)) and row[0] == name:
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
                self.sure.pop(number, None)
            for nodes, paths in parts:
                self.parts[self._n_parts] = nodes, [*map(tuple, paths)]
                self._n_parts += 1
            self.closed.update(dict(closed))
            self.above += above
        elif name == "done":
            number, decomposed, leaves, closed = row
            counts = decomposed, leaves, Counter(dict(map(tuple, closed)))
            self.done.append((self.parts.pop(number)[1], counts))
            self.nodes += decomposed + leaves
            self.sure.pop(number, None)
        elif name == "large":
            number, nodes = row
            self.parts[number] = nodes, self.parts[number][1]
            self.sure.pop(number, None)
        else:
            nodes, numbers = row
            self.sure |= {number: nodes for number in numbers if self.parts[number]}


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
    explore_tasks: ExploreTasks,
    most: int,
    say: Callable[[str], None],
    here: Progress,
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
        larger only where a certificate has no room for so many, or where a call that
        was allowed more had done them.
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
    if here.went_on:
        here.check(problem.n_jobs)
    result = content["result"]
    floor = result["ub"] + result["all_optima"]
    # of roots that cannot be cut: two jobs are left, and they count nodes above them
    most = max(most, problem.n_jobs + 3)
    claimed = claimed_by(content)
    cutter = Cutter(problem, tree, floor, most)
    given_up = 0
    with ThreadPoolExecutor(1, "dpbb-cut") as beside:
        try:
            cutting: Future[list[Any]] | None = None
            taken: list[int] = []
            while here.parts:
                sure = {n for n, nodes in here.sure.items() if nodes <= cutter.small}
                a_round = ROUND if len(sure) < len(here.parts) else ALL_SURE
                small = _some(sure, here, a_round * claimed)
                if cutting is None and len(sure) < len(here.parts):
                    taken = _some(here.parts.keys() - sure, here, ROUND * claimed)
                    cutting = beside.submit(
                        cutter.cut, [(n, *here.parts[n]) for n in taken]
                    )
                if small:
                    share = here.nodes / claimed
                    say(f"{share:.1%} explored, explores {len(small)} parts")
                    about = here, small, explore_tasks, problem.n_jobs
                    large = _explore(*about, floor, most)
                    cutter.note(len(small), large)
                    given_up += large
                if cutting is not None and (not small or cutting.done()):
                    before, row = {*here.parts}, cutting.result()
                    if row[0]:
                        here.note("cut", row)
                        say(f"cut {len(row[0])} parts of more than {most} nodes")
                    new = here.parts.keys() - before
                    small = [n for n in new if here.parts[n][0] <= cutter.small]
                    small += here.parts.keys() & taken
                    here.note("sure", [int(cutter.small), small])
                    cutting = None
        finally:
            cutter.over.set()  # first: nobody waits for a cut if nothing can be written
            here.write()
    say(f"gave up {given_up} parts of more than {most} nodes")
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
    above = here.above, 0, here.closed
    return _books(content, floor, above, done)


def _some(numbers: Iterable[int], here: Progress, most: float) -> list[int]:
    """Return parts that have about so many nodes together, the smallest first."""
    taken: list[int] = []
    nodes = 0
    for number in sorted(numbers, key=lambda number: (here.parts[number][0], number)):
        if taken and nodes > most:
            break
        taken.append(number)
        nodes += here.parts[number][0]
    return taken


def _explore(
    here: Progress,
    waiting: list[int],
    explore_tasks: ExploreTasks,
    n_jobs: int,
    floor: int,
    most: int,
) -> int:
    """Explore parts, note which are done; returns how many are too large."""
    large = 0
    parts = [here.parts[number][1] for number in waiting]
    tasks = [Task(WorkUnit.from_paths(n_jobs, part), floor, most) for part in parts]
    with closing(explore_tasks(tasks)) as explored:
        for index, found in explored:
            if found is None:
                here.note("large", [waiting[index], 2 * most])
                large += 1
            else:
                counts = [*found[:2], _pairs(found[2])]
                here.note("done", [waiting[index], *counts])
    return large


def _merged(done: list[Part], most: int) -> list[Part]:
    """Put neighbors together as long as they can be explored, and listed, as one."""
    found: list[Part] = []
    for paths, counts in done:
        if found:
            before, sums = found[-1]
            nodes = sum(sums[:2]) + sum(counts[:2])
            if nodes <= most and len(before) + len(paths) <= FEW_ROOTS:
                found[-1] = before + paths, _sum([sums, counts])
                continue
        found.append((paths, counts))
    return found


def _sum(counts: Sequence[Counts]) -> Counts:
    return reduce(checker.plus, counts)


def _books(
    content: dict[str, Any], floor: int, above: Counts, done: list[Part]
) -> tuple[dict[str, Any], Counts]:
    """Return a certificate with these parts as units, and the sum of their counts."""
    rows: list[Part] = [([()], above), *done]
    total = _sum([counts for _, counts in rows])
    books = content | {
        "schema": checker.SCHEMA,
        "bounds": [(floor, content["result"]["permutation"] or ())],
        "units": [
            (roots, *counts[:2], _pairs(counts[2]), (floor, floor))
            for roots, counts in rows
        ],
        "totals": dict(
            zip(checker.COUNTS, (*total[:2], _pairs(total[2])), strict=True)
        ),
    }
    books = json.loads(json.dumps(books))
    checker.check_books(books)
    return books, total


def _pairs(closed: Counter[int]) -> list[tuple[int, int]]:
    return [(depth, closed[depth]) for depth in sorted(closed)]
