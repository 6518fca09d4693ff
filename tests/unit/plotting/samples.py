"""Small data of every kind that is plotted."""

from dataclasses import replace

import numpy as np

from dpbb.coordination.checkpoint import Checkpoint, SavedUnit
from dpbb.coordination.messages import RunId, RunSpec, SeatId, UnitId
from dpbb.flowshop import FlowShopInstance, FlowShopProblem, schedule
from dpbb.options import TreeOptions
from dpbb.result import Improvement, Proof, Result, Status, Termination, Totals
from dpbb.result.schedule import Schedule
from tests.intervals import unit_between
from tests.unit.dashboard.fakes import BASE

INSTANCE = FlowShopInstance(
    "joinery", [[4, 3, 6, 5], [2, 5, 4, 3], [3, 2, 2, 6], [8, 6, 9, 4]]
)
ORDER = (1, 0, 2, 3)


def schedule_of(times, order):
    return Schedule(tuple(order), *schedule(np.asarray(times, np.int64), order))


def result(**changes):
    found = schedule_of(INSTANCE.times, ORDER)
    values = {
        "status": Status.FEASIBLE,
        "termination": Termination.TIME_LIMIT,
        "proof": Proof.ROOT_BOUND,
        "makespan": found.makespan,
        "lower_bound": 30,
        "permutation": ORDER,
        "seconds": 12.0,
        "instance": "joinery",
        "n_jobs": 4,
        "n_machines": 4,
        "digest": INSTANCE.digest,
        "trajectory": (
            Improvement(0.5, 60, "neh"),
            Improvement(2.0, 44, "cpu"),
            Improvement(3.0, found.makespan, "cpu"),
        ),
        "operations": found,
    }
    return Result(**(values | changes))


def snapshot(seconds, lower_bound=30, value=40, **changes):
    values = {
        "instance": "joinery", "permutation": ORDER, "ub": value, "gap": None,
        "explored": 0.375,
        "trajectory": (Improvement(0.0, 50, "start"), Improvement(2.0, value, "cpu")),
    }  # fmt: skip
    known = {"seconds": seconds, "value": value, "lower_bound": lower_bound}
    return replace(BASE, **(values | known | changes))


def checkpoint():
    """A quarter of 4! waits untouched, a quarter is begun, half is finished."""
    problem = FlowShopProblem(INSTANCE)
    parts = [unit_between(4, *ends) for ends in ((6, 12), (18, 24))]
    closed = np.array([0, 2, 0, 0, 0], np.int64)
    return Checkpoint(
        spec=RunSpec(RunId("abc"), problem, TreeOptions(), instance="joinery"),
        cutoff=100,
        value=36,
        permutation=ORDER,
        trajectory=(Improvement(0.0, 50, "start"), Improvement(1.5, 36, "cpu")),
        optima=np.zeros((0, 4), np.uint16),
        n_optima=0,
        closed=closed,
        units=(
            SavedUnit(UnitId(1), parts[0], (), 35, fresh=False),
            SavedUnit(UnitId(2), parts[1], (), 31, fresh=True),
        ),
        totals=Totals(decomposed=1, seconds=4.0, explore_seconds=3.0, units=2),
        covered_s=4.0,
        seats={SeatId("seat"): "cpu"},
    )
