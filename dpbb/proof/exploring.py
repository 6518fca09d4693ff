"""Exploring parts of a tree again: here, or as tasks anywhere.

Counts of disjoint roots add up, whoever explores them: a node belongs to the owner of
its first leaf. So a part is split as one likes, and its pieces go to any engine.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from queue import SimpleQueue
from random import Random
from threading import Event
from typing import Any, TypeAlias

import numpy as np

from dpbb.engines.base import (
    Clears,
    Device,
    Engine,
    Exploration,
    Session,
    Slice,
    explore_to_end,
)
from dpbb.engines.registry import get_engine
from dpbb.estimation.roots import RootSample
from dpbb.estimation.sampling import Sampler
from dpbb.kernels.cores import usable_cores
from dpbb.options import TreeOptions
from dpbb.problem import Problem, objective_of
from dpbb.proof import checker
from dpbb.tree.work_unit import WorkUnit

Counts: TypeAlias = "tuple[int, int, Counter[int]]"
"""Decomposed nodes, leaves, and closed subtrees by depth."""

Elsewhere: TypeAlias = (
    "Callable[[Problem[Any], TreeOptions, bool, Sequence[Task]],"
    " Iterator[tuple[int, Found]]]"
)
"""Explores tasks of a tree, for all optima or not, in another place.

Yields the number of each and what was found, in any order.
"""

SAMPLES, SAMPLES_PLAIN = 64, 4
"""Nodes of a stratum that an estimate keeps; where nothing of a problem is compiled."""

FEW_ROOTS, MOST_ROOTS = 64, 512
"""With more roots fewer are kept below each; so many are estimated together."""

TOLD_S = 5.0
"""Seconds between two lines of how far it is."""

SLICE_S, LEAST_S, RATE = 0.2, 0.002, {"cpu": 1e8, "cuda": 1e10}
"""Seconds between two looks at the number of nodes; fewer where few are wanted: at so
many nodes a second, by kind of device, they are found."""


@dataclass(frozen=True, slots=True)
class Task:
    """What to explore again.

    Parameters
    ----------
    roots
        May be none.
    ub
        Upper bound.
    most
        Exploring ends when there are more nodes.
    """

    roots: WorkUnit
    ub: int
    most: int


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Parameters
    ----------
    decomposed, leaves, closed
        Counts; closed subtrees by depth.
    best
        Value of the best schedule below the upper bound; None: there is none.
    whole
        Whether all of it was explored.
    """

    decomposed: int = 0
    leaves: int = 0
    closed: Counter[int] = field(default_factory=Counter)
    best: int | None = None
    whole: bool = True

    @property
    def nodes(self) -> int:
        """Nodes of both kinds."""
        return self.decomposed + self.leaves

    def plus(self, other: Found) -> Found:
        """Add what was found in another piece."""
        known = [best for best in (self.best, other.best) if best is not None]
        return Found(
            self.decomposed + other.decomposed,
            self.leaves + other.leaves,
            self.closed + other.closed,
            min(known, default=None),
            self.whole and other.whole,
        )


class Explorer:
    """Explores pieces one after the other, in one session as long as that is possible.

    Attributes
    ----------
    on_slice
        Is called with every slice.
    """

    def __init__(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        all_optima: bool,
        engine: Engine,
        device: Device,
    ) -> None:
        self._problem, self._tree, self._all_optima = problem, tree, all_optima
        self._engine, self._device = engine, device
        self._session: Session | None = None
        self._ub = 0
        self.on_slice: Callable[[Slice], None] = lambda _part: None

    def explore(
        self, task: Task, should_stop: Callable[[], bool] = lambda: False
    ) -> Found:
        """Explore a piece."""
        if not len(task.roots):
            return Found()
        session = self._open(task.ub)

        def enough(part: Slice, total: Exploration) -> bool:
            self.on_slice(part)
            return total.counters.nodes > task.most or should_stop()

        try:
            session.load(task.roots)
            rate = RATE.get(self._device.kind, RATE["cpu"])
            slice_s = min(SLICE_S, LEAST_S + task.most / rate)
            total = explore_to_end(session, task.ub, slice_s, enough)
        except BaseException:
            self.close()
            raise
        if total.best is not None:
            self.close()  # it prunes at less
        elif not total.exhausted:
            if isinstance(session, Clears):
                session.clear()
            else:
                self.close()
        counts, closed = total.counters, total.counters.closed
        return Found(
            counts.decomposed,
            counts.leaves,
            Counter({int(d): int(closed[d]) for d in np.flatnonzero(closed)}),
            None if total.best is None else total.best.value,
            total.exhausted,
        )

    def close(self) -> None:
        """Free the session."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _open(self, ub: int) -> Session:
        if self._session is None or ub != self._ub:
            self.close()
            about = self._problem, self._tree, self._device
            self._session = self._engine.open(
                *about, ub=ub, all_optima=self._all_optima
            )
            self._ub = ub
        return self._session


def side_by_side(
    explorers: Sequence[Explorer], tasks: Sequence[Task]
) -> Generator[tuple[int, Found]]:
    """Explore tasks, a thread for each explorer.

    Yields the number of each and what was found, in any order.
    """
    if min(len(explorers), len(tasks)) == 1:
        for index, task in enumerate(tasks):
            yield index, explorers[0].explore(task)
        return
    free: SimpleQueue[Explorer] = SimpleQueue()
    for explorer in explorers:
        free.put(explorer)
    over = Event()

    def explore(task: Task) -> Found:
        explorer = free.get()
        try:
            return explorer.explore(task, over.is_set)
        finally:
            free.put(explorer)

    with ThreadPoolExecutor(len(explorers), "dpbb-explore") as pool:
        futures = {pool.submit(explore, task): at for at, task in enumerate(tasks)}
        try:
            for future in as_completed(futures):
                yield futures.pop(future), future.result()
        finally:
            over.set()
            pool.shutdown(cancel_futures=True)


class Missed(checker.Failed):
    """A schedule was found that is better than what is claimed."""


class Tree:
    """The tree of a claim; explores and estimates its parts for ``checker.audit``.

    Parameters
    ----------
    problem, content
        The certificate, and what it is about.
    engine
        Name of what explores here; ``"auto"``: the CPU engine if it takes the problem,
        else the reference engine.
    elsewhere
        What explores instead, if it is not None.
    say
        Is told how far the exploration is.

    Attributes
    ----------
    problem, options
        What the tree is of.
    engine, name
        What explores here; what explores.
    compiled
        Whether estimates are, and take milliseconds.
    threads
        That estimate side by side; one where a problem's own methods do.
    """

    def __init__(
        self,
        problem: Problem[Any],
        content: dict[str, Any],
        engine: str,
        elsewhere: Elsewhere | None,
        say: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._say = say
        self.problem, self.options = problem, TreeOptions.from_json(content["tree"])
        self.compiled = get_engine("cpu").supports(problem, self.options) is None
        self.threads = usable_cores() if self.compiled else 1
        if engine == "auto":
            engine = "cpu" if self.compiled else "reference"
        self.engine = engine
        self._all_optima = bool(content["result"]["all_optima"])
        self._elsewhere = elsewhere
        self.name = engine if elsewhere is None else "a cluster"
        self._explorers: list[Explorer] = []
        self._samplers: dict[int, Sampler] = {}
        if elsewhere is None:
            chosen = get_engine(engine)
            self._explorers = [
                Explorer(problem, self.options, self._all_optima, chosen, device)
                for device in chosen.devices() or [Device("cpu", "verify")]
            ]

    def weigh(self, part: checker.Part, ub: int, rng: Random) -> float:
        """Estimate the number of nodes of a part.

        Below each of its roots: one large subtree may be hidden among thousands.
        """
        return self.size_of(self._owned(part), ub, rng)

    def size_of(self, roots: WorkUnit, ub: int, rng: Random) -> float:
        """Estimate the number of nodes below roots."""
        sampler = self._samplers.get(ub)
        if sampler is None:
            sampler = self._samplers[ub] = Sampler(self.problem, self.options, ub)
        samples = SAMPLES if sampler.compiled else SAMPLES_PLAIN
        samples = max(1, samples * FEW_ROOTS // max(FEW_ROOTS, len(roots)))
        size = 0.0
        for first in range(0, len(roots), MOST_ROOTS):
            some = RootSample.of(roots.take(slice(first, first + MOST_ROOTS)))
            seed = np.random.SeedSequence(rng.getrandbits(63))
            size += float(sampler.each(some, samples, seed).sum())
        return size

    def _owned(self, part: checker.Part) -> WorkUnit:
        """Return what is left of the roots of a part without those of others."""
        roots, given = (
            WorkUnit.from_paths(self.problem.n_jobs, paths)
            for paths in (part.roots, part.given)
        )
        return roots.subtract(given)

    def explore_all(
        self, jobs: Sequence[tuple[checker.Part, int, int]]
    ) -> Generator[tuple[int, Counts | None]]:
        """Explore parts, as ``checker.Tree.explore_all`` does, in any order."""
        self._done, self._wanted = 0, sum(most for *_, most in jobs)
        self._began = time.monotonic()
        self._due = self._began + TOLD_S
        for explorer in self._explorers:
            explorer.on_slice = self._tell
        tasks = [Task(self._owned(part), ub, most) for part, ub, most in jobs]
        yield from self.explore_tasks(tasks)

    def _tell(self, part: Slice) -> None:
        """Say how much of all jobs is explored, and the time left, now and then."""
        self._done += part.decomposed + part.leaves
        now, done = time.monotonic(), max(1, self._done)
        if now >= self._due and done < self._wanted:
            self._due = now + TOLD_S
            left = (now - self._began) * (self._wanted / done - 1)
            self._say(f"explored {done / self._wanted:.0%}, about {left:.0f} s left")

    def explore_tasks(
        self, tasks: Sequence[Task]
    ) -> Generator[tuple[int, Counts | None]]:
        """Explore tasks; yields the number of each, and its counts.

        None instead of these if there are more than so many nodes.
        """
        found: Iterator[tuple[int, Found]]
        if self._elsewhere is None:
            found = side_by_side(self._explorers, tasks)
        else:
            about = self.problem, self.options, self._all_optima
            found = self._elsewhere(*about, tasks)
        for index, one in found:
            task = tasks[index]
            if one.best is not None and one.best < task.ub - self._all_optima:
                raise Missed(
                    f"a schedule of {objective_of(self.problem)} {one.best} below "
                    f"{task.ub} was missed"
                )
            whole = one.whole and one.nodes <= task.most
            yield index, (one.decomposed, one.leaves, one.closed) if whole else None

    def close(self) -> None:
        """Free the sessions."""
        for explorer in self._explorers:
            explorer.close()
