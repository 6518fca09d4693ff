"""Nodes a second."""

import pytest

from dpbb.coordination.rate import WINDOW_S, RateMeter


def test_rate_is_that_of_the_last_seconds():
    meter = RateMeter(10.0)
    assert meter.rate(10.0, 0) == 0.0
    for second in range(1, 21):  # 100 a second, then 1000
        nodes = 100 * second if second <= 10 else 1000 + 1000 * (second - 10)
        meter.note(10.0 + second, nodes)
    assert meter.rate(30.0, nodes) == pytest.approx(1000)
    assert len(meter._samples) <= WINDOW_S + 2


def test_rate_is_not_negative_when_nodes_are_lost():
    meter = RateMeter(0.0)
    meter.note(1.0, 500)
    meter.note(7.0, 400)
    meter.note(13.0, 300)
    assert meter.rate(13.5, 200) == 0.0
