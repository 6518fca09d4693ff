"""A tree of any size that falls apart as a recorded one does.

Nodes are named by paths, as in every tree of dpbb, so that they travel as the roots of
real work units; each has a hidden size, the nodes below it. A node's children are those
of a recorded node, with sizes in the same proportions. Below the recorded nodes
some other recorded node takes its place, drawn by a hash of the path: the tree is a
pure function of path and seed, whoever looks at it.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from dpbb.errors import DpbbError

if TYPE_CHECKING:
    from tests.worlds.scale.recorded import SplitTree


class Node(NamedTuple):
    """A node with its hidden size; ``row`` is the recorded node that it stands for."""

    path: tuple[int, ...]
    size: float
    row: int


class ReplayedTree:
    """See the module.

    Parameters
    ----------
    recorded
        How nodes fall apart.
    n_jobs
        Number of jobs n of the tree; its paths fit any instance of that many.
    size
        Nodes of the whole tree.
    seed
        Of the draws.
    """

    def __init__(
        self, recorded: SplitTree, n_jobs: int, size: float, *, seed: int = 0
    ) -> None:
        self.n_jobs = n_jobs
        self.open_roots = recorded.open_roots
        self.size = size
        self.root = Node((), size, 0)
        self._seed = seed
        self._recorded_jobs = recorded.n_jobs
        self._splits: list[list[tuple[int, float, int]]] = []  # digit, share, row
        for rows in recorded.children:
            total = float(recorded.sizes[rows].sum())
            self._splits.append(
                [
                    (int(recorded.digits[r]), float(recorded.sizes[r]) / total, int(r))
                    for r in rows
                ]
            )
        # a chain of only children tells nothing of how work is split
        self._drawn = [row for row, split in enumerate(self._splits) if len(split) > 1]
        self._exported: dict[tuple[int, ...], Node] = {(): self.root}

    def children(self, node: Node) -> list[Node]:
        """Children that survive, in leaf order; none of a node that cannot be split."""
        depth = len(node.path)
        width = self.n_jobs - depth
        if width < 2:
            return []
        row = node.row
        if not self._splits[row]:
            row = self._draw(node.path)
        split = self._splits[row][:width]
        path, size, recorded_jobs = node.path, node.size, self._recorded_jobs
        nodes, least, most = [], 0, width - len(split)
        for digit, share, child in split:
            # spread over the digits that there are, each one once
            digit = digit * width // recorded_jobs
            if digit < least:
                digit = least
            elif digit > most:
                digit = most
            nodes.append(Node((*path, digit), size * share, child))
            least = digit + 1
            most += 1
        return nodes

    def _draw(self, path: tuple[int, ...]) -> int:
        text = bytes(path)
        return self._drawn[zlib.crc32(text, self._seed) % len(self._drawn)]

    def export(self, node: Node) -> None:
        """Remember a root that leaves its seat."""
        self._exported[node.path] = node

    def take(self, path: tuple[int, ...]) -> Node:
        """Return a root that comes to a seat; it must have left another.

        Raises
        ------
        DpbbError
            A seat has lost its lease, whose roots come back as they once were.
        """
        node = self._exported.pop(path, None)
        if node is None:
            raise DpbbError(
                "expected a scheduler that keeps up with its seats, as leases that "
                "are lost are not simulated, got one that did not answer for longer "
                "than lease_timeout_s: fewer seats, or a quieter machine, please"
            )
        return node
