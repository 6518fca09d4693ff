"""Solve a permutation problem of your own: total completion time in a flow shop.

    python examples/08_own_problem.py

A ``Problem`` says how partial schedules grow, bounds them, and what complete ones cost.
A bound may be any value that no completion is below: a weak one costs time, a wrong
one the optimum. The generic engine explores it on any cluster.
"""

from dataclasses import dataclass
from hashlib import sha256
from itertools import permutations

import numpy as np

import dpbb


@dataclass(frozen=True, eq=False)
class TotalCompletionTime:
    """Minimize the sum of the jobs' completion times; from the front only."""

    times: np.ndarray  # (n_jobs, n_machines)
    name: str = "flowshop-total-completion-time"

    @property
    def n_jobs(self) -> int:
        return len(self.times)

    @property
    def digest(self) -> str:
        return sha256(repr(self.times.tolist()).encode()).hexdigest()

    @property
    def trivial_ub(self) -> int:
        return self.n_jobs * int(self.times.sum()) + 1

    def root_state(self):
        return 0, np.zeros(self.times.shape[1], dtype=np.int64)

    def extend(self, state, job, *, back):
        total, ends = state
        ends, end = ends.copy(), 0
        for machine, time in enumerate(self.times[job]):
            end = ends[machine] = max(end, ends[machine]) + time
        return total + int(end), ends

    def child_bounds(self, state, jobs, *, back):
        if back:  # asked for at the root only: what is true of every schedule
            return np.full(len(jobs), self.bound(state, jobs))
        children = (self.extend(state, job, back=False) for job in jobs)
        rests = (np.delete(jobs, i) for i in range(len(jobs)))
        return np.array([*map(self.bound, children, rests)])

    def bound(self, state, jobs) -> int:
        """Every machine alone: shortest jobs first, then the way to the end."""
        (total, ends), times = state, self.times[jobs]
        tails = times[:, ::-1].cumsum(axis=1)[:, ::-1] - times
        alone = ends + np.sort(times, axis=0).cumsum(axis=0)
        return total + int((alone.sum(axis=0) + tails.sum(axis=0)).max())

    def evaluate(self, permutation) -> int:
        state = self.root_state()
        for job in permutation:
            state = self.extend(state, job, back=False)
        return state[0]


def main() -> None:
    problem = TotalCompletionTime(np.random.default_rng(8).integers(1, 30, (8, 3)))
    best = min(map(problem.evaluate, permutations(range(problem.n_jobs))))
    print(f"brute force over {problem.n_jobs}! orders: {best}")

    print(dpbb.solve(problem, branching="front", verbosity="quiet").summary())

    for workers in (1, 2):  # below the optimum there is nothing: the same tree, exactly
        options = {"cutoff": best, "workers": workers, "verbosity": "quiet"}
        proof = dpbb.solve(problem, branching="front", **options)
        print(f"{workers} worker(s): {proof.status}, {proof.decomposed} nodes")


if __name__ == "__main__":
    main()
