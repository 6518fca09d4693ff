"""Report intervals: as asked for with few seats, stretched with many."""

import pytest

from dpbb.coordination.pace import MAX_REPORT_BYTES, MAX_REPORTS, Pace, RateMeter
from tests.unit.coordination.world import spec_of, tiny


def pace_of(**options):
    return Pace(spec_of(tiny(), **options))


def test_few_seats_report_as_the_run_asks():
    pace = pace_of(report_interval_s=1.0, checkpoint_interval_s=30.0)
    pace.note_full(200_000)
    assert (pace.report_s(100), pace.full_s(100)) == (1.0, 30.0)


def test_reports_of_many_seats_stay_below_the_rates():
    pace = pace_of()
    for n_bytes in (900_000, *[400_000] * 200):
        pace.note_full(n_bytes)
    assert 2000 / pace.report_s(2000) == pytest.approx(MAX_REPORTS)
    per_s = 2000 * 400_000 / pace.full_s(2000)
    assert per_s == pytest.approx(MAX_REPORT_BYTES, rel=0.01)


def test_seats_report_before_their_leases_expire():
    for leases, asked_s in ((100_000, 1.0), (1, 60.0)):
        pace = pace_of(lease_timeout_s=60.0, report_interval_s=asked_s)
        assert pace.report_s(leases) * 1.5 < 60 / 2  # intervals are jittered by half


def test_rate_between_seldom_reports():
    """Neither nothing nor twice as much, at whatever moment somebody looks."""
    meter, nodes = RateMeter(0.0, 0, 20.0), 0
    for now in range(1, 200):
        nodes += 2_000 * (now % 20 == 0)  # a report
        meter.note(now, nodes)
        assert now < 60 or meter.rate(now, nodes) == pytest.approx(100, rel=0.35)
