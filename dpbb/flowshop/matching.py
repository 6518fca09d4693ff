"""A dearer bound of the flow shop without buffers, of two neighbouring machines.

Between two departures from machine k pass the time there of the job that leaves, and
the time on k + 1 of the job before it, whichever is longer. The sum of all these is
least where both lists of times are matched in the order of their lengths. Where the
last job at the front is the one before, its time is how much later k + 1 is free than
k; so it is at the back, in the mirror image.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbb.errors import OptionError
from dpbb.flowshop.shop import FlowShop


class MatchingFlowShop(FlowShop, own=False):
    """The problem with the bound ``matching``, of children near the root.

    Further down it costs more time than the nodes that it saves. It adds the longer
    ones of matched times: those that make one list longer than the other, from the
    longest on.

    Raises
    ------
    OptionError
        There are buffers, or what is minimized is a sum.
    """

    bound = "matching"

    def __init__(self, source: Any, **how: Any) -> None:  # see FlowShop
        super().__init__(source, **how)
        if not (self.blocking and self.latest):
            raise OptionError(
                "bound: expected matching with blocking and makespan or max-tardiness, "
                f"got {self.said}{' with blocking' * self.blocking}"
            )
        n_jobs, times = self.n_jobs, self.times.T
        self.tight_depths = (1, max(1, 2 * n_jobs // 5))
        both = np.concatenate([times[:-1], times[1:]], axis=1)
        order = np.argsort(-both, axis=1, kind="stable")
        self.by_length = order % n_jobs  # each job twice, by its times on both machines
        self.lengths = np.take_along_axis(both, order, axis=1)
        self.on_first = 1 - order // n_jobs  # 1: time on the first one, 0: on the other
        heads, tails = self.root()["ends"], self.mirrored().root()["ends"][::-1]
        matched = np.maximum(np.sort(times[:-1]), np.sort(times[1:])).sum(axis=1)
        self.pairs = np.argsort(-(heads[:-1] + matched + tails[1:]), kind="stable")

    def tight_bound(self, node: Any, ub: int) -> int:
        """Match times on two neighbouring machines, first where most are long."""
        bound = 0
        for place in range(self.n_stages - 1):
            k = self.pairs[place]
            if bound < ub:
                front = node.ends[k + 1] - node.ends[k]
                back = node.other.ends[self.n_stages - 1 - k]
                back -= node.other.ends[self.n_stages - 2 - k]
                high = max(front, back)
                low = min(front, back)
                step = 1 if back >= front else -1
                total = node.ends[k] + node.other.ends[self.n_stages - 2 - k]
                ahead = 0  # so much longer is the list of times on k
                for rank, job in enumerate(self.by_length[k]):
                    if job in node.left:
                        time = self.lengths[k][rank]
                        if time < high:
                            if step * ahead >= 0:
                                total += high
                            ahead += step
                            high = -1
                        if time < low:
                            if step * ahead <= 0:
                                total += low
                            ahead -= step
                            low = -1
                        one = 2 * self.on_first[k][rank] - 1
                        if one * ahead >= 0:
                            total += time
                        ahead += one
                total += max(high, 0)
                if self.released:
                    total = max(total, self.base[0]) - self.base[0]
                bound = max(bound, total)
        return bound
