"""What the suite of Dask counts as a hand-over."""

from types import SimpleNamespace

import pytest

from dpbb.bench.dask import Watch, gap_text

LAST, GOES_ON = SimpleNamespace(last=True), None
LEASE, SEAT = "lease", "seat"


class Hub:
    """Two runs of one seat, which has one lease in each."""

    def __init__(self, order=None):
        self.runs = {
            run: SimpleNamespace(lease_seats={LEASE: SEAT}) for run in ("one", "other")
        }
        self._order = SimpleNamespace(next=order)
        self._shell = SimpleNamespace(answer=lambda *_: None)

    def on_report(self, _run_id, _report, _checked):
        return self._order

    def lease(self, _run_id, _unit, _attempt, _seat):
        return LEASE


def report(full):
    return SimpleNamespace(lease=LEASE, full=full)


@pytest.fixture
def watched():
    """A hub and the list of its hand-overs."""
    hub, gaps_s = Hub(), []
    Watch(hub, gaps_s)
    return hub, gaps_s


def test_a_freed_seat_that_leases_again_is_a_hand_over(watched):
    hub, gaps_s = watched
    hub.lease("one", 0, 0, SEAT)
    hub.on_report("one", report(GOES_ON), None)
    assert gaps_s == []
    hub.on_report("one", report(LAST), None)
    hub.lease("one", 1, 0, SEAT)
    assert len(gaps_s) == 1


def test_a_unit_that_comes_with_the_answer_is_a_hand_over(watched):
    hub, gaps_s = watched
    hub.on_report("one", report(LAST), None)
    hub._shell.answer("one", LEASE, SimpleNamespace(next=SimpleNamespace(id=LEASE)))
    assert len(gaps_s) == 1


def test_between_two_runs_nothing_is_handed_over(watched):
    hub, gaps_s = watched
    hub.on_report("one", report(LAST), None)
    hub.lease("other", 0, 0, SEAT)
    assert gaps_s == []


def test_hand_overs_are_told_by_their_median_and_what_most_are_below():
    assert gap_text([]) == "-"
    assert gap_text([0.02]) == "20.0 (20.0) ms"
    assert gap_text([0.001 * ms for ms in range(101)]) == "50.0 (90.0) ms"
