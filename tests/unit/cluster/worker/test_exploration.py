"""One lease on one session: reports, hints, orders."""

import numpy as np
import pytest

from dpbb.cluster.worker.exploration import (
    FEW_ROOTS,
    Exploration,
    SeatClosedError,
    SeatControl,
    SeatStatus,
)
from dpbb.coordination.messages import Lease, Order, OrderKind
from dpbb.engines.base import Candidate, Slice
from dpbb.tree.work_unit import WorkUnit
from tests.unit.cluster.support import Clock, World, tiny_spec


class ScriptedLink:
    """Answers the n-th report with the n-th order; afterwards: go on."""

    def __init__(self, *orders, statuses=()):
        self.control = SeatControl()
        self.reports = []
        self._orders = list(orders)
        self._statuses = list(statuses)

    def status(self):
        return self._statuses.pop(0) if self._statuses else SeatStatus.OPEN

    def report(self, report):
        self.reports.append(report)
        order = self._orders.pop(0) if self._orders else OrderKind.CONTINUE
        if isinstance(order, Exception):
            raise order
        return Order(order, 100) if isinstance(order, OrderKind) else order


class ScriptedSession:
    """A session of so many slices, each of which takes a second."""

    def __init__(self, clock, slices, optima=()):
        self.ubs = []
        self.seconds = []
        self.shrunk = []
        self.given = []
        self._clock, self._left, self._optima = clock, slices, list(optima)

    slice_s = 1.0

    def interrupt(self):
        """End nothing: no slice is under way."""

    def load(self, unit):
        assert len(unit) == 1

    open_roots = 2

    def advance(self, ub, max_seconds, most_roots=None):
        self.ubs.append(ub)
        self.seconds.append(max_seconds)
        self.shrunk.append(most_roots)
        self._clock.now += 1
        self._left -= 1
        found = self._optima.pop(0) if self._optima else ()
        return Slice(
            decomposed=10, leaves=len(found), closed=np.array([0, 1, 0, 0]),
            best=found[0] if found else None, open_roots=self.open_roots, least_lb=7,
            exhausted=self._left <= 0, optima=found,
        )  # fmt: skip

    def donate(self, max_roots):
        self.given.append(max_roots)
        return WorkUnit.from_paths(3, [(2,)])

    def remaining(self):
        return WorkUnit.from_paths(3, [(1,)] if self._left > 0 else [])


def explore(link, slices, optima=(), **options):
    """Run a lease of one watt; returns the session and whether it can be used again."""
    clock = Clock()
    options = {"report_interval_s": 1e6, "checkpoint_interval_s": 1e6} | options
    spec = tiny_spec(n_jobs=3, **options)
    session = ScriptedSession(clock, slices, optima)
    lease = Lease("r/1.1", WorkUnit.whole(3), 100)
    import dpbb.cluster.worker.exploration as module

    first, module.FIRST_REPORT_S = module.FIRST_REPORT_S, 1e6
    try:
        return session, Exploration(spec, lease, session, link, clock, clock).run()
    finally:
        module.FIRST_REPORT_S = first


def candidate(value):
    return Candidate(value, np.array([0, 1, 2]))


def test_end_of_a_unit_is_one_last_full_report():
    """Cumulative counters, nothing remaining; the session can take another unit."""
    link = ScriptedLink()
    _, reusable = explore(link, 3)
    (report,) = link.reports
    assert reusable
    assert (report.seq, report.decomposed) == (1, 30)
    assert report.full.last
    assert not len(report.full.remaining)
    assert report.full.closed.tolist() == [0, 3, 0, 0]
    assert report.explore_s == 3


def test_light_reports_come_at_their_interval_and_full_ones_at_theirs():
    """Light ones hold no roots."""
    link = ScriptedLink()
    explore(link, 40, report_interval_s=4, checkpoint_interval_s=12)
    light = [report for report in link.reports if report.full is None]
    full = [report for report in link.reports if report.full is not None]
    assert 4 <= len(light) <= 20
    assert 2 <= len(full) <= 8
    assert [report.seq for report in link.reports] == [*range(1, len(link.reports) + 1)]
    assert light[0].open_roots == 2
    assert light[0].least_lb == 7


def test_node_limit_is_told_of_as_soon_as_a_lease_has_reached_it():
    """Once, whatever the answer; without one the next report is the last."""
    link = ScriptedLink()
    explore(link, 9, node_limit=25)
    assert [report.decomposed for report in link.reports] == [30, 90]


def test_better_permutation_is_reported_at_once_and_once():
    """And lowers the UB of the next slice."""
    link = ScriptedLink()
    session, _ = explore(link, 4, [(), (candidate(50),), (candidate(50),)])
    assert session.ubs == [100, 100, 50, 50]
    assert [report.best and report.best.value for report in link.reports] == [50, None]


def test_all_optima_keep_the_upper_bound_one_above():
    """Equals stay in the tree and ride on the last full report, worse ones do not."""
    link = ScriptedLink()
    found = [(candidate(60),), (candidate(50), candidate(50)), (candidate(50),)]
    session, _ = explore(link, 4, found, all_optima=True)
    assert session.ubs == [100, 61, 51, 51]
    assert [leaf.value for leaf in link.reports[-1].full.optima] == [50, 50, 50]
    assert [r.best.value for r in link.reports[:-1]] == [60, 50]


@pytest.mark.parametrize("order", [OrderKind.SAVE, OrderKind.STOP])
def test_a_seat_with_many_roots_has_fewer_before_it_lists_them(monkeypatch, order):
    monkeypatch.setattr(ScriptedSession, "open_roots", FEW_ROOTS + 1)
    link = ScriptedLink(order)
    link.control.hint(report=True)
    session, _ = explore(link, 4)
    assert session.shrunk[:2] == [None, FEW_ROOTS]
    assert [report.decomposed for report in link.reports][:2] == [10, 20]


def test_hints_end_the_slice_under_way(monkeypatch):
    """And nobody's, once the lease is over."""
    link, ended = ScriptedLink(), []
    monkeypatch.setattr(ScriptedSession, "interrupt", lambda session: ended.append(1))
    at_work = ScriptedSession.advance

    def advance(session, ub, max_seconds, most_roots=None):
        link.control.hint(report=True)
        return at_work(session, ub, max_seconds)

    monkeypatch.setattr(ScriptedSession, "advance", advance)
    explore(link, 3)
    assert len(ended) == 3
    link.control.hint(ub=5)
    assert len(ended) == 3


def test_donation_is_a_gift_at_once():
    """With as many roots as the order allows, no list of the rest, and it goes on."""
    link = ScriptedLink(Order(OrderKind.DONATE, 70, 12))
    link.control.hint(report=True)
    session, reusable = explore(link, 3)
    light, donation, last = link.reports
    assert (light.full, light.energy_j) == (None, 1.0)
    assert donation.gift == WorkUnit.from_paths(3, [(2,)])
    assert donation.full is None
    assert session.given == [12]
    assert session.ubs == [100, 70, 70]
    assert last.gift is None
    assert reusable


def test_what_was_given_is_open_no_more_before_the_next_slice():
    """The scheduler takes off what comes with a report, which it asks for again."""
    donate = Order(OrderKind.DONATE, 70, 12)
    link = ScriptedLink(donate, donate)
    link.control.hint(report=True)
    explore(link, 3)
    assert [report.open_roots for report in link.reports[:3]] == [2, 2, 1]


def test_hint_that_asks_for_a_gift_is_obeyed_without_a_report_before():
    """One for another lease is not: it came too late."""
    link = ScriptedLink()
    link.control.hint(report=True, lease="r/1.1", max_roots=7)
    session, _ = explore(link, 3)
    donation, last = link.reports
    assert session.given == [7]
    assert len(donation.gift) == 1
    assert last.full.last
    link = ScriptedLink()
    link.control.hint(report=True, lease="r/1.2", max_roots=7)
    session, _ = explore(link, 3)
    assert session.given == []
    assert link.reports[0].full is None


@pytest.mark.parametrize("kind", [OrderKind.DRAIN, OrderKind.STOP])
def test_drain_and_stop_give_back_what_remains(kind):
    """The session holds leaves of a unit that is not ours any more."""
    link = ScriptedLink(kind)
    link.control.hint(report=True)
    session, reusable = explore(link, 9)
    assert not reusable
    assert len(session.ubs) == 1
    assert link.reports[-1].full.last
    assert len(link.reports[-1].full.remaining) == 1


def test_drop_ends_without_a_word():
    """The lease is gone: nothing that we say counts."""
    link = ScriptedLink(OrderKind.DROP)
    link.control.hint(report=True)
    _, reusable = explore(link, 9)
    assert not reusable
    assert len(link.reports) == 1


def test_leaving_worker_reports_a_last_time():
    """There is time for one report while a worker closes."""
    link = ScriptedLink(statuses=[SeatStatus.OPEN, SeatStatus.LEAVING])
    _, reusable = explore(link, 9)
    assert not reusable
    (report,) = link.reports
    assert report.full.last


def test_closed_seat_explores_no_more():
    """Neither when it is seen between slices nor when a report finds out."""
    link = ScriptedLink(statuses=[SeatStatus.OPEN, SeatStatus.CLOSED])
    session, reusable = explore(link, 9)
    assert (len(session.ubs), reusable, link.reports) == (1, False, [])
    link = ScriptedLink(SeatClosedError("report"))
    link.control.hint(report=True)
    session, reusable = explore(link, 9)
    assert (len(session.ubs), reusable) == (1, False)


def test_energy_of_a_run_is_the_sum_over_its_leases():
    """Devices that do not say are not in it; none that says, no figure."""
    for joules, expected in ((iter(range(1000)), True), (iter([None] * 1000), False)):
        world = World()
        world.energy = lambda joules=joules: next(joules)
        spec = tiny_spec()
        world.join("a")
        world.open(spec)
        world.finish(spec)
        used = world.hub.finished[spec.run_id].outcome.totals.energy_j
        assert (used is not None and used > 0) is expected
