"""What a run came to."""

import pytest

from tests.unit.coordination.world import World, seat_of, spec_of, tiny


def test_outcome_of_an_open_run_is_refused():
    world = World(spec_of(tiny(4)))
    with pytest.raises(ValueError, match="expected run run to be over"):
        world.coordinator.outcome()


def test_outcome_says_who_explored():
    world = World(spec_of(tiny(5)), seats=["a", "b"])
    outcome = world.run()
    world.coordinator.add_seat(seat_of("c"), world.now)
    assert list(outcome.seats) == ["a", "b"]
    assert outcome.engines == ("reference",)
    assert outcome.totals.explore_seconds > 0
    assert outcome.totals.units > outcome.totals.donations > 0  # a donation may be cut
    assert outcome.error is None
