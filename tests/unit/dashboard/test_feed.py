"""Series over time: bounded, and true to the snapshots."""

from dataclasses import replace

import pytest

from dpbb.coordination.snapshot import RunState
from dpbb.dashboard.feed import History
from tests.unit.dashboard.fakes import BASE


def note(history, seconds, **nodes):
    counts = tuple(nodes.items())
    total = sum(nodes.values())
    history.note(
        replace(
            BASE, seconds=seconds, decomposed=total, leaves=0, engine_nodes=counts,
            nodes_per_second=0.0,
        )
    )  # fmt: skip


def test_rates_of_engines_make_up_the_total():
    """Also where the run has no seat at the moment of a sample."""
    history = History()
    for tick in range(41):
        # reports come once a second, from seats that the run has every other second
        seconds, reports = tick / 2, tick // 2
        note(history, seconds, cpu=100 * (reports // 2), gpu=3000 * (reports // 2))
    rates = history.rates()
    assert len(rates["cpu"]) == len(history.seconds) == 41
    late = slice(20, None)
    assert rates["cpu"][late] == pytest.approx([50.0] * 21, rel=0.3)
    assert rates["gpu"] == pytest.approx([30 * rate for rate in rates["cpu"]])


def test_what_is_lost_with_a_lease_is_no_negative_rate():
    history = History()
    for seconds, nodes in ((0.0, 0), (10.0, 100), (20.0, 50), (30.0, 250)):
        note(history, seconds, cpu=nodes)
    assert history.rates()["cpu"] == pytest.approx([10.0, 10.0, 0.0, 20.0])


def test_the_end_always_counts_and_nothing_after_it():
    history = History()
    history.note(BASE)
    over = replace(BASE, seconds=10.01, state=RunState.FINISHED, spans=())
    history.note(over)
    assert history.seconds == [10.0, 10.01]
    version = history.version
    history.note(replace(over, seconds=99.0))
    assert history.version == version
