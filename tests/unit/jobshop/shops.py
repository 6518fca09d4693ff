"""Shops of the tests, and a slow oracle that shares no code with the package."""

import json

import numpy as np
import pytest

from dpbb.errors import InstanceError
from dpbb.jobshop import load
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import orders_of_sequence
from tests.conftest import GOLDEN, SHARED

ROUTES = [[(0, 3), (1, 2), (2, 2)], [(0, 2), (2, 1), (1, 4)], [(1, 4), (2, 3)]]
SMALL = JobShopInstance.from_routes(ROUTES, name="small")


GOLDEN_ROWS = [
    pytest.param(row, id=row["inst"])
    for row in json.loads((GOLDEN / "bounds_tabu_jobshop.json").read_text())["jsp"]
]
"""Sequences with their costs and layers, of Taillard's and of others' instances."""


def golden_shop(row):
    """Return the instance of such a row, or skip the test without its file."""
    try:
        return load(row["inst"], data_dir=SHARED / "data")
    except InstanceError as error:
        pytest.skip(f"no benchmark files: {error}")


def odd_shop(seed, n_jobs=7, n_machines=4, longest_time=40):
    """Routes of unequal lengths that come back to machines; dates and weights."""
    rng = np.random.default_rng(seed)
    routes = [
        [
            (int(rng.integers(n_machines)), int(rng.integers(0, longest_time)))
            for _ in range(rng.integers(1, 9))
        ]
        for _ in range(n_jobs)
    ]
    return JobShopInstance.from_routes(
        routes, name=f"odd{seed}", n_machines=n_machines,
        release=rng.integers(0, 30, n_jobs), due=rng.integers(0, 200, n_jobs),
        weight=rng.integers(0, 9, n_jobs),
    )  # fmt: skip


def random_sequence(shop, rng):
    return rng.permutation(np.repeat(np.arange(shop.n_jobs), shop.lengths))


def random_sequences(shop, count, seed):
    """Return sequences in the narrowest type that is read as it is."""
    jobs = shop.jobs.astype(np.uint8 if shop.n_jobs <= 256 else np.int16)
    return np.random.default_rng(seed).permuted(np.tile(jobs, (count, 1)), axis=1)


def orders_of(shop, sequences, n_cyclic=0):
    """Machine orders; in the last ones the rows are shuffled: nearly all cyclic."""
    orders = [orders_of_sequence(shop, one.astype(int)) for one in sequences]
    rng = np.random.default_rng(1)
    for one in orders[len(orders) - n_cyclic :]:
        for row, length in zip(one, shop.machine_lengths, strict=True):
            row[:length] = rng.permutation(row[:length])
    return np.array(orders, np.int16)


def oracle_ends(shop, orders):
    """Ends of (job, place in its route) by relaxing until nothing changes, or None.

    ``orders`` has a list of jobs for every machine.
    """
    routes = []
    for job in range(shop.n_jobs):
        part = slice(shop.first[job], shop.first[job + 1])
        routes.append(list(zip(shop.machines[part], shop.times[part], strict=True)))
    waits = {}
    for job, route in enumerate(routes):
        for place in range(len(route)):
            waits[job, place] = [(job, place - 1)] if place else []
    for machine, row in enumerate(orders):
        visits = {
            job: [place for place, step in enumerate(route) if step[0] == machine]
            for job, route in enumerate(routes)
        }
        before = None
        for job in row:
            operation = (job, visits[job].pop(0))
            if before is not None:
                waits[operation].append(before)
            before = operation
    ends = dict.fromkeys(waits, 0)
    for _ in range(len(waits) + 1):
        changed = False
        for (job, place), others in waits.items():
            begin = max([int(shop.release[job]), *(ends[other] for other in others)])
            end = begin + int(routes[job][place][1])
            if end != ends[job, place]:
                ends[job, place] = end
                changed = True
        if not changed:
            return ends
    return None


def oracle_cost(shop, ends, criterion):
    last = [ends[job, int(shop.lengths[job]) - 1] for job in range(shop.n_jobs)]
    if criterion == "makespan":
        return max(last)
    if criterion == "sum_completion":
        return sum(last)
    return sum(
        int(weight) * max(0, end - int(due))
        for end, due, weight in zip(last, shop.due, shop.weight, strict=True)
    )


def rows_of(shop, orders):
    """Machine orders as lists without what fills them up."""
    return [
        row[:length].tolist()
        for row, length in zip(np.asarray(orders), shop.machine_lengths, strict=True)
    ]
