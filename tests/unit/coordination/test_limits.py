"""Limits that end a run."""

import math
from types import SimpleNamespace

import pytest

from dpbb.coordination.limits import reached
from dpbb.result import Termination
from tests.unit.coordination.world import WeakFlowShop, World, optimum, spec_of, tiny


@pytest.mark.parametrize(
    ("limits", "termination"),
    [
        ({"time_limit_s": 3.0}, Termination.TIME_LIMIT),
        ({"node_limit": 20}, Termination.NODE_LIMIT),
        ({"gap_limit": 1.0}, Termination.GAP_LIMIT),
    ],
)
def test_limit_stops_the_run(limits, termination):
    world = World(spec_of(tiny(6, slack=100), **limits), seats=["a", "b"])
    for _ in range(10):
        world.round(n_nodes=5, seconds=0.5)
    assert world.coordinator.finished
    outcome = world.coordinator.outcome()
    assert (outcome.termination, outcome.exhausted) == (termination, False)
    assert outcome.counters.decomposed > 0
    assert outcome.lower_bound <= optimum(tiny(6))
    assert outcome.totals.seconds <= 5.0


def test_an_incumbent_with_the_bound_of_the_root_ends_the_run():
    problem = tiny(6)
    best = optimum(problem)
    for bound, termination in (
        (best, Termination.ROOT_BOUND),
        (best - 1, Termination.EXHAUSTED),
    ):
        world = World(spec_of(tiny(6, slack=100), root_bound=bound), seats=["a", "b"])
        outcome = world.run()
        assert outcome.termination is termination
        assert outcome.value == best
        assert outcome.exhausted == (termination is Termination.EXHAUSTED)


def test_gap_of_zero_is_no_limit():
    """All open roots can be pruned then: the proof is at hand."""
    problem = WeakFlowShop(((3,), (4,), (5,)))  # all orders cost the same
    spec = spec_of(problem, permutation=(0, 1, 2), gap_limit=0.5)
    world = World(spec, seats=["a"])
    assert world.coordinator.snapshot(world.now).gap == 0.0
    world.coordinator.tick(world.now)
    assert world.run().termination is Termination.EXHAUSTED


def test_a_limit_holds_from_its_value_on():
    """Time counts from the start or the resume, nodes from the run's first start."""
    spec = spec_of(tiny(3), node_limit=10, gap_limit=0.1)

    def run(decomposed, gap):
        return SimpleNamespace(
            spec=spec, deadline=105.0, decomposed=decomposed, gap=gap
        )

    assert reached(run(9, 0.11), 104.9) is None
    assert reached(run(9, 0.11), 105.0) is Termination.TIME_LIMIT
    assert reached(run(10, None), 104.9) is Termination.NODE_LIMIT
    assert reached(run(9, 0.1), 104.9) is Termination.GAP_LIMIT


def test_nothing_is_looked_at_that_has_no_limit():
    """The gap is a minimum over all open units."""
    run = SimpleNamespace(spec=spec_of(tiny(3)), deadline=math.inf)
    assert reached(run, 1e9) is None
