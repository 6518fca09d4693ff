"""A recorded tree: which children of a node survive, and how large they are.

Recorded by exploring every subtree on its own (``record_tree``), so that each node's
size is known and its splitting can be replayed: a donation moves roots, that is, nodes
of this tree, and what they hold is what the recorded subtrees held.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import BranchingRule, TreeOptions
from dpbb.tree.branching import choose_back
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLICE_S = 0.005


@dataclass(frozen=True, slots=True, eq=False)
class SplitTree:
    """A tree of nodes with sizes; row 0 is the root, parents come before children.

    Parameters
    ----------
    n_jobs
        Number of jobs n of the tree.
    parents : ndarray of int32, shape (r,)
        Row of each node's parent; -1 for the root.
    digits : ndarray of uint16, shape (r,)
        Which child of its parent the node is; 0 for the root.
    sizes : ndarray of float64, shape (r,)
        Work of each subtree, in nodes.
    open_roots
        How many nodes a seat is to hold at least while it has work; more make parts
        that are more alike.
    """

    n_jobs: int
    parents: NDArray[np.int32]
    digits: NDArray[np.uint16]
    sizes: NDArray[np.float64]
    open_roots: int = 64

    @property
    def children(self) -> list[NDArray[np.intp]]:
        """Rows of each node's children, in the order of their digits."""
        order = np.lexsort((self.digits[1:], self.parents[1:])) + 1
        counts = np.bincount(self.parents[1:], minlength=len(self.parents))
        return np.split(order, np.cumsum(counts)[:-1])

    def save(self, path: Path) -> None:
        """Write an ``npz`` file."""
        np.savez_compressed(
            path,
            n_jobs=self.n_jobs,
            parents=self.parents,
            digits=self.digits,
            sizes=self.sizes,
        )


def load_tree(path: Path) -> SplitTree:
    """Read what ``SplitTree.save`` wrote.

    Raises
    ------
    OptionError
        It is no such file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            tree = SplitTree(
                int(file["n_jobs"]), file["parents"], file["digits"], file["sizes"]
            )
    except (OSError, ValueError, KeyError) as error:
        raise OptionError(f"{path}: expected a recorded tree: {error}") from error
    rows = np.arange(1, len(tree.parents))
    if not (
        len(tree.parents) == len(tree.digits) == len(tree.sizes) > 1
        and np.all(tree.parents[1:] < rows)
        and np.all(tree.parents[1:] >= 0)
        and np.all(tree.sizes > 0)
        and np.all(tree.digits < tree.n_jobs)
    ):
        raise OptionError(f"{path}: expected parents before children, sizes > 0")
    return tree


def record_tree(
    problem: FlowShopProblem, ub: int, small: int, engine: str = "cpu"
) -> SplitTree:
    """Record the tree {LB < ub} (minmin), down to subtrees of at most ``small`` nodes.

    Only survivors are rows. Every subtree that turns out larger than ``small`` is
    given up and its children are explored instead.
    """
    chosen = get_engine(engine)
    device = chosen.devices()[0]
    options = TreeOptions()
    rows: list[tuple[int, int, float]] = []  # parent, digit, size

    session = chosen.open(problem, options, device, ub=ub)

    def explore(path: tuple[int, ...]) -> int | None:
        """Nodes below a path; None: more than ``small``."""
        nonlocal session
        session.load(WorkUnit.from_paths(problem.n_jobs, [path]))
        nodes = 0
        while True:
            part = session.advance(ub, _SLICE_S)
            nodes += part.decomposed + part.leaves
            if part.exhausted:
                return max(1, nodes)
            if nodes > small:  # what is open in this session is of no use
                session.close()
                session = chosen.open(problem, options, device, ub=ub)
                return None

    # (path, row, jobs, state): depth first, without recursion
    root = np.arange(problem.n_jobs, dtype=np.intp)
    rows.append((-1, 0, 0.0))
    top: tuple[int, ...] = ()
    stack = [(top, 0, root, problem.root_state())]
    while stack:
        path, row, jobs, state = stack.pop()
        front = problem.child_bounds(state, jobs, back=False)
        back = problem.child_bounds(state, jobs, back=True)
        side = choose_back(BranchingRule.MINMIN, front, back, len(path))
        for digit in np.flatnonzero((back if side else front) < ub).tolist():
            child = (*path, digit)
            size = explore(child)
            rows.append((row, digit, size or 0.0))
            if size is None:
                job = int(jobs[digit])
                rest = np.delete(jobs, digit)
                below = problem.extend(state, job, back=side)
                stack.append((child, len(rows) - 1, rest, below))
    session.close()
    parents = np.array([row[0] for row in rows], np.int32)
    sizes = np.array([row[2] for row in rows])
    for row in range(len(rows) - 1, 0, -1):  # a parent stands before its children
        sizes[row] += sizes[row] == 0.0  # its own node
        sizes[parents[row]] += sizes[row]
    sizes[0] += 1.0
    return SplitTree(
        problem.n_jobs, parents, np.array([row[1] for row in rows], np.uint16), sizes
    )


def main() -> None:
    """Record a tree, as a program: ``python -m tests.worlds.scale.recorded --help``."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("instance", help="such as ta056")
    parser.add_argument("ub", type=int)
    parser.add_argument("small", type=int, help="nodes of a subtree that is not split")
    parser.add_argument("file", type=Path)
    parser.add_argument("--engine", default="cpu", choices=("cpu", "gpu"))
    args = parser.parse_args()
    problem = FlowShopProblem(taillard_instance(args.instance))
    tree = record_tree(problem, args.ub, args.small, args.engine)
    tree.save(args.file)
    print(f"{len(tree.parents)} rows, {tree.sizes[0]:.0f} nodes in {args.file}")


if __name__ == "__main__":
    main()
