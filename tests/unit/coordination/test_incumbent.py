"""A value is believed with its permutation only; the UB follows from both."""

import numpy as np
import pytest

from dpbb.coordination.incumbent import (
    Incumbent,
    evaluate_candidate,
    evaluate_candidates,
)
from dpbb.coordination.messages import Known, Request
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError
from dpbb.result import Improvement
from tests.unit.coordination.world import spec_of, tiny
from tests.waiting import WaitingJobs

PROBLEM = tiny(4)
ORDER = (0, 1, 2, 3)
COST = PROBLEM.evaluate(ORDER)


@pytest.mark.parametrize("all_optima", [False, True])
@pytest.mark.parametrize(
    ("cutoff", "order", "ub"),
    [
        (None, None, PROBLEM.trivial_ub),
        (20, None, 20),
        (10**9, None, PROBLEM.trivial_ub),  # prunes nothing: engines need not know
        (None, ORDER, "cost"),
        (COST + 5, ORDER, "cost"),
        (COST - 1, ORDER, COST - 1),  # better is asked for than what is known
    ],
)
def test_ub_at_the_start(cutoff, order, ub, all_optima):
    spec = spec_of(
        PROBLEM, upper_bound=cutoff, permutation=order, all_optima=all_optima
    )
    incumbent = Incumbent(spec)
    assert incumbent.ub == (COST + all_optima if ub == "cost" else ub)
    assert incumbent.permutation == order
    assert incumbent.value == (None if order is None else COST)
    assert [step.value for step in incumbent.trajectory] == [COST] * (order is not None)
    assert incumbent.optimum_if_exhausted == (COST if ub == "cost" else ub)


def test_what_the_caller_found_is_known_by_its_name():
    steps = Improvement(0.5, COST + 3, "neh"), Improvement(1.5, COST, "ig")
    request = Request(seconds=2.0, known=Known(trajectory=steps))
    spec = spec_of(PROBLEM, permutation=ORDER, request=request)
    assert Incumbent(spec).trajectory == [
        Improvement(-1.5, COST + 3, "neh"),
        Improvement(-0.5, COST, "ig"),
    ]
    better = Known(trajectory=(Improvement(0.5, COST - 1, "lie"),))
    spec = spec_of(PROBLEM, permutation=ORDER, request=Request(known=better))
    assert Incumbent(spec).trajectory == [Improvement(0.0, COST, "start")]


@pytest.mark.parametrize(
    ("order", "value", "said"),
    [
        (ORDER, COST - 1, f"cost {COST}, but {COST - 1} was claimed"),
        ((0, 1, 2, 2), COST, "every job once"),
        ((0, 1, 2), COST, "expected 4 jobs, got 3"),
    ],
)
def test_lying_candidate_is_an_invariant_error(order, value, said):
    with pytest.raises(InvariantError, match=f"seat: .*{said}"):
        evaluate_candidate(PROBLEM, Candidate(value, np.array(order)), "seat")


def test_a_candidate_without_a_cost_is_an_invariant_error():
    waiting = WaitingJobs((1, 2), (1, 1), (9, 9), (frozenset(), {0}))
    true, none = (Candidate(4, np.array(order)) for order in ((0, 1), (1, 0)))
    evaluate_candidates(waiting, [true], "seat")
    with pytest.raises(InvariantError, match="seat: permutation: expected an order"):
        evaluate_candidates(waiting, [true, none], "seat")


def test_improvement_lowers_the_ub_and_drops_the_old_optima():
    incumbent = Incumbent(spec_of(tiny(4), all_optima=True))
    incumbent.improve(50, np.arange(4), "a", 1.0)
    incumbent.collect([Candidate(50, np.arange(4)), Candidate(51, np.arange(4))])
    assert (incumbent.ub, incumbent.n_optima) == (51, 1)
    incumbent.improve(40, np.arange(4)[::-1], "b", 2.0)
    assert (incumbent.ub, incumbent.n_optima) == (41, 0)
    assert [(s.seconds, s.value, s.source) for s in incumbent.trajectory] == [
        (1.0, 50, "a"),
        (2.0, 40, "b"),
    ]
    assert incumbent.permutation == (3, 2, 1, 0)
    assert incumbent.optima().permutations.shape == (0, 4)


def test_optima_above_the_cutoff_are_none():
    incumbent = Incumbent(spec_of(tiny(4), upper_bound=50, all_optima=True))
    incumbent.improve(50, np.arange(4), "a", 1.0)
    incumbent.collect([Candidate(50, np.arange(4))])
    assert incumbent.n_optima == 0
