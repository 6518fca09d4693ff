"""CPU and GPU seats on one run: who gives, how much, and who gets it."""

import numpy as np
import pytest

from dpbb.coordination.messages import OrderKind, Seat, SeatId
from dpbb.coordination.speeds import LEAST_GIFT, PLENTY, shares_by_speed
from dpbb.coordination.units import SeatRecord
from dpbb.engines.base import Device
from dpbb.tree.work_unit import WorkUnit
from tests.unit.coordination.world import World, check_books, spec_of, tiny


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


def test_seats_of_a_kind_halve(world):
    """As before: one that is idle gets a part."""
    world.coordinator.add_seat(seat("other"), world.now)
    world.assign()
    assert world.report("cpu").kind is OrderKind.DONATE
    assert not world.coordinator.book.balance.mixed


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
    world.coordinator.book.balance.reported(lease, world.now, donated=None)
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
