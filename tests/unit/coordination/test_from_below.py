"""The steps of the way up, without a tree."""

from __future__ import annotations

from dataclasses import replace

from dpbb.coordination import from_below
from dpbb.coordination.coordinator import Coordinator
from dpbb.coordination.from_below import Below, Step
from dpbb.coordination.snapshot import Left
from dpbb.result import Improvement, Termination, Totals
from dpbb.solving.results import result_of, result_without_tree
from tests.unit.solving.test_plan import ORDER, VALUE, outcome, plan_of


def test_an_exhausted_tree_proves_its_cutoff_and_one_given_up_proves_nothing():
    step = Step(1, 100, width=8)
    up = step.after(108, exhausted=True, decomposed=50)
    assert (up.number, up.proved, up.nodes, up.width) == (2, 108, 50, 16)
    half = up.after(124, exhausted=False, decomposed=50)
    assert (half.number, half.proved, half.nodes, half.upper_bound) == (3, 108, 50, 116)


def test_a_step_that_what_is_known_made_smaller_is_halved_from_there():
    step = Step(5, 100, width=64)
    half = step.after(107, exhausted=False, decomposed=1)
    assert half.upper_bound == 103
    least = Step(5, 100, width=2).after(101, exhausted=False, decomposed=1)
    assert (least.upper_bound, least.node_limit) == (
        101,
        None,
    )  # which is never given up


def test_a_tree_is_given_up_when_it_is_much_larger_than_the_last(monkeypatch):
    monkeypatch.setattr(from_below, "FREE_NODES", 1000)
    monkeypatch.setattr(from_below, "PATIENCE", 10)
    assert Step(1, 5, width=2, nodes=3).node_limit == 1000
    assert Step(1, 5, width=2, nodes=500).node_limit == 5000
    assert Step(1, 5, width=1, nodes=500).node_limit is None


def at(plan, step, decomposed=0):
    return replace(plan, below=Below(step, earlier=Totals(decomposed=decomposed)))


def below(**options):
    plan = plan_of(initial=ORDER, strategy="from-below", **options)
    return at(plan, Step(1, plan.root_bound))


def test_the_upper_bound_is_the_steps_but_never_above_what_is_known():
    plan = below()
    assert plan.upper_bound == plan.root_bound + 1
    spec = plan.spec(0.0)
    assert (spec.upper_bound, spec.proved_bound) == (plan.upper_bound, plan.root_bound)
    assert spec.permutation == ORDER
    wide = at(plan, Step(1, plan.root_bound, width=1000))
    assert wide.upper_bound == VALUE
    assert below(upper_bound=VALUE - 1).upper_bound <= VALUE - 1
    again = type(plan).of_run(plan.spec(0.0), 0.0, plan.options)
    assert again.below == plan.below


def test_a_tree_without_a_schedule_is_followed_by_another():
    plan = below()
    cutoff = plan.upper_bound
    over = outcome(value=VALUE, permutation=ORDER, ub=cutoff, lower_bound=cutoff)
    result = result_of(plan, over, before_s=0.0)
    assert (str(result.status), result.lower_bound) == ("infeasible_cutoff", cutoff)
    assert [bound.value for bound in result.bounds] == [cutoff]
    after = plan.after(over, result)
    assert (after.lower_bound, after.makespan) == (cutoff, VALUE)
    assert after.below.earlier == over.totals
    again = type(plan).of_run(after.spec(0.0), 0.0, plan.options)
    assert again.below == after.below
    ended = result_without_tree(after, "time_limit")
    assert (str(ended.status), ended.lower_bound) == ("feasible", cutoff)
    assert (str(ended.proof), ended.makespan) == ("cutoff_exhausted", VALUE)
    assert (ended.decomposed, ended.bounds) == (result.decomposed, result.bounds)


def test_what_the_user_limits_is_not_followed_and_what_the_step_limits_is():
    plan = below(node_limit=1000)
    cut = {"exhausted": False, "value": VALUE, "permutation": ORDER, "ub": VALUE}
    cut["lower_bound"] = plan.root_bound
    for name, goes_on in (("node_limit", True), ("time_limit", False)):
        over = outcome(termination=Termination(name), **cut)
        result = result_of(plan, over, before_s=0.0)
        assert (plan.after(over, result) is not None) is goes_on
    spent = at(plan, Step(1, plan.root_bound), 2000)
    over = outcome(termination=Termination.NODE_LIMIT, **cut)
    assert spent.after(over, result_of(spent, over, before_s=0.0)) is None


def test_patience_lasts_from_tree_to_tree():
    """Ten seconds, eight in trees; a schedule at the third, or gone on at the sixth."""
    found = (Improvement(3.0, VALUE, "tree"),)
    for earlier, trajectory, resumed, waited in (
        *((8.0, found, None, 7.0), (5.0, found, None, 5.0)),
        *((8.0, (), None, 8.0), (8.0, found, 6.0, 4.0), (8.0, found, 11.0, 0.0)),
    ):
        way = Below(Step(1, 16), earlier=Totals(seconds=earlier))
        changes = {"below": way, "trajectory": trajectory, "resumed": resumed}
        plan = replace(below(no_improvement_s=9), began=0.0, **changes)
        run = Coordinator(plan.spec(10.0, "cpu"), now=10.0)
        assert run.limit_reached(18.9 - waited) is None
        assert run.limit_reached(19.0 - waited) is Termination.NO_IMPROVEMENT


def test_what_is_left_is_only_told_of_a_tree_that_may_be_the_last():
    plan = below()
    now = Coordinator(plan.spec(0.0, "cpu"), now=0.0).snapshot(1.0)
    left = Left(nodes=(1, 2, 3), seconds=(1, 2, 3))
    for ub, value, given, told in (
        *((VALUE - 1, VALUE, None, None), (VALUE, VALUE, None, left)),
        *((VALUE, None, None, None), (VALUE, None, VALUE - 1, left)),
    ):
        way = Below(Step(1, 0, ub), earlier=Totals(decomposed=5))
        shown = replace(now, left=left, decomposed=2, value=value)
        shown = way.shown_on(shown, given)
        assert (shown.left, shown.decomposed) == (told, 7)
