"""From parents to their open children: on threads of this machine, or on a GPU.

A *bounding* takes batches of nodes, several at a time, and answers with those of their
children that are below the upper bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.pool.nodes import Batch, make_children
from dpbb.engines.pool.settings import IN_FLIGHT, PoolSettings
from dpbb.kernels.pool_models import BACK_BIT, Nodes, OnDevice, PoolModel
from dpbb.options import Offload

LEAST_PART = 16
"""Nodes of the smallest part."""

CHILDREN_PER_THREAD = 512
"""Children of a first batch."""

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Children that are wanted alone: those on the way to roots.

    Parameters
    ----------
    digits : ndarray of bool, shape (nodes, n_jobs)
        By number of the node and digit.
    """

    digits: NDArray[np.bool_]


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
    def together(cls, parents: Batch, parts: Sequence[Bounded]) -> Bounded:
        """Return the children of all parts of a batch."""
        if not parts:
            nobody = np.empty(0, np.int64)
            n_jobs = parents.rows.shape[1]
            return cls(Batch.empty(n_jobs), nobody.astype(np.int32), nobody, 0)
        return cls(
            Batch.concatenate([part.children for part in parts]),
            np.concatenate([part.parent for part in parts]),
            np.concatenate([part.digit for part in parts]),
            sum(part.bounded for part in parts),
            sum(part.seconds for part in parts),
        )


class Bounding(Protocol):
    """What a session asks for children."""

    @property
    def first_size(self) -> int:
        """Children of a first batch, where nothing is known yet."""

    def begin(
        self, parents: Batch, ub: int, wanted: Wanted | None = None
    ) -> Callable[[], Bounded]:
        """Begin with a batch; several may be on their way.

        What is returned waits for the result.
        """

    def use_threads(self, threads: int) -> None:
        """Use so many threads from the next batch on; none is on its way."""

    def close(self) -> None:
        """End threads, free memory."""


class CpuBounding:
    """Branches and bounds on threads of this process."""

    def __init__(self, model: PoolModel, threads: int) -> None:
        self._model = model
        self._n_threads = threads
        self._threads = ThreadPoolExecutor(threads, "dpbb-pool")

    @property
    def first_size(self) -> int:
        """Children of a first batch."""
        return CHILDREN_PER_THREAD * self._n_threads

    def begin(
        self, parents: Batch, ub: int, wanted: Wanted | None = None
    ) -> Callable[[], Bounded]:
        """Begin with a batch; the result is waited for by calling what is returned.

        It has a part for each thread: the next batch is on its way, so that no thread
        waits for the last part, and in small parts Python's lock is what they wait for.
        """
        size = max(LEAST_PART, -(-parents.size // self._n_threads))
        begins = range(0, parents.size, size)
        futures = [
            self._threads.submit(
                bound_children, self._model, parents, slice(b, b + size), ub, wanted
            )
            for b in begins
        ]
        return lambda: Bounded.together(parents, [f.result() for f in futures])

    def use_threads(self, threads: int) -> None:
        """Use so many threads from the next batch on."""
        if threads != self._n_threads:
            self._threads.shutdown(wait=True)
            self._n_threads = threads
            self._threads = ThreadPoolExecutor(threads, "dpbb-pool")

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=True)


def bound_children(
    model: PoolModel, parents: Batch, some: slice, ub: int, wanted: Wanted | None
) -> Bounded:
    """Return the open children of some nodes of a batch, in this thread."""
    parent, code, bounds = branch(model, parents, some, ub, wanted)
    children = children_of(parents, parent, code, bounds)
    due = np.flatnonzero(model.tightened(children.depths))
    began = time.perf_counter()
    if len(due):
        nodes = children if len(due) == len(parent) else children.take(due)
        children.bounds[due] = model.bound(nodes.nodes, ub)
    seconds = time.perf_counter() - began
    is_open = children.bounds < ub
    return Bounded(
        children.take(is_open),
        parent[is_open],
        (code[is_open] & (BACK_BIT - 1)).astype(np.int64),
        len(due),
        seconds,
    )


def branch(
    model: PoolModel, parents: Batch, some: slice, ub: int, wanted: Wanted | None
) -> tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.int32]]:
    """Return the children of some nodes that ``branch`` leaves and that are wanted."""
    nodes = Nodes(*(part[some] for part in parents.nodes))
    parent, code, bounds = model.branch(nodes, ub)
    parent = parent + np.int32(some.start)
    if wanted is not None:
        keep = wanted.digits[parent, code & (BACK_BIT - 1)]
        parent, code, bounds = parent[keep], code[keep], bounds[keep]
    return parent, code, bounds


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


class DeviceBounding:
    """Bounds on a GPU, for as many batches at a time as are on their way.

    Each has a thread: while the device works for one, the host branches for another.

    Parameters
    ----------
    settings
        What is sent there.
    threads
        Threads that branch, and that make children.
    """

    def __init__(
        self, model: PoolModel, there: OnDevice, settings: PoolSettings, threads: int
    ) -> None:
        self._model, self._there = model, there
        self._sends_nodes = settings.offload is Offload.NODES
        self._n_threads = threads
        self._threads = ThreadPoolExecutor(threads, "dpbb-pool")
        self._batches = ThreadPoolExecutor(IN_FLIGHT, "dpbb-pool-device")
        self.first_size = there.first_size

    def begin(
        self, parents: Batch, ub: int, wanted: Wanted | None = None
    ) -> Callable[[], Bounded]:
        """Begin with a batch; the result is waited for by calling what is returned."""
        return self._batches.submit(self._bound, parents, ub, wanted).result

    def use_threads(self, threads: int) -> None:
        """Do nothing: a device explores."""

    def close(self) -> None:
        """End the threads; memory goes back with the model."""
        self._batches.shutdown(wait=True)
        self._threads.shutdown(wait=True)

    def _bound(self, parents: Batch, ub: int, wanted: Wanted | None) -> Bounded:
        from cupy.cuda.memory import OutOfMemoryError

        bound = self._nodes if self._sends_nodes else self._parents
        try:
            return bound(parents, ub, wanted)
        except OutOfMemoryError:
            half = parents.size // 2
            if not half:
                raise
        parts = []
        for some in (slice(half), slice(half, None)):
            fewer = None if wanted is None else Wanted(wanted.digits[some])
            part = self._bound(parents.take(some), ub, fewer)
            parts.append(replace(part, parent=part.parent + np.int32(some.start or 0)))
        return replace(Bounded.together(parents, parts), halved=True)

    def _parents(self, parents: Batch, ub: int, wanted: Wanted | None) -> Bounded:
        """Branch and bound on the device; children are made here."""
        began = time.perf_counter()
        parent, code, bounds, tightened = self._there.branch(parents.nodes, ub)
        seconds = time.perf_counter() - began
        digit = (code & (BACK_BIT - 1)).astype(np.int64)
        if wanted is not None:
            keep = wanted.digits[parent, digit]
            parent, code, digit = parent[keep], code[keep], digit[keep]
            bounds = bounds[keep]
        children = Batch.concatenate(
            self._in_parts(
                len(parent),
                lambda some: children_of(
                    parents, parent[some], code[some], bounds[some]
                ),
            )
        )
        return Bounded(children, parent, digit, tightened, seconds)

    def _nodes(self, parents: Batch, ub: int, wanted: Wanted | None) -> Bounded:
        """Branch here; the device bounds what LB1 leaves, a thread each."""
        made = self._in_parts(
            parents.size,
            lambda some: _children_on_side(self._model, parents, some, ub, wanted),
        )
        children = Batch.concatenate([child for child, _, _ in made])
        parent = np.concatenate([number for _, number, _ in made])
        digit = np.concatenate([number for _, _, number in made])
        began = time.perf_counter()
        children.bounds[:] = self._there.bound(children.nodes, ub)
        seconds = time.perf_counter() - began
        is_open = children.bounds < ub
        return Bounded(
            *(children.take(is_open), parent[is_open], digit[is_open]),
            bounded=children.size,
            seconds=seconds,
        )

    def _in_parts(self, count: int, work: Callable[[slice], Part]) -> list[Part]:
        """Do work on the host's threads, part by part, and return the results."""
        size = max(LEAST_PART * LEAST_PART, -(-count // self._n_threads))
        parts = [slice(b, min(b + size, count)) for b in range(0, max(count, 1), size)]
        if len(parts) == 1:
            return [work(parts[0])]
        return list(self._threads.map(work, parts))


def _children_on_side(
    model: PoolModel, parents: Batch, some: slice, ub: int, wanted: Wanted | None
) -> tuple[Batch, NDArray[np.int32], NDArray[np.int64]]:
    """Return children of LB1 below ``ub`` of some nodes, whose number, digits."""
    parent, code, bounds = branch(model, parents, some, ub, wanted)
    digit = (code & (BACK_BIT - 1)).astype(np.int64)
    return children_of(parents, parent, code, bounds), parent, digit
