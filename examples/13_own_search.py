"""A bound, a branching rule and a heuristic of your own, for the flow shop.

    python examples/13_own_search.py

``NextMachine`` is a text: cores and GPUs explore its tree. ``InPython`` is the same in
any Python, which the reference engine alone runs. ``dpbb check`` compares them with
brute force, on a small shop:

    cd examples; dpbb check 13_own_search:NextMachine
    cd examples; dpbb check 13_own_search:swaps
"""

import numpy as np

import dpbb


class NextMachine(dpbb.FlowShop):
    """The last job on a machine still has to pass the next one."""

    def tight_bound(self, node, ub):
        bound = 0
        for k in range(self.n_stages - 1):
            least = self.trivial_ub
            for other in node.left:
                least = min(least, self.times[other][k + 1])
            after = node.other.ends[self.n_stages - 2 - k]  # the back's, from k + 1 on
            bound = max(bound, node.ends[k] + node.remain[k] + least + after)
        return bound

    def child_weight(self, bound, parent):
        return -min(bound - parent, 20)  # the side whose bounds rise weighs less


class InPython(dpbb.FlowShop):
    """The same with NumPy."""

    def tighten(self, state, jobs, bounds, ub, *, back):
        tight = bounds.copy()
        for place in np.flatnonzero(bounds < ub):
            node = self.node(self.extend(state, int(jobs[place]), back=back))
            least = self.times[[*node.left], 1:].min(axis=0)
            ahead, after = np.add(node.ends, node.remain), node.other.ends[::-1]
            tight[place] = (ahead[:-1] + least + after[1:]).max()
        return tight

    def choose_back(self, state, front, back):
        most = self.bound_of(state) + 20
        sums = [(np.minimum(one, most).sum(), one.sum()) for one in (front, back)]
        return sums[1] > sums[0]


def swaps(problem, rng, seconds):
    """Exchange two jobs; keep what is not worse."""
    best = rng.permutation(problem.n_jobs)
    cost = problem.evaluate(best)
    while True:  # the search is over where it yields, when the seconds are
        yield best
        order = best.copy()
        i, j = rng.integers(problem.n_jobs, size=2)
        order[[i, j]] = order[[j, i]]
        if (value := problem.evaluate(order)) <= cost:
            best, cost = order, value


def main() -> None:
    for kind in dpbb.FlowShop, NextMachine, InPython:
        result = dpbb.solve(kind("ta016"), cutoff=1397, verbosity="quiet")
        print(f"{kind.__name__}: {result.decomposed} nodes")
    found = dpbb.solve("ta016", heuristics=swaps, verbosity="quiet").trajectory
    print(f"swaps: {min(one.value for one in found if one.source == 'swaps')}")


if __name__ == "__main__":
    main()
