"""Write a problem once, in scalar Python: every engine explores it, also on GPUs.

    python examples/12_own_model.py

A ``dpbb.Model`` says how a node takes a job next, and a bound that no completion of a
node is below. From that text come the search on cores (Numba) and on GPUs (CUDA), and
the one that runs the text as it is. ``dpbb check`` compares them, and the bounds with
brute force:

    cd examples; dpbb check 12_own_model:small_ordering
"""

from itertools import permutations

import numpy as np

import dpbb
from dpbb.testing import check_model


class LinearOrdering(dpbb.Model):
    """Order objects so that little is below the diagonal: of each pair one way is lost.

    The matrix says how much i before j is worth; all of j before i is lost then.
    """

    name = "linear-ordering"
    objective = "loss"
    sides = ("front", "back")  # the order grows at both ends
    shared = {"loss": None}  # one number, which both sides go on with
    never_negative = True

    def __init__(self, worth: np.ndarray) -> None:  # shape (n_jobs, n_jobs)
        self.worth = np.array(worth)
        np.fill_diagonal(self.worth, 0)
        self.n_jobs = len(self.worth)
        self.excess = np.maximum(self.worth.T - self.worth, 0)  # i before j, not after
        self.trivial_ub = int(self.worth.sum()) + 1

    def mirrored(self):
        """Return the reverse order: its front is the back of this one."""
        return LinearOrdering(self.worth.T)

    def largest(self, ub):  # with a small one, values have 16 bits
        return ub + int(max(self.excess.sum(axis).max() for axis in (0, 1)))

    def root(self):
        return {"loss": np.minimum(self.worth, self.worth.T).sum() // 2}

    def take(self, node, job):
        loss = 0
        for other in node.left:
            loss += self.excess[job][other]
        node.loss += loss

    def node_bound(self, node):
        return node.loss

    def child_bound(self, node, job):  # not needed; with it engines are faster
        bound = node.loss
        for other in node.left:
            bound += self.excess[job][other]
        return bound


class WeightedTardiness(dpbb.Model):
    """One machine: jobs end as little as can be after their due dates."""

    name = "weighted-tardiness"
    objective = "weighted tardiness"
    state = {"time": None, "cost": None}

    def __init__(self, times, due, weights, before=()) -> None:
        self.times, self.due, self.weights = map(np.array, (times, due, weights))
        self.n_jobs = len(self.times)
        self.before = np.zeros((self.n_jobs, self.n_jobs), int)
        for first, then in before:
            self.before[first][then] = 1
        self.trivial_ub = int(self.weights.sum() * self.times.sum()) + 1

    def take(self, node, job):
        node.time += self.times[job]
        node.cost += self.weights[job] * max(0, node.time - self.due[job])

    def node_bound(self, node):
        """No job that is left ends before all that is done, and itself."""
        bound = node.cost
        for other in node.left:
            late = node.time + self.times[other] - self.due[other]
            bound += self.weights[other] * max(0, late)
        return bound

    def absent(self, node, job):
        """Whether a job has to wait for one that is left."""
        waits = 0
        for other in node.left:
            waits += self.before[other][job]
        return waits > 0


def small_ordering() -> LinearOrdering:
    return LinearOrdering(np.random.default_rng(12).integers(0, 50, (9, 9)))


def small_tardiness() -> WeightedTardiness:
    rng = np.random.default_rng(12)
    times, due, weights = rng.integers(1, (20, 60, 5), (8, 3)).T
    return WeightedTardiness(times, due, weights, before=[(0, 1), (5, 2)])


def best_cost(problem: dpbb.Model) -> int:
    """Brute force."""
    costs = []
    for order in permutations(range(problem.n_jobs)):
        try:
            costs.append(problem.evaluate(order))
        except ValueError:  # a job before one that it has to wait for
            continue
    return min(costs)


def main() -> None:
    for problem in small_ordering(), small_tardiness():
        print(check_model(problem).summary())
        result = dpbb.solve(problem, verbosity="quiet")
        print(result.summary())
    print(f"brute force: {best_cost(small_tardiness())}")


if __name__ == "__main__":
    main()
