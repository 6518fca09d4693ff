"""Solve a permutation problem of your own: total completion time in a flow shop.

    python examples/08_own_problem.py

A ``Problem`` says how partial schedules grow, bounds them, and what complete ones cost.
A bound may be any value that no completion is below: a weak one costs time, a wrong
one the optimum. The generic engine explores it on any cluster. What else it has makes
it as good as a flow shop: ``encode``, ``schedule``, ``sides``, ``objective``.
"""

import tempfile
from hashlib import sha256
from itertools import permutations
from pathlib import Path

import numpy as np

import dpbb
from dpbb.plotting import figure_of
from dpbb.problems import register
from dpbb.result.schedule import Schedule


class TotalCompletionTime:
    """Minimize the sum of the jobs' completion times; from the front only."""

    name = "flowshop-total-completion-time"
    objective = "total completion time"
    sides = ("front",)

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

    def encode(self):  # for checkpoints, certificates and estimates
        return {"times": self.times.tolist()}

    def schedule(self, permutation):  # for Gantt charts, tables and CSV files
        end = np.zeros_like(self.times)
        ready = np.zeros(self.times.shape[1], dtype=np.int64)
        for job in permutation:
            _, ready = self.extend((0, ready), job, back=False)
            end[job] = ready
        return Schedule(tuple(map(int, permutation)), end - self.times, end)


def decode(data) -> TotalCompletionTime:
    return TotalCompletionTime(np.array(data["times"]))


# An installed package says the same by an entry point; then dpbb resume knows it, too:
# [project.entry-points."dpbb.problems"]
# flowshop-total-completion-time = "my_package:decode"
register(TotalCompletionTime.name, decode)


def main() -> None:
    problem = TotalCompletionTime(np.random.default_rng(8).integers(1, 30, (8, 3)))
    best = min(map(problem.evaluate, permutations(range(problem.n_jobs))))
    print(f"brute force over {problem.n_jobs}! orders: {best}")

    quiet = {"verbosity": "quiet"}
    with tempfile.TemporaryDirectory() as folder:
        proof, chart = f"{folder}/proof.json.gz", f"{folder}/gantt.png"
        result = dpbb.solve(problem, certificate=proof, **quiet)
        print(result.summary())
        print(result.schedule())
        print(dpbb.verify(proof).summary())
        figure_of(result, "gantt").savefig(chart)
        print(f"Gantt chart: {Path(chart).stat().st_size > 1000}")

        # Below the optimum there is nothing: the same tree, interrupted or not.
        print(dpbb.estimate(problem, upper_bound=best).summary())
        whole = dpbb.solve(problem, cutoff=best, **quiet)
        dpbb.solve(
            problem, cutoff=best, node_limit=20, checkpoint=f"{folder}/run", **quiet
        )
        parts = dpbb.resume(f"{folder}/run", verbosity="quiet")
    print(f"{whole.status}: {whole.decomposed} nodes, {parts.decomposed} in two parts")


if __name__ == "__main__":
    main()
