"""Given ends of a flow shop with dates, weights, set-ups and more.

All jobs are in the tree, which grows at the front alone: where a job is given there is
no child but this one. So a front is passed, and a back is behind what is sequenced,
with all that the text knows of jobs; permutations of the tree are whole sequences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InstanceError, OptionError, shown
from dpbb.flowshop.given import GivenEnds
from dpbb.flowshop.shop import FlowShop
from dpbb.heuristics import AnyProblem
from dpbb.problem import Incumbent, StartSearch


class GivenFlowShop(FlowShop, own=False):
    """The problem whose sequences begin and end with given jobs.

    Raises
    ------
    InstanceError
        As ``FlowShop`` and ``GivenEnds``.
    """

    both_ends = False

    def __init__(
        self,
        source: Any,
        *,
        front: Iterable[int] = (),
        back: Iterable[int] = (),
        **how: Any,  # see FlowShop
    ) -> None:
        super().__init__(source, **how)
        self.given = given = GivenEnds(self.instance, tuple(front), tuple(back))
        n_jobs = self.n_jobs
        sequence = np.array([*given.front, *given.jobs, *given.back])
        self.slot = np.arange(n_jobs)  # the position itself if a job is given for it
        self.slot[len(given.front) : n_jobs - len(given.back)] = n_jobs
        self.place = np.empty_like(self.slot)  # of each job, in the same way
        self.place[sequence] = self.slot
        if given.back:
            self.tail = (self.rest - self.filled)[given.back[-1]]

    def absent(self, node: Any, job: int) -> bool:
        """Whether another job is given for the next position, or another position."""
        return self.slot[self.n_jobs - len(node.left)] != self.place[job]

    @property
    def instance_name(self) -> str:
        """Name of the instance, and what is given at its ends."""
        return self.given.name

    @property
    def said_of_it(self) -> dict[str, Any]:
        """Features and given jobs."""
        ends = {"front": [*self.given.front], "back": [*self.given.back]}
        return super().said_of_it | {side: jobs for side, jobs in ends.items() if jobs}

    @property
    def job_kinds(self) -> NDArray[np.intp]:
        """As without given jobs, which are equal to no others."""
        kinds = super().job_kinds.copy()
        fixed = np.array([*self.given.front, *self.given.back], np.intp)
        kinds[fixed] = self.n_jobs + fixed
        return kinds

    def with_bound(self, bound: str) -> FlowShop:
        """Return it; OptionError: another bound is asked for."""
        if bound != self.bound:
            raise OptionError(
                f"bound: expected {self.bound} with given ends, got {shown(bound)}"
            )
        return self

    def with_ends(self, front: tuple[int, ...], back: tuple[int, ...]) -> FlowShop:
        """Refuse: there are ends already."""
        raise InstanceError(
            "front, back: expected a problem without given ends, got "
            f"{self.instance_name}"
        )

    def between(self, sequence: Sequence[int], what: str) -> tuple[int, ...]:
        """Return a sequence with these ends; see ``dpbb.problem.PartOfSequence``."""
        return self.given.whole(self.given.between(sequence, what))

    def evaluate_all(self, permutations: NDArray[np.intp]) -> NDArray[np.int64]:
        """Costs of permutations; ValueError: one of them has other ends."""
        if np.any(self.place[permutations] != self.slot):
            raise ValueError(
                "expected one that begins and ends with the given jobs "
                f"{shown(self.given.front)} and {shown(self.given.back)}"
            )
        return super().evaluate_all(permutations)

    def first_incumbent(self, search: StartSearch) -> Incumbent | None:
        """Search the jobs between; see ``dpbb.problem.HasHeuristics``."""

        def whole(found: Incumbent) -> Incumbent:
            order = self.given.whole(found.permutation.tolist())
            return replace(found, permutation=np.array(order, np.intp))

        first = search.initial
        inner = replace(
            search,
            initial=None if first is None else self.given.between(first, "initial"),
            on_improvement=lambda found: search.on_improvement(whole(found)),
        )
        best = AnyProblem(Between(self), all_exist=True).first_incumbent(inner)
        return None if best is None else whole(best)


class Between:
    """The jobs between as heuristics see them: a problem, numbered from 0."""

    sides = ("front",)

    def __init__(self, shop: GivenFlowShop) -> None:
        self.shop, self.given = shop, shop.given
        self.name, self.digest = shop.name, shop.digest
        self.n_jobs, self.trivial_ub = len(self.given.jobs), shop.trivial_ub
        self._root = shop.root_state()
        for job in self.given.front:
            self._root = shop.extend(self._root, job, back=False)

    def root_state(self) -> Any:
        """State behind the given front."""
        return self._root

    def child_bounds(
        self, state: Any, jobs: NDArray[np.intp], *, back: bool
    ) -> NDArray[np.int64]:
        """Bounds of the children."""
        return self.shop.child_bounds(state, self.given.jobs[jobs], back=back)

    def extend(self, state: Any, job: int, *, back: bool) -> Any:
        """State of the child that takes a job."""
        return self.shop.extend(state, int(self.given.jobs[job]), back=back)

    def evaluate(self, permutation: NDArray[np.intp]) -> int:
        """Cost of a permutation."""
        return int(self.evaluate_all(permutation[None])[0])

    def evaluate_all(self, permutations: NDArray[np.intp]) -> NDArray[np.int64]:
        """Costs, shape (r,), of permutations of shape (r, n_jobs)."""
        orders = [self.given.whole(row) for row in permutations.tolist()]
        return self.shop.evaluate_all(np.array(orders, np.intp))
