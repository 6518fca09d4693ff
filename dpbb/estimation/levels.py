"""Nodes of one depth, and their children: what samplers hold of a tree.

Nodes are not visited in depth-first order here but level by level, so each carries its
whole state. ``CompiledNodes`` has them as the models of the CPU engine do
(``dpbb.kernels.models``), a million a second; ``PlainNodes`` has those of any problem,
by the methods of its protocol, some thousand a second. Slots of jobs are in root order.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpbb.kernels import models
from dpbb.kernels.compiling import entry, int64
from dpbb.kernels.pairs import Branching, Room, branch
from dpbb.kernels.pointers import addresses, pointer_of, pointers
from dpbb.options import TreeOptions
from dpbb.problem import Problem, root_bound
from dpbb.tree import branching

CHUNK = 2**20
"""Bounds of children that are held at a time, all those that are pruned included."""

NODE_S, BOUND_S = 5e-7, 7e-10
"""About the seconds that a node takes, and each unscheduled job on each machine of it
(measured on one core of a server of which others had a part)."""


class Children(NamedTuple):
    """Children of a level that are not pruned, ordered by parent and slot.

    Attributes
    ----------
    parents : ndarray of intp, shape (r,)
        Nodes of the level.
    slots : ndarray of intp, shape (r,)
        The unscheduled job of the parent that is scheduled next.
    backs : ndarray of bool, shape (r,)
        At the back.
    bounds : ndarray of int64, shape (r,)
    """

    parents: NDArray[np.intp]
    slots: NDArray[np.intp]
    backs: NDArray[np.bool_]
    bounds: NDArray[np.int64]

    def take(self, rows: NDArray[np.intp]) -> Children:
        """Return some of them."""
        return Children(
            self.parents[rows], self.slots[rows], self.backs[rows], self.bounds[rows]
        )

    @classmethod
    def joined(cls, parts: list[Children]) -> Children:
        """Return the children of all parts."""
        nothing = [np.zeros(0, kind) for kind in (np.intp, np.intp, bool, np.int64)]
        every = [cls(*nothing), *parts]
        return cls(*[np.concatenate(column) for column in zip(*every, strict=True)])


class PlainNodes:
    """Nodes of any problem; a level is a list of (state, unscheduled jobs).

    Attributes
    ----------
    root_bound
        No bound of the tree is below this.
    node_bytes
        About what a node takes.
    most_roots
        Roots of one depth that a probe walks to.
    """

    node_bytes = 4096
    most_roots = 32

    def __init__(self, problem: Problem[Any], tree: TreeOptions, ub: int) -> None:
        self._problem, self._tree, self._ub = problem, tree, ub
        self.root_bound = root_bound(problem)

    def node_seconds(self) -> float:
        """About the seconds that a node takes."""
        began = time.perf_counter()
        self.children(self.root(), 0)
        return max(time.perf_counter() - began, 1e-5)

    def root(self) -> Any:
        """Level of the tree's root."""
        jobs = branching.order_of(self._tree, self._problem.n_jobs)
        return [(self._problem.root_state(), jobs)]

    def take(self, level: Any, rows: NDArray[np.intp]) -> Any:
        """Return some nodes of a level."""
        return [level[row] for row in rows]

    def join(self, level: Any, other: Any) -> Any:
        """Nodes of both levels."""
        return level + other

    def children(self, level: Any, depth: int) -> Children:
        """Return what is not pruned below a level."""
        parts = []
        for node, (state, jobs) in enumerate(level):
            back, bounds = branching.bound_children(
                self._problem, self._tree, state, jobs, depth, self._ub
            )
            slots = np.flatnonzero(bounds < self._ub)
            parents = np.full(len(slots), node)
            backs = np.full(len(slots), back)
            parts.append(Children(parents, slots, backs, bounds[slots]))
        return Children.joined(parts)

    def below(self, level: Any, children: Children) -> Any:
        """Level of some children."""
        found = []
        for node, slot, back, _ in zip(*children, strict=True):
            state, jobs = level[node]
            below = self._problem.extend(state, int(jobs[slot]), back=bool(back))
            found.append((below, np.delete(jobs, slot)))
        return found


class Level(NamedTuple):
    """Nodes of one depth with r unscheduled jobs each.

    Attributes
    ----------
    nodes : ndarray of int16 or int32, shape (size, node_lanes)
        As the model has them.
    jobs : ndarray of uint16, shape (size, r)
        Unscheduled jobs, ascending.
    """

    nodes: NDArray[Any]
    jobs: NDArray[np.uint16]


class CompiledNodes:
    """The same of a problem that the CPU engine has a model of, by compiled code.

    ``model``: the class of models of the problem.
    """

    most_roots = 256

    def __init__(
        self, model: Any, problem: Problem[Any], tree: TreeOptions, ub: int
    ) -> None:
        self._ub = ub
        self._tables = Branching.of(model, problem, tree, ub)
        self._tables_at = addresses(self._tables)
        self._lane = self._tables.model.root.dtype.type(0)
        self.root_bound = self._tables.model.root_bound
        self.node_bytes = self._tables.model.root.nbytes + 2 * problem.n_jobs

    def node_seconds(self) -> float:
        """About the seconds that a node takes."""
        model = self._tables.model
        return NODE_S + BOUND_S * model.height * model.n_jobs / 2

    def root(self) -> Any:
        """Level of the tree's root."""
        jobs = np.arange(self._tables.model.n_jobs, dtype=np.uint16)
        return Level(self._tables.model.root[None].copy(), jobs[None])

    def take(self, level: Any, rows: NDArray[np.intp]) -> Any:
        """Return some nodes of a level."""
        return Level(level.nodes[rows], level.jobs[rows])

    def join(self, level: Any, other: Any) -> Any:
        """Nodes of both levels."""
        return Level(*map(np.concatenate, zip(level, other, strict=True)))

    def children(self, level: Any, depth: int) -> Children:
        """Return what is not pruned below a level."""
        size, r = level.jobs.shape
        room = self._tables.room()
        parts = []
        for begin in range(0, size, max(1, CHUNK // r)):
            some = Level(*[column[begin : begin + CHUNK // r] for column in level])
            bounds = np.empty(some.jobs.shape, level.nodes.dtype)
            backs = np.empty(len(bounds), bool)
            given = self._tables_at, addresses(room), self._lane
            bound_level(*given, some, depth, self._ub, bounds, backs)
            nodes, slots = np.nonzero(bounds < self._ub)
            below = bounds[nodes, slots].astype(np.int64)
            parts.append(Children(begin + nodes, slots, backs[nodes], below))
        return Children.joined(parts)

    def below(self, level: Any, children: Children) -> Any:
        """Level of some children."""
        count = len(children.parents)
        below = Level(
            np.empty((count, level.nodes.shape[1]), level.nodes.dtype),
            np.empty((count, level.jobs.shape[1] - 1), np.uint16),
        )
        room = self._tables.room()
        given = self._tables_at, addresses(room), self._lane
        make_level(*given, level, children, below)
        return below


@entry
def bound_level(
    tables_in: Branching,
    room_in: Room,
    lane: np.signedinteger[Any],
    level: Level,
    depth: int,
    ub: int,
    bounds: NDArray[Any],
    backs: NDArray[np.bool_],
) -> None:
    """Bound the children of all nodes of a level, on the side that each node takes.

    Parameters
    ----------
    tables_in, room_in, lane
        Tables and room with addresses, and any integer of their lanes' type.
    bounds : ndarray, shape (size, r)
    backs : ndarray of bool, shape (size,)
        Written here.
    """
    tables, room = pointers(tables_in, lane), pointers(room_in, lane)
    nodes, n_children = pointer_of(level.nodes), level.jobs.shape[1]
    for node in range(backs.size):
        for slot in range(n_children):
            room.slot_jobs[slot] = level.jobs[node, slot]
        at = int64(node * tables.model.node_lanes)
        side = branch(tables, nodes, at, int64(depth), room, n_children, int64(ub))
        backs[node] = side != 0
        for slot in range(n_children):
            bounds[node, slot] = room.bounds[2 * slot + side]


@entry
def make_level(
    tables_in: Branching,
    room_in: Room,
    lane: np.signedinteger[Any],
    level: Level,
    children: Children,
    below: Level,
) -> None:
    """Write children of a level to ``below``; see ``bound_level``."""
    tables, room = pointers(tables_in, lane), pointers(room_in, lane)
    model = tables.model
    for to in range(children.parents.size):
        node, slot = children.parents[to], children.slots[to]
        models.step(
            model,
            pointer_of(level.nodes),
            int64(node * model.node_lanes),
            pointer_of(below.nodes),
            int64(to * model.node_lanes),
            room.scratch,
            int64(level.jobs[node, slot]),
            int64(children.backs[to]),
        )
        for i in range(below.jobs.shape[1]):
            below.jobs[to, i] = level.jobs[node, i + (i >= slot)]


Nodes: TypeAlias = "PlainNodes | CompiledNodes"
