from __future__ import annotations

import time

import numpy as np
import pytest

from dpbb.coordination.outcome import Outcome
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import SolveOptions
from dpbb.problem import StartSearch, root_bound
from dpbb.result import Improvement, Proof, Status, Termination, Totals
from dpbb.solving.plan import Plan
from dpbb.solving.results import result_of, result_without_tree
from dpbb.solving.start import with_heuristics
from dpbb.tree.counters import Counters

TIMES = np.array([[3, 2, 4], [1, 4, 2], [2, 2, 5], [4, 1, 1]])
PROBLEM = FlowShopProblem(FlowShopInstance("tiny", TIMES))
ORDER = (3, 0, 1, 2)  # the worst one
VALUE = PROBLEM.evaluate(np.array(ORDER))


TOOK = Totals(
    decomposed=5, leaves=2, seconds=0.5, explore_seconds=0.25, units=3, donations=1,
    requeues=2,
)  # fmt: skip


def plan_of(problem=PROBLEM, **options):
    chosen = SolveOptions(**{"heuristics": "none", **options})
    plan = Plan(problem, "tiny", chosen, time.monotonic())
    return with_heuristics(plan, StartSearch())


def outcome(**changes):
    values = {
        "termination": Termination.EXHAUSTED, "exhausted": True, "value": None,
        "permutation": None, "ub": 0, "lower_bound": 0,
        "counters": Counters(5, 2, np.zeros(5, np.int64)), "trajectory": (),
        "totals": TOOK, "seats": {"w/cpu0": "cpu"},
    }  # fmt: skip
    return Outcome(**{**values, **changes})


def test_without_anything_known_there_is_no_upper_bound():
    plan = plan_of()
    assert (plan.makespan, plan.upper_bound, plan.branching_ub) == (None, None, None)
    spec = plan.spec(time.monotonic())
    assert (spec.upper_bound, spec.permutation) == (None, None)
    with pytest.raises(OptionError, match="branching_ub: expected a value"):
        plan_of(branching="minbranch").spec(0.0)


@pytest.mark.parametrize(
    ("options", "upper_bound", "branching_ub"),
    [
        ({"cutoff": 11}, 11, 11),
        ({"upper_bound": 11}, 11, 11),
        ({"initial": ORDER}, VALUE, VALUE),
        ({"initial": ORDER, "upper_bound": VALUE - 1}, VALUE - 1, VALUE - 1),
        ({"initial": ORDER, "upper_bound": VALUE + 1}, VALUE, VALUE),
        ({"initial": ORDER, "cutoff": VALUE - 1}, VALUE - 1, VALUE),
        ({"cutoff": 11, "all_optima": True}, 11, 11),
        ({"upper_bound": 11, "all_optima": True}, 12, 11),
        ({"cutoff": 2**62}, PROBLEM.trivial_ub, 2**62),
    ],
)
def test_smallest_known_value_prunes(options, upper_bound, branching_ub):
    """A cutoff prunes LB >= cutoff; all optima prune LB > UB."""
    plan = plan_of(**options)
    assert plan.upper_bound == upper_bound
    assert plan.spec(0.0).upper_bound == upper_bound
    assert plan.branching_ub == branching_ub


def test_root_bound_proves_only_where_no_tree_is_wanted():
    problem = FlowShopProblem(FlowShopInstance("one", np.array([[3], [4], [5]])))
    order = {"initial": (2, 0, 1)}
    assert plan_of(problem, **order).proved
    assert not plan_of(problem, **order, cutoff=12).proved
    assert not plan_of(problem, **order, all_optima=True).proved
    result = result_without_tree(plan_of(problem, **order), Termination.EXHAUSTED)
    assert (result.status, result.proof) == (Status.OPTIMAL, Proof.ROOT_BOUND)
    assert (result.makespan, result.lower_bound, result.decomposed) == (12, 12, 0)


def test_gap_limit_counts_from_the_root_bound():
    """A gap of zero is a proof, and no limit that was reached."""
    bound = root_bound(PROBLEM)
    gap = (VALUE - bound) / VALUE
    assert plan_of(initial=ORDER, gap_limit=gap).within_gap
    assert not plan_of(initial=ORDER, gap_limit=gap / 2).within_gap
    assert not plan_of(initial=ORDER).within_gap
    assert not plan_of(gap_limit=0.5).within_gap
    one = FlowShopProblem(FlowShopInstance("one", np.array([[3], [4], [5]])))
    assert not plan_of(one, initial=(2, 0, 1), gap_limit=0.5).within_gap


def test_exhausted_tree_with_a_schedule_is_optimal():
    plan = plan_of(initial=ORDER)
    result = result_of(
        plan,
        outcome(
            value=VALUE, permutation=ORDER, lower_bound=VALUE,
            trajectory=(Improvement(0.0, VALUE, "start"),),
        ),
        before_s=1.0,
    )  # fmt: skip
    assert (result.status, result.proof) == (Status.OPTIMAL, Proof.TREE_EXHAUSTED)
    assert (result.decomposed, result.leaves, result.units) == (5, 2, 3)
    assert result.schedule().makespan == VALUE
    assert result.trajectory == plan.trajectory  # the start is no improvement


def test_trajectory_counts_from_the_start_of_the_solve():
    plan = plan_of()
    step = Improvement(0.5, VALUE, "cpu")
    result = result_of(
        plan,
        outcome(value=VALUE, permutation=ORDER, lower_bound=VALUE, trajectory=(step,)),
        before_s=2.0,
    )
    assert [(s.seconds, s.value) for s in result.trajectory] == [
        (pytest.approx(2.5), VALUE)
    ]


def test_exhausted_tree_without_a_schedule_proves_the_cutoff():
    result = result_of(plan_of(cutoff=11), outcome(lower_bound=11), before_s=0.0)
    assert (result.status, result.lower_bound) == (Status.INFEASIBLE_CUTOFF, 11)
    assert (result.makespan, result.permutation, result.operations) == (None,) * 3


def test_known_schedule_above_the_upper_bound_is_not_called_optimal():
    """Nothing is below U; of a schedule above U that proves nothing."""
    plan = plan_of(initial=ORDER, upper_bound=VALUE - 1)
    result = result_of(
        plan,
        outcome(value=VALUE, permutation=ORDER, lower_bound=VALUE - 1),
        before_s=0.0,
    )
    assert result.status is Status.INFEASIBLE_CUTOFF
    assert (result.makespan, result.lower_bound) == (None, VALUE - 1)


@pytest.mark.parametrize(
    ("bound", "status", "proof"),
    [
        (0, Status.FEASIBLE, Proof.ROOT_BOUND),
        (VALUE - 1, Status.FEASIBLE, Proof.OPEN_ROOTS),
        (VALUE, Status.OPTIMAL, Proof.OPEN_ROOTS),
    ],
)
def test_stopped_tree_gives_the_better_of_its_bounds(bound, status, proof):
    plan = plan_of(initial=ORDER)
    stopped = outcome(
        termination=Termination.STOPPED, exhausted=False, value=VALUE,
        permutation=ORDER, lower_bound=bound,
    )  # fmt: skip
    result = result_of(plan, stopped, before_s=0.0)
    assert (result.status, result.proof) == (status, proof)
    assert result.lower_bound == max(bound, plan.root_bound)


@pytest.mark.parametrize(
    ("engines", "engine", "name"),
    [
        (("cpu",), None, "cpu"), (("gpu", "cpu"), "auto", "cpu+gpu"),
        (("reference",), "auto", "reference"), ((), "auto", "none"),
        (("reference",), "reference", "reference"),
    ],
)  # fmt: skip
def test_result_names_the_engine(engines, engine, name):
    done = outcome(lower_bound=11, seats=dict(enumerate(engines)))
    result = result_of(plan_of(cutoff=11), done, before_s=0.0, engine=engine)
    assert result.engine == name
