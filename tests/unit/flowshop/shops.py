"""Flow shops with each objective and feature, and what they cost by the definition."""

from itertools import permutations, product

import numpy as np
import pytest

import dpbb
from dpbb.flowshop.shop import OBJECTIVES
from dpbb.problem import kinds_of
from dpbb.testing import check_model
from tests.models import HERE
from tests.quick import one_in
from tests.unit.modeling.test_cpu import counted

SETUPS = "setups", "late setups"
KINDS = ("", "blocking", *SETUPS, "lags", "unlimited", "lags, unlimited", "buffers")
EACH = one_in(2, KINDS, OBJECTIVES, (False, True))
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


def passes(times, how, orders):
    """Starts, ends and departures of each order, by position: nobody waits in vain.

    Orders are int64[orders, jobs]; the result is int64[3, orders, jobs, machines].
    """
    times, orders = np.array(times), np.array(orders)
    n_jobs, n_machines = times.shape
    setups, plenty = None, [n_jobs] * n_machines
    if "setups" in how:
        setups = np.array(how["setups"])
        setups = setups if setups.ndim == 3 else setups[..., None].repeat(n_machines, 2)
    start, end, leave = np.zeros((3, len(orders), n_jobs, n_machines), int)
    for i, job in enumerate(orders.T):
        there = np.array(how.get("release", [0] * n_jobs))[job]
        for k in range(n_machines):
            free = leave[:, i - 1, k] if i else 0
            if setups is not None:
                gap = setups[orders[:, i - 1], job, k] if i else 0
                if not i and len(setups) > n_jobs:
                    gap = setups[n_jobs, job, k]
                if how["anticipatory"]:
                    there = np.maximum(there, free + gap)
                else:
                    there = np.maximum(there, free) + gap
            elif k not in how.get("unlimited", ()):
                there = np.maximum(there, free)
            start[:, i, k] = there
            there = end[:, i, k] = there + times[job, k]
            if k + 1 < n_machines:
                places = 0 if "blocking" in how else how.get("buffers", plenty)[k]
                if places == 0 and i:
                    there = np.maximum(there, leave[:, i - 1, k + 1])
                elif places <= i:
                    there = np.maximum(there, start[:, i - places, k + 1])
            leave[:, i, k] = there
            if "lags" in how and k + 1 < n_machines:
                there = there + how["lags"][job, k]
    return start, end, leave


def costs_of(problem, objective, how):
    """All orders, and their costs by the definition."""
    row, every = OBJECTIVES[objective], range(problem.n_jobs)
    orders = np.array([*permutations(every)])
    late = passes(problem.instance.times, how, orders)[1][:, :, -1]
    late = np.maximum(0, late - np.array(how.get("due", [0 for _ in every]))[orders])
    late = (late > 0).astype(int) if row.counted else late
    costs = late * np.array(how.get("weights", [1 for _ in every]))[orders]
    return orders, costs.max(axis=1) if row.latest else costs.sum(axis=1)


def check(kind, objective, released, seeds, most=(7, 6)):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        size = rng.integers((2, 1), most).tolist()
        problem, how = random_shop(rng, kind, objective, released, size)
        if seed % 10 == 0:  # the laws take as long as ten trees
            check_model(problem, nodes=20, engines=(), seed=seed)
        orders, costs = costs_of(problem, objective, how)
        assert (problem.evaluate_all(orders) == costs).all()
        found = dpbb.solve(problem, **HERE)
        order = [*found.permutation]
        assert found.makespan == costs.min() == costs[(orders == order).all(axis=1)]
        schedule = problem.schedule(order)
        start, end, leave = passes(problem.instance.times, how, [order])
        assert (schedule.start[order] == start).all()
        assert (schedule.end[order] == end).all()
        if kind in ("blocking", "buffers"):
            assert (schedule.leave[order] == leave).all()


def check_engine(kind, objective, released, explored, seeds, sizes=((6, 3),)):
    """Compare with the reference, node for node, and with brute force."""
    for seed, size in product(seeds, sizes):
        rng = np.random.default_rng(seed)
        problem, how = random_shop(rng, kind, objective, released, size)
        orders, costs = costs_of(problem, objective, how)
        ub = int(costs.min()) + 1
        found = explored(problem, ub)
        assert found == counted(problem, "reference", ub)
        if kinds_of(problem) is None:
            optima = orders[costs < ub].tolist()
            assert found[3] == {(ub - 1, *order) for order in optima}


def on_cpu(problem, ub):
    return counted(problem, "cpu", ub)
