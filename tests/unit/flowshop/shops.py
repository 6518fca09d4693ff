"""Flow shops with each objective and feature, and what they cost by the definition."""

from itertools import permutations, product

import numpy as np
import pytest

import dpbb
from dpbb.flowshop.shop import OBJECTIVES
from dpbb.problem import kinds_of
from dpbb.testing import check_model
from tests.unit.modeling.test_cpu import counted

SETUPS = "setups", "late setups"
KINDS = ("", "blocking", *SETUPS, "lags", "unlimited", "lags, unlimited", "buffers")
EACH = [*product(KINDS, OBJECTIVES, (False, True))]
each = pytest.mark.parametrize(("kind", "objective", "released"), EACH)


def random_shop(rng, kind, objective, released, size=None):
    """Draw a shop with zeros, ties and equal jobs, and what it is made of."""
    n_jobs, n_machines = size or (rng.integers(2, 7), rng.integers(1, 6))
    top = int(rng.choice((3, 20)))
    times = rng.integers(0, top, (n_jobs, n_machines))
    row = OBJECTIVES[objective]
    how = {"release": rng.integers(0, 3 * top, n_jobs)} if released else {}
    if row.dated:
        how["due"] = rng.integers(0, int(times.sum() * rng.random()) + 2, n_jobs)
    if row.weighted:
        how["weights"] = rng.integers(0, rng.choice((2, 9)), n_jobs)
    if "setups" in kind:
        shape = n_jobs + rng.integers(2), n_jobs, n_machines
        how["setups"] = rng.integers(0, top, shape[: rng.integers(2, 4)])
    if "lags" in kind:
        how["lags"] = rng.integers(0, 2 * top, (n_jobs, n_machines - 1))
    if rng.random() < 0.3:  # two equal jobs
        ends, swapped = [0, n_jobs - 1], [n_jobs - 1, 0]
        for name, column in {"times": times, **how}.items():
            if name == "setups":
                other = column.copy()
                other[ends] = other[swapped]
                other[:, ends] = other[:, swapped]
                how[name] = np.maximum(column, other)
            else:
                column[0] = column[-1]
    if "unlimited" in kind:
        count = rng.integers(n_machines)
        how["unlimited"] = rng.choice(n_machines, count, replace=False).tolist()
    if kind == "blocking":
        how["blocking"] = True
    if "setups" in kind:
        how["anticipatory"] = kind == "setups"
    if kind == "buffers":
        how["buffers"] = rng.integers(0, 3, n_machines - 1)
    return dpbb.FlowShop(times, objective=objective, **how), how


def passes(times, how, order):
    """Starts, ends and departures by position: nobody waits longer than need be."""
    n_jobs, n_machines = len(times), len(times[0])
    setups, plenty = None, [n_jobs] * n_machines
    if "setups" in how:
        setups = np.array(how["setups"])
        setups = setups if setups.ndim == 3 else setups[..., None].repeat(n_machines, 2)
    start, end, leave = np.zeros((3, n_jobs, n_machines), int)
    for i, job in enumerate(order):
        there = int(how.get("release", [0] * n_jobs)[job])
        for k in range(n_machines):
            free = leave[i - 1, k] if i else 0
            if setups is not None:
                gap = setups[order[i - 1], job, k] if i else 0
                if not i and len(setups) > n_jobs:
                    gap = setups[n_jobs, job, k]
                if how["anticipatory"]:
                    there = max(there, free + gap)
                else:
                    there = max(there, free) + gap
            elif k not in how.get("unlimited", ()):
                there = max(there, free)
            start[i, k] = there
            end[i, k] = leave[i, k] = there + times[job][k]
            if k + 1 == n_machines:
                continue
            places = 0 if "blocking" in how else how.get("buffers", plenty)[k]
            if places == 0 and i:
                leave[i, k] = max(leave[i, k], leave[i - 1, k + 1])
            elif places <= i:
                leave[i, k] = max(leave[i, k], start[i - places, k + 1])
            there = leave[i, k] + (how["lags"][job][k] if "lags" in how else 0)
    return start, end, leave


def costs_of(problem, objective, how):
    """Costs of all orders by the definition."""
    row, found = OBJECTIVES[objective], {}
    weights, due = (how.get(name) for name in ("weights", "due"))
    for order in permutations(range(problem.n_jobs)):
        times = problem.instance.times.tolist()
        costs = []
        for job, done in zip(order, passes(times, how, order)[1][:, -1], strict=True):
            late = int(done) - (0 if due is None else int(due[job]))
            late = max(0, late)
            late = int(late > 0) if row.counted else late
            costs.append(late * (1 if weights is None else int(weights[job])))
        found[order] = max(costs) if row.latest else sum(costs)
    return found


def check(kind, objective, released, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        problem, how = random_shop(rng, kind, objective, released)
        check_model(problem, nodes=20, engines=(), seed=seed)
        costs = costs_of(problem, objective, how)
        assert problem.evaluate_all(np.array(list(costs))).tolist() == [*costs.values()]
        found = dpbb.solve(
            problem, workers=0, engine="reference", heuristics="none", verbosity="quiet"
        )
        assert found.makespan == min(costs.values()) == costs[found.permutation]
        order = [*found.permutation]
        schedule = problem.schedule(order)
        start, end, leave = passes(problem.instance.times.tolist(), how, order)
        assert (schedule.start[order] == start).all()
        assert (schedule.end[order] == end).all()
        if kind in ("blocking", "buffers"):
            assert (schedule.leave[order] == leave).all()


def check_engine(kind, objective, released, explored, seeds):
    """Compare with the reference, node for node, and with brute force."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        problem, how = random_shop(rng, kind, objective, released, (6, 3))
        costs = costs_of(problem, objective, how)
        ub = min(costs.values()) + 1
        found = explored(problem, ub)
        assert found == counted(problem, "reference", ub)
        if kinds_of(problem) is None:
            optima = {(ub - 1, *order) for order, cost in costs.items() if cost < ub}
            assert found[3] == optima


def on_cpu(problem, ub):
    return counted(problem, "cpu", ub)
