"""From parents to their open children, in batches: on threads, or on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.pool.nodes import Batch, make_children
from dpbb.kernels.pool_models import BACK_BIT, Nodes, OnDevice, PoolModel

IN_FLIGHT = 2
"""Batches on their way at a time: the host makes the children of one while the device
bounds the other."""

LEAST_PART = 16, 256
"""Fewest nodes of a part that a thread branches on, and fewest children of a part that
it makes for a device."""

CHILDREN_PER_THREAD = 512
"""Children of a first batch."""

Wanted = NDArray[np.bool_]
"""Which children are wanted, by number of the node and digit; shape (nodes, n_jobs)."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """Open children of a batch.

    Parameters
    ----------
    children
        They, with their bounds.
    parent, digit : shape (r,)
        Which node of the batch each is of, and its digit.
    bounded
        How many children had a tightened bound computed.
    seconds
        Of these computations; of all threads together.
    halved
        The device had no memory for all of them at a time.
    """

    children: Batch
    parent: NDArray[np.int32]
    digit: NDArray[np.int64]
    bounded: int
    seconds: float = 0.0
    halved: bool = False

    @classmethod
    def together(cls, parts: Sequence[Bounded]) -> Bounded:
        """Return the children of all parts of a batch, at least one."""
        return cls(
            Batch.concatenate([part.children for part in parts]),
            np.concatenate([part.parent for part in parts]),
            np.concatenate([part.digit for part in parts]),
            sum(part.bounded for part in parts),
            sum(part.seconds for part in parts),
        )


class Bounding:
    """Branches on nodes and bounds their children, several batches at a time.

    Parameters
    ----------
    model
        The problem with its tree.
    threads
        Threads that branch and bound; of a device, that make its nodes.
    there
        The device; None: threads alone.
    """

    def __init__(
        self, model: PoolModel, threads: int, there: OnDevice | None = None
    ) -> None:
        self._model, self._there = model, there
        self._n_threads = threads
        self._threads = ThreadPoolExecutor(threads, "dpbb-pool")
        self._batches = ThreadPoolExecutor(IN_FLIGHT, "dpbb-pool-device")

    @property
    def first_size(self) -> int:
        """Children of a first batch, where nothing is known yet."""
        if self._there is not None:
            return self._there.first_size
        return CHILDREN_PER_THREAD * self._n_threads

    def begin(
        self, parents: Batch, ub: int, wanted: Wanted | None = None
    ) -> Callable[[], Bounded]:
        """Begin with a batch; several may be on their way.

        Threads take a part each: small parts would wait for Python's lock. No thread
        waits for the last part, as the next batch is on its way.

        Returns
        -------
        callable
            Waits for the result and returns it.
        """
        if self._there is not None:
            return self._batches.submit(self._on_device, parents, ub, wanted).result
        futures = [
            self._threads.submit(bound_children, self._model, parents, part, ub, wanted)
            for part in self._parts(parents.size, LEAST_PART[0])
        ]
        return lambda: Bounded.together([future.result() for future in futures])

    def use_threads(self, threads: int) -> None:
        """Use so many threads from the next batch on; a device does nothing."""
        if self._there is None and threads != self._n_threads:
            self._threads.shutdown(wait=True)
            self._n_threads = threads
            self._threads = ThreadPoolExecutor(threads, "dpbb-pool")

    def close(self) -> None:
        """End the threads; memory of a device goes back with the model."""
        self._batches.shutdown(wait=True)
        self._threads.shutdown(wait=True)

    def _parts(self, count: int, least: int) -> list[slice]:
        size = max(least, -(-count // self._n_threads))
        return [slice(b, min(b + size, count)) for b in range(0, max(count, 1), size)]

    def _on_device(self, parents: Batch, ub: int, wanted: Wanted | None) -> Bounded:
        """Bound a batch there, by halves where the device has no memory for it."""
        from cupy.cuda.memory import OutOfMemoryError

        try:
            return self._branch_there(parents, ub, wanted)
        except OutOfMemoryError:
            half = parents.size // 2
            if not half:
                raise
        parts = []
        for some in (slice(half), slice(half, None)):
            fewer = None if wanted is None else wanted[some]
            part = self._on_device(parents.take(some), ub, fewer)
            parts.append(replace(part, parent=part.parent + np.int32(some.start or 0)))
        return replace(Bounded.together(parts), halved=True)

    def _branch_there(self, parents: Batch, ub: int, wanted: Wanted | None) -> Bounded:
        """Branch and bound on the device; children become nodes here."""
        there = cast(OnDevice, self._there)
        began = time.perf_counter()
        parent, code, bounds, tightened = there.branch(parents.nodes, ub)
        seconds = time.perf_counter() - began
        if wanted is not None:
            keep = wanted[parent, digits_of(code)]
            parent, code, bounds = parent[keep], code[keep], bounds[keep]

        def make(part: slice) -> Batch:
            return children_of(parents, parent[part], code[part], bounds[part])

        parts = self._parts(len(parent), LEAST_PART[1])
        made = map(make, parts) if len(parts) == 1 else self._threads.map(make, parts)
        children = Batch.concatenate(list(made))
        return Bounded(children, parent, digits_of(code), tightened, seconds)


def bound_children(
    model: PoolModel, parents: Batch, some: slice, ub: int, wanted: Wanted | None
) -> Bounded:
    """Return the open children of some nodes of a batch, in this thread."""
    parent, code, bounds = model.branch(Nodes(*(p[some] for p in parents.nodes)), ub)
    parent = parent + np.int32(some.start)
    if wanted is not None:
        keep = wanted[parent, digits_of(code)]
        parent, code, bounds = parent[keep], code[keep], bounds[keep]
    children = children_of(parents, parent, code, bounds)
    due = np.flatnonzero(model.tightened(children.depths))
    began = time.perf_counter()
    if len(due):
        nodes = children if len(due) == len(parent) else children.take(due)
        children.bounds[due] = model.bound(nodes.nodes, ub)
    seconds = time.perf_counter() - began
    is_open = children.bounds < ub
    found = children.take(is_open), parent[is_open], digits_of(code[is_open])
    return Bounded(*found, len(due), seconds)


def digits_of(code: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Return the digits of children; see ``PoolModel.branch``."""
    return (code & (BACK_BIT - 1)).astype(np.int64)


def children_of(
    parents: Batch,
    parent: NDArray[np.int32],
    code: NDArray[np.uint16],
    bounds: NDArray[np.int32],
) -> Batch:
    """Return children as nodes; see ``PoolModel.branch``."""
    children = Batch.empty(parents.rows.shape[1], len(parent))
    make_children(parents, parent, code, bounds, children)
    return children


MEASURED = 3
"""Batches of a size before it is judged, by the one in the middle: a machine with other
work stops now and then."""

GAIN = 1.05
"""A larger size is kept if it raises the rate of bounds by so much."""

CHANGED = 0.2
"""The search starts again when nodes have so many more, or fewer, unscheduled jobs."""

LARGEST = 1 << 18
"""Children of the largest batch that is tried; the founding papers' largest pool."""


class PoolSize:
    """Number of children of a batch, as the rates of earlier ones say.

    It is doubled while the rate grows by more than 5 %, then goes back by one step and
    stays until nodes have become larger or smaller by a fifth.

    Parameters
    ----------
    first
        Size to start from.
    fixed
        Given by the user: it never changes.
    longest_s
        No size is chosen whose batch would take longer.
    """

    def __init__(self, first: int, fixed: int | None, longest_s: float) -> None:
        self._longest_s = longest_s
        self.now = first if fixed is None else fixed
        self._searches = fixed is None
        self._is_fixed = fixed is not None
        self._batches: list[tuple[float, int]] = []  # seconds a child, children
        self._best_rate = 0.0
        self._unscheduled: float | None = None

    def note(self, children: int, seconds: float, unscheduled: float) -> None:
        """Learn from a batch.

        Parameters
        ----------
        children
            That were bounded; batches of less than half the size say nothing.
        seconds
            From one batch's end to the next one's.
        """
        if self._is_fixed or children < self.now // 2:
            return
        if self._unscheduled is None:
            self._unscheduled = unscheduled
        if not self._searches:
            if abs(unscheduled - self._unscheduled) > CHANGED * self._unscheduled:
                self._searches, self._best_rate = True, 0.0
                self._unscheduled = unscheduled
                self._batches = []
            return
        self._batches.append((max(seconds, 1e-9) / children, children))
        if len(self._batches) < MEASURED:
            return
        slowness, some = sorted(self._batches)[MEASURED // 2]
        rate, longest = 1 / slowness, slowness * some
        if rate <= GAIN * self._best_rate:
            self.now, self._searches = max(1, self.now // 2), False
        elif 2 * longest > self._longest_s or 2 * self.now > LARGEST:
            self._searches = False
            while longest > self._longest_s and self.now > 1:
                self.now, longest = self.now // 2, longest / 2
        else:
            self._best_rate, self.now = rate, 2 * self.now
        self._batches = []

    def shrink(self) -> None:
        """Take half: the device had no memory for so many."""
        self.now, self._searches = max(1, self.now // 2), False
