"""Solve a permutation problem of your own: total completion time in a flow shop.

    python examples/08_own_problem.py

A ``Problem`` says how partial schedules grow, bounds them, and what complete ones cost.
A bound may be any value that no completion is below: a weak one costs time, a wrong
one the optimum. The generic engine explores it on any cluster.
"""

import tempfile
from hashlib import sha256
from itertools import permutations

import numpy as np

import dpbb


class TotalCompletionTime:
    """Minimize the sum of the jobs' completion times; from the front only."""

    name = "flowshop-total-completion-time"
    objective = "total completion time"

    def __init__(self, times: np.ndarray) -> None:  # shape (n_jobs, n_machines)
        self.times = times
        self.n_jobs = len(times)
        self.digest = sha256(repr(times.tolist()).encode()).hexdigest()
        self.trivial_ub = self.n_jobs * int(times.sum()) + 1

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

    # Below the optimum there is nothing: the same tree, interrupted or not.
    options = {"branching": "front", "cutoff": best, "verbosity": "quiet"}
    whole = dpbb.solve(problem, **options)
    with tempfile.TemporaryDirectory() as folder:
        dpbb.solve(problem, node_limit=20, checkpoint=f"{folder}/run", **options)
        parts = dpbb.resume(f"{folder}/run", problem=problem, verbosity="quiet")
    print(f"{whole.status}: {whole.decomposed} nodes, {parts.decomposed} in two parts")


if __name__ == "__main__":
    main()
