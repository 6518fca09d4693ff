"""What is worth a hand-over, how donations are cut, and who may give unasked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.coordination.balance import (
    DONATION_ROOTS,
    LEAST_GIFT,
    PLENTY,
    Donors,
    shares_by_speed,
)
from dpbb.coordination.messages import OrderKind, Seat, SeatId
from dpbb.coordination.units import SeatRecord
from dpbb.engines.base import Device
from dpbb.result import Termination
from dpbb.tree.work_unit import WorkUnit
from tests.unit.coordination.world import World, check_books, seat_of, spec_of, tiny

LARGE = tiny(6, slack=100)


# -- gifts ----------------------------------------------------------------------


def nudged_world(**changes):
    """Return a world in which seat a has been asked for work for seat b."""
    world = World(spec_of(LARGE, **changes), ("a",))
    for _ in range(3):
        world.round(n_nodes=5)
    world.coordinator.add_seat(seat_of("b"), world.now)
    world.assign()
    assert world.coordinator.nudges() == ["a"]
    return world


def test_donor_is_told_at_once_what_is_wanted():
    """It need not report to learn it."""
    world = nudged_world()
    told = world.coordinator.hint("a")
    assert told["lease"] == world.tasks["a"].lease.id
    assert told["max_roots"] == DONATION_ROOTS[1]
    world.report("a", donate=True)
    assert world.coordinator.book.waiting
    assert not world.coordinator.book.balance._asked


@pytest.mark.parametrize("reason", ["stop", "drain", "save", "unknown", "not asked"])
def test_nothing_is_wanted_of_who_has_other_orders(reason):
    world = nudged_world()
    coordinator, seat = world.coordinator, "a"
    match reason:
        case "stop":
            coordinator.request_stop(Termination.STOPPED, world.now)
        case "drain":
            coordinator.drain_seat("a", world.now)
        case "save":
            coordinator.request_save(world.now)
        case "unknown":
            seat = "nobody"
        case "not asked":
            coordinator.remove_seat("b", world.now)
            world.report("a")
    assert coordinator.hint(seat) == {"full": reason == "save"}


# -- a unit that waits for who is idle next ----------------------------------------


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"),
            st.none() | st.tuples(st.integers(0, 100), st.sampled_from([0.7, 3, 1e9])),
        ),
        max_size=60,
    )
)
def test_donors_come_richest_first(changes):
    donors, truth = Donors(), {}
    for lease, change in changes:
        if change is None:
            donors.discard(lease)
            truth.pop(lease, None)
        else:
            since, speed = change
            donors.put(lease, 5, since, speed)
            truth[lease] = (200 - since) * speed
    while truth:
        lease = donors.pop(2, 200)
        assert 2 * truth[lease] >= max(truth.values())  # speeds are told apart by two
        del truth[lease]
    assert donors.pop(2, 200) is None


# -- seats of several speeds ----------------------------------------------------


def seat(name, kind="cpu", threads=1):
    device = Device(kind, name, threads=threads)
    return Seat(SeatId(name), f"worker-{name}", device, "reference")


def record(name, kind="cpu", threads=1, speed=0.0):
    return SeatRecord(seat(name, kind, threads), speed=speed)


@pytest.fixture
def world():
    """A CPU seat that explores the whole tree, and has open roots to give."""
    world = World(spec_of(tiny(6, slack=100)))
    world.coordinator.add_seat(seat("cpu"), world.now)
    for _ in range(3):
        world.round()
    assert world.tasks["cpu"].slice.open_roots > 2
    return world


def test_idle_gpu_gets_all_of_a_slow_seat(world):
    """Halves of what a core holds would keep a GPU waiting again and again."""
    world.coordinator.add_seat(seat("gpu", "cuda"), world.now)
    world.assign()
    assert "cpu" in world.coordinator.nudges()
    assert world.report("cpu").kind is OrderKind.DRAIN
    world.report("cpu")
    check_books(world.coordinator)
    assert world.coordinator.idle_seats() == ["gpu", "cpu"]  # the fastest first
    world.assign()
    assert set(world.tasks) == {"gpu"}
    outcome = world.run()
    assert outcome.exhausted
    assert outcome.totals.requeues == 0


def test_gpu_with_little_is_not_disturbed_for_a_core():
    """It ends sooner than the core would."""
    world = World(spec_of(tiny(6, slack=100)))
    world.coordinator.add_seat(seat("gpu", "cuda"), world.now)
    world.coordinator.book.seats["gpu"].speed = 1e9
    for _ in range(3):
        world.round()
    world.coordinator.add_seat(seat("cpu"), world.now)
    for _ in range(5):
        world.assign()
        assert world.coordinator.nudges() == []
        world.tasks["gpu"].explore(1)
        assert world.report("gpu").kind is OrderKind.CONTINUE
    task = world.tasks["gpu"]
    lease = world.coordinator.book.leases[task.lease.id]
    lease.open_roots = PLENTY
    world.coordinator.book.balance.reported(lease, world.now, given=None)
    world.assign()
    assert world.coordinator.nudges() == ["gpu"]
    order = world.report("gpu")
    assert order.kind is OrderKind.DONATE
    assert order.max_roots == LEAST_GIFT
    assert world.run().exhausted


@pytest.mark.parametrize("n_roots", [1, 2, 3, 5, 40])
def test_shares_are_all_of_it_and_as_the_speeds(n_roots):
    donated = WorkUnit.whole(8).split(n_roots)
    donated = WorkUnit.concatenate(donated)
    donated = donated.take(np.arange(min(n_roots, len(donated))))
    takers = [record("g", speed=8e6), record("h", speed=1e6), record("i", speed=1e6)]
    shares = shares_by_speed(donated, takers)
    assert WorkUnit.concatenate(shares) == donated
    sizes = [len(share) for share in shares]
    assert min(sizes) >= 1
    assert sizes[0] == max(sizes)
    if len(donated) == 40:
        assert 25 <= sizes[0] <= 35
