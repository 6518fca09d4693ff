"""What a run has left, by its last estimate."""

from dpbb.cluster.scheduler.outlook import Forecast


def test_what_is_left_is_counted_down():
    forecast = Forecast((1000.0, 600.0, 200.0), explored=500, ub=99)
    assert forecast.left(500) == 1000
    assert forecast.left(700) == 800
    assert forecast.left(1500) is None  # it was too low


def test_what_is_left_is_scaled_when_the_ub_falls():
    forecast = Forecast((1000.0, 600.0, 200.0), explored=500, ub=99)
    assert forecast.follow(700, 98) == Forecast((480.0, 160.0), 700, 98)
    assert forecast.follow(700, 97) == Forecast((160.0,), 700, 97)
    assert forecast.follow(700, 96) is None  # not known
    assert forecast.follow(1700, 98) is None  # it was too low


def test_where_nothing_was_left_nothing_is_known_of_a_smaller_tree():
    """Lost leases are not explored: then something is left after all."""
    forecast = Forecast((0.0, 0.0), explored=500, ub=99)
    assert forecast.left(400) == 100
    assert forecast.follow(400, 98) is None
