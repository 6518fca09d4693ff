from dataclasses import replace

from dpbb.solving.earlier import Earlier
from tests.unit.solving.test_plan import TOOK, outcome, plan_of


def test_sums_are_those_of_all_trees_and_survive_a_request():
    plan = plan_of(cutoff=11)
    over = outcome(totals=replace(TOOK, energy_j=2.5, gpu_seconds=0.125))
    first = plan.with_found(over, plan.result(over, opened=plan.began))
    again = type(plan).from_request(
        plan.problem, "tiny", first.to_request(0.0), opened=0.0
    )
    assert again.earlier == Earlier(5, 2, 3, 1, 2, 0.5, 0.25, 0.125, 2.5)
    result = again.result(outcome(), opened=0.0)  # of seats that say no energy
    assert Earlier.of(result) == Earlier(10, 4, 6, 2, 4, 1.0, 0.5, 0.125, 2.5)
    anew = Earlier.of(result).of_no_node
    assert anew == Earlier(0, 0, 0, 2, 4, 1.0, 0.5, 0.125, 2.5)
