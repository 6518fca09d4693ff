"""A unit that comes with the answer to the last report of another."""

import pytest

from dpbb.coordination.messages import Order, OrderKind
from dpbb.coordination.wire import decode, encode
from dpbb.errors import StaleLeaseError
from tests.oracle import naive_tree
from tests.unit.coordination.world import World, check_books, optimum, spec_of, tiny

LARGE = tiny(6, slack=100)  # nothing is pruned: 517 decomposed nodes, 720 leaves
TIMEOUT_S = 50.0


def world_about_to_end(seats=("a",), **changes):
    """Return a world in which seat a is done with its unit while another waits.

    The answer to its next report, a last one, is still to come.
    """
    spec = spec_of(LARGE, lease_timeout_s=TIMEOUT_S, **changes)
    world = World(spec, (*seats, "gone"), follows=True)
    for _ in range(200):
        world.round(n_nodes=5)
        if len(world.tasks) == 1 + len(seats):
            break
    world.coordinator.remove_seat("gone", world.now)  # its unit waits
    del world.tasks["gone"]
    world.tasks["a"].explore(10_000)
    assert waiting(world)
    return world


def waiting(world):
    return list(world.coordinator.book.waiting)


def lease_of(world, seat):
    unit = world.coordinator.book.seats[seat].unit
    return None if unit is None else unit.lease


def test_next_unit_comes_with_the_answer_to_the_last_report():
    """The seat holds it at once, without asking."""
    world = world_about_to_end()
    (unit,) = waiting(world)
    order = world.report("a")
    assert order.kind is OrderKind.DROP
    assert order.next.unit == unit
    assert order.next.ub == world.coordinator.ub
    assert lease_of(world, "a").id == order.next.id
    assert not world.coordinator.idle_seats()
    check_books(world.coordinator)
    assert decode(Order, encode(order)) == order


def test_repeated_report_gets_the_same_lease_again():
    """Its answer was lost; the seat has no other way to learn of the unit."""
    world = world_about_to_end()
    message = world.tasks["a"].message()
    first = world.deliver(message)
    again = world.deliver(message)
    assert again.next.id == first.next.id
    assert again.next.roots == first.next.roots
    assert len(world.coordinator.book.leases) == 1


def test_repeated_report_gets_no_lease_that_has_been_reported_on():
    """The answer has arrived: what comes late is an echo."""
    world = world_about_to_end()
    last = world.tasks["a"].message()
    world.report("a")
    world.report("a")
    assert world.deliver(last).next is None
    assert lease_of(world, "a").seq == 1


def test_lease_expires_when_its_answer_is_lost_for_good():
    """The unit waits again; the seat gets it as soon as it is heard of."""
    world = world_about_to_end()
    message = world.tasks["a"].message()
    order = world.deliver(message)
    world.now += TIMEOUT_S + 1
    world.coordinator.tick(world.now)
    assert waiting(world) == [order.next.unit]
    assert not world.coordinator.idle_seats()
    assert world.deliver(message).next is None
    world.ended("a", world.tasks.pop("a"))
    assert world.coordinator.idle_seats() == ["a"]
    assert world.run().exhausted


def test_end_of_the_task_gives_back_what_it_never_heard_of():
    """At once: no time-out has to pass."""
    world = world_about_to_end()
    order = world.deliver(world.tasks["a"].message())
    world.ended("a", world.tasks.pop("a"))
    assert waiting(world) == [order.next.unit]
    with pytest.raises(StaleLeaseError):
        world.coordinator.lease(order.next.unit, order.next.attempt, "a", world.now)


@pytest.mark.parametrize("seats", [("a",), ("a", "b", "c3"), tuple("abcdefgh")])
def test_counts_of_a_whole_run_are_exact(seats):
    """At a fixed UB they are those of the tree."""
    ub = optimum(LARGE)
    world = World(spec_of(LARGE, upper_bound=ub), seats, follows=True)
    counters = world.run(n_nodes=2).counters
    naive = naive_tree(LARGE, world.spec.tree, ub)
    assert counters.decomposed == len(naive.decomposed)
    assert counters.leaves == len(naive.leaves)
