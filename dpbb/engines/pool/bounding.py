"""From parents to their open children: on the threads of this machine.

A *bounding* takes batches of nodes, several at a time, and answers with those of their
children that are below the upper bound. On a GPU the model of a problem has one of its
own (``PoolModel.on_device``), which is called in the same way.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpbb.engines.pool.nodes import Batch, make_children
from dpbb.kernels.pool_models import BACK_BIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpbb.kernels.pool_models import PoolModel

PARTS_PER_THREAD = 4
"""Parts of a batch for each thread: the last one to end is waited for by all."""

LEAST_PART = 16
"""Nodes of the smallest part."""

CHILDREN_PER_THREAD = 512
"""Children of a first batch."""


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
    """

    children: Batch
    parent: NDArray[np.int32]
    digit: NDArray[np.int64]
    bounded: int
    seconds: float = 0.0

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
    """Branches and bounds on threads of this process.

    Parameters
    ----------
    model
        The problem.
    threads
        Number of threads.
    """

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
        """Begin with a batch; the result is waited for by calling what is returned."""
        parts = PARTS_PER_THREAD * self._n_threads
        size = max(LEAST_PART, -(-parents.size // parts))
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
        children.bounds[due] = model.bound(nodes.rows, nodes.front, nodes.back, ub)
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
    nodes = parents.rows[some], parents.front[some], parents.back[some]
    parent, code, bounds = model.branch(*nodes, ub)
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
