"""Models that tests check and explore."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import ClassVar

import numpy as np

import dpbb
from dpbb.flowshop import FlowShopProblem

EXAMPLES = Path(__file__).parents[1] / "examples"
EXAMPLE, SEARCH = EXAMPLES / "12_own_model.py", EXAMPLES / "13_own_search.py"


def example(file):
    """Return the module of an example."""
    spec = spec_from_file_location(file.stem[3:], file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LinearOrdering = example(EXAMPLE).LinearOrdering
WeightedTardiness = example(EXAMPLE).WeightedTardiness
OWN_SEARCH = example(SEARCH)
NextMachine, InPython = OWN_SEARCH.NextMachine, OWN_SEARCH.InPython
swaps = OWN_SEARCH.swaps
HERE = {
    "workers": 0, "engine": "reference", "heuristics": "none", "verbosity": "quiet",
}  # fmt: skip
"""Options of a search that compiles nothing."""


class TotalCompletion(dpbb.Model):
    """A flow shop's sum of completion times: sorted jobs, local variables, ifs."""

    objective = "total completion time"
    state: ClassVar = {"ends": "n_machines", "total": None}

    def __init__(self, times):
        self.times = np.array(times)
        self.n_jobs, self.n_machines = self.times.shape
        last = self.times[:, -1]
        self.by_time = np.argsort(last, kind="stable")
        self.last = last
        self.trivial_ub = self.n_jobs * int(self.times.sum()) + 1

    def take(self, node, job):
        end = 0
        for k in range(self.n_machines):
            end = max(end, node.ends[k]) + self.times[job][k]
            node.ends[k] = end
        node.total += end

    def node_bound(self, node):
        end = node.ends[self.n_machines - 1]
        bound = node.total
        for other in self.by_time:
            if other in node.left:
                end += self.last[other]
                bound += end
        return bound

    def child_bound(self, node, job):
        end = 0
        for k in range(self.n_machines):
            end = max(end, node.ends[k]) + self.times[job][k]
        bound = node.total + end
        for other in self.by_time:
            if other in node.left and other != job:
                end += self.last[other]
                bound += end
        return bound


class TightCompletion(TotalCompletion):
    """The same with a dearer bound: jobs of each machine in an order of its own."""

    def __init__(self, times):
        super().__init__(times)
        self.by_machine = np.argsort(self.times, axis=0, kind="stable").T
        self.tight_depths = (2, self.n_jobs - 2)
        self.in_order = np.sort(self.times, axis=0).T
        self.tails = self.times[:, ::-1].cumsum(axis=1)[:, ::-1] - self.times

    def tight_bound(self, node, ub):
        bound = 0
        for k in range(self.n_machines):
            if bound < ub:
                end = node.ends[k]
                total = node.total
                for place, other in enumerate(self.by_machine[k]):
                    if other in node.left:
                        end += self.in_order[k][place]
                        total += end + self.tails[other][k]
                bound = max(bound, total)
        return bound


class Turns(dpbb.Model):
    """Ranges that end with the jobs left, or with another's turn."""

    state: ClassVar = {"time": None, "cost": None, "short": "n_jobs"}

    def __init__(self, times):
        self.times = np.array(times)
        self.n_jobs = len(self.times)
        self.trivial_ub = int(self.n_jobs * self.times.sum()) + 1

    def root(self):
        return {"short": np.sort(self.times)}

    def take(self, node, job):
        node.time += self.times[job]
        node.cost += node.time
        for i in range(len(node.left)):
            is_before = node.short[i] < self.times[job]
            node.short[i] = node.short[i] if is_before else node.short[i + 1]

    def node_bound(self, node):
        bound = node.cost
        for i in range(len(node.left)):
            bound += node.time
            for j in range(i + 1):
                bound += node.short[j]
        return bound

    def child_bound(self, node, job):
        end = node.time + self.times[job]
        bound = node.cost + end
        for i in range(len(node.left) - 1):
            bound += end
            for j in range(i + 1):
                is_before = node.short[j] < self.times[job]
                bound += node.short[j] if is_before else node.short[j + 1]
        for i in range(self.n_jobs):  # these three come to 0
            bound += node.time + node.short[i]
        for i in range(len(node.left)):
            bound -= node.time + node.short[i]
        for i in range(self.n_jobs):
            bound -= 0 if i < len(node.left) else node.time + node.short[i]
        return bound


class Setups(dpbb.Model):
    """A flow shop with set-ups between jobs on each machine; both ends branch.

    ``setups[before][after][k]``; of ``gaps`` the last places are for no job. Bounds
    count the least gaps between the jobs left: of all, and more of a machine's own.
    """

    objective = "makespan"
    sides = ("front", "back")
    state: ClassVar = {"free": "n_machines"}
    sums: ClassVar = {"remain": "least"}
    never_negative = True

    def __init__(self, times, setups):
        self.times, self.setups = np.array(times), np.array(setups)
        self.n_jobs, self.n_machines = self.times.shape
        least = self.setups.min(axis=(0, 1))
        self.gap, self.more = int(least.min()), least - least.min()
        self.gaps = np.pad(
            self.setups, ((0, 1), (0, 1), (0, 0)), constant_values=least.max()
        )
        self.least = self.times
        self.trivial_ub = int(self.times.sum() + self.gaps.sum()) + 1

    def mirrored(self):
        return Setups(self.times[:, ::-1], self.setups.swapaxes(0, 1)[:, :, ::-1])

    def take(self, node, job):
        end = 0
        for k in range(self.n_machines):
            end = max(end, node.free[k] + self.gaps[node.last][job][k])
            end += self.times[job][k]
            node.free[k] = end

    def node_bound(self, node):
        bound = 0
        gaps = max(0, len(node.left) - 1)
        for k in range(self.n_machines):
            after = node.remain[k] + node.other.free[self.n_machines - 1 - k]
            after += gaps * self.more[k] + self.gap * max(len(node.left) - 1, 0)
            if len(node.left) == 0:
                after += self.gaps[node.last][node.other.last][k]
            bound = max(bound, node.free[k] + after)
        return bound

    def child_bound(self, node, job):
        end = 0
        bound = 0
        for k in range(self.n_machines):
            begin = max(end, node.free[k] + self.gaps[node.last][job][k])
            end = begin + self.times[job][k]
            after = node.remain[k] + node.other.free[self.n_machines - 1 - k]
            after += max(0, len(node.left) - 2) * self.more[k]
            after += self.gap * max(len(node.left) - 2, 0)
            if len(node.left) == 1:
                after += self.gaps[job][node.other.last][k]
            bound = max(bound, begin + after)
        return bound


def random_models(rng, n_jobs=6):
    """Return a small model of each kind."""
    times, due, weights = rng.integers(1, (12, 5 * n_jobs, 5), (n_jobs, 3)).T
    shop = dpbb.FlowShopInstance("shop", rng.integers(0, 20, (n_jobs, 4)))
    return {
        "ordering": LinearOrdering(rng.integers(0, 30, (n_jobs, n_jobs))),
        "tardiness": WeightedTardiness(times, due, weights, [(0, 1), (3, 2)]),
        "completion": TotalCompletion(rng.integers(1, 15, (n_jobs, 3))),
        "setups": Setups(
            rng.integers(0, 15, (n_jobs, 3)), rng.integers(2, 9, (n_jobs, n_jobs, 3))
        ),
        "blocking": dpbb.FlowShop(shop, blocking=True),
        "matching": dpbb.FlowShop(shop, blocking=True).with_bound("matching"),
        "makespan": FlowShopProblem(shop).as_text,
        "own search": NextMachine(shop),
        "tight": TightCompletion(rng.integers(1, 15, (n_jobs, 3))),
    }


KINDS = tuple(random_models(np.random.default_rng(0)))
