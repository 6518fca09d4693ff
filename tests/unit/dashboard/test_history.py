"""Series over time: bounded, and true to the snapshots."""

from dataclasses import replace

import pytest

from dpbb.coordination.snapshot import RunState
from dpbb.dashboard.history import MAX_SAMPLES, History, rates_of
from tests.unit.dashboard.fakes import BASE, seat


def test_rates_of_engines_make_up_the_total():
    rates = rates_of(BASE)
    assert rates == pytest.approx({"cpu": 0.5e6, "gpu": 1.5e6})
    begun = replace(BASE, seats=(seat(1, rate=0.0), seat(2, rate=0.0, engine="gpu")))
    assert rates_of(begun) == {"cpu": 1e6, "gpu": 1e6}
    assert rates_of(replace(BASE, seats=())) == {}


def test_a_long_run_is_sampled_less_often():
    history = History()
    for second in range(10_000):
        history.note(replace(BASE, seconds=float(second), lower_bound=second))
    assert MAX_SAMPLES // 2 <= len(history.seconds) <= MAX_SAMPLES
    assert history.seconds == sorted(history.seconds)
    assert history.seconds[0] < 200
    assert history.seconds[-1] >= 9_999 - history.step_s
    assert history.lower_bound == history.seconds
    lengths = {len(series) for series in (history.cells, *history.rates.values())}
    assert lengths == {len(history.seconds)}


def test_samples_that_come_too_early_do_not_count():
    history = History()
    for tick in range(100):
        history.note(replace(BASE, seconds=tick / 100))
    assert len(history.seconds) == 2


def test_the_end_always_counts_and_nothing_after_it():
    history = History()
    history.note(BASE)
    over = replace(BASE, seconds=10.01, state=RunState.FINISHED, spans=())
    history.note(over)
    assert history.seconds == [10.0, 10.01]
    assert history.total_rate[-1] == 0.0
    assert not history.cells[-1].any()
    version = history.version
    history.note(replace(over, seconds=99.0))
    assert history.version == version


def test_an_engine_that_comes_late_had_no_rate_before():
    history = History()
    history.note(replace(BASE, seconds=0.0, seats=(seat(1),)))
    history.note(BASE)
    assert history.rates["gpu"][0] == 0.0
    assert history.rates["gpu"][1] > 0
