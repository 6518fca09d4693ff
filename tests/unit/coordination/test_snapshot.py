"""What a run looks like at any time."""

import pytest

from dpbb.coordination import coordinator as coordinating
from dpbb.coordination.snapshot import RunState
from dpbb.errors import InvariantError
from dpbb.result import Termination
from tests.oracle import best_orders
from tests.unit.coordination.world import (
    WeakFlowShop,
    World,
    optimum,
    seat_of,
    spec_of,
    tiny,
)

LARGE = tiny(6, slack=100)  # nothing is pruned


def test_the_bound_that_is_shown_does_not_fall_when_the_tree_begins():
    """What was known before may be better than the tree's own; not of its outcome."""
    best = optimum(tiny(6))
    spec = spec_of(tiny(6, slack=100), root_bound=best - 1, permutation=tuple(range(6)))
    coordinator = World(spec, seats=["a"]).coordinator
    assert coordinator.lower_bound < best - 1
    snapshot = coordinator.snapshot(0.0)
    assert snapshot.lower_bound == best - 1
    assert snapshot.gap == (snapshot.value - best + 1) / snapshot.value


def test_snapshot_counts_light_reports_and_says_what_seats_do():
    world = World(spec_of(tiny(6)), seats=["a"])
    world.assign()
    world.start("a")
    task = world.tasks["a"]
    for nodes in (5, 20):
        world.now += 0.5
        task.explore(nodes)
        world.report("a")
    assert world.coordinator.book.counters.decomposed == 0  # no full report yet
    world.coordinator.add_seat(seat_of("b"), world.now)
    snapshot = world.coordinator.snapshot(world.now)
    assert (snapshot.decomposed, snapshot.leaves) == (
        task.counters.decomposed,
        task.counters.leaves,
    )
    assert snapshot.nodes_per_second == pytest.approx(
        task.counters.decomposed + task.counters.leaves
    )
    busy, idle = snapshot.seats
    assert (busy.seat, busy.worker, busy.engine) == ("a", "worker-a", "reference")
    assert (busy.busy, busy.unit, busy.open_roots) == (True, 1, task.slice.open_roots)
    assert busy.decomposed == task.counters.decomposed
    assert busy.nodes_per_second == pytest.approx(40)
    assert (idle.busy, idle.unit, idle.decomposed) == (False, None, 0)
    assert snapshot.spans == ((0.0, 1.0, "leased"),)
    world.coordinator.remove_seat("a", world.now)  # what only it knew of is lost
    snapshot = world.coordinator.snapshot(world.now)
    assert (snapshot.decomposed, snapshot.leaves, snapshot.requeues) == (0, 0, 1)


def test_explored_is_0_and_1_only_where_it_is_that():
    """Of the permutations of 500 jobs a float can not tell what is closed from none."""
    whole = 10**1134
    assert coordinating._share(0, whole) == 0.0
    assert 0.0 < coordinating._share(1, whole) < 1e-300
    assert coordinating._share(whole // 2, whole) == 0.5
    assert 0.99 < coordinating._share(whole - 1, whole) < 1.0
    assert coordinating._share(whole, whole) == 1.0


def test_seats_that_are_lost_are_told_from_those_that_are_given_up():
    world = World(spec_of(LARGE, lease_timeout_s=10.0), seats=["a", "b", "c"])
    coordinator = world.coordinator
    world.assign()
    world.start("a")
    world.now += 1000
    coordinator.tick(world.now)
    assert [seat.state for seat in coordinator.snapshot(world.now).seats] == [
        "silent", "idle", "idle",
    ]  # fmt: skip
    coordinator.remove_seat("a", world.now)
    coordinator.remove_seat("b", world.now, lost=False)
    coordinator.remove_seat("nobody", world.now)
    snapshot = coordinator.snapshot(world.now)
    assert snapshot.seats_lost == 1
    kinds = {event.text.split()[0]: event.kind for event in snapshot.events}
    assert (kinds["a"], kinds["b"]) == ("seat-lost", "seat-left")


def test_snapshot_of_a_finished_run_stands_still():
    world = World(spec_of(tiny(4)), seats=["a", "b"])
    outcome = world.run()
    first = world.coordinator.snapshot(world.now)
    later = world.coordinator.snapshot(world.now + 1000)
    assert later == first
    assert first.seconds == outcome.totals.seconds
    assert (first.state, first.termination) == (RunState.FINISHED, "exhausted")
    assert (first.explored, first.open_roots, first.gap) == (1.0, 0, 0.0)
    assert first.value == first.lower_bound == first.ub == optimum(tiny(4))
    assert [event.kind for event in first.events][-1] == "end"
    assert "incumbent" in [event.kind for event in first.events]


def test_what_was_proved_before_is_a_lower_bound_and_a_breach_stops_the_run():
    problem = tiny(6)
    best, orders = best_orders(problem.times)
    world = World(spec_of(problem, upper_bound=best + 2, proved_bound=best))
    snapshot = world.coordinator.snapshot(world.now)
    assert (snapshot.lower_bound, snapshot.ub) == (best, best + 2)
    assert any(event.kind == "step" for event in snapshot.events)
    world = World(spec_of(problem, upper_bound=best + 2, proved_bound=best + 1))
    with pytest.raises(InvariantError, match=f"below the lower bound {best + 1}"):
        world.coordinator.offer(min(orders), "offer", world.now)
    assert world.coordinator.state is RunState.FAILED


@pytest.mark.parametrize(
    ("limits", "termination"),
    [
        ({"time_limit_s": 3.0}, Termination.TIME_LIMIT),
        ({"no_improvement_s": 1.5}, Termination.NO_IMPROVEMENT),
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
