"""Asking all seats for full reports, and waiting for them."""

from types import SimpleNamespace

import pytest

from dpbb.coordination.saves import AT_ONCE_SEATS, BURST_SEATS, ROOT_S, SaveRequest


class Lease(SimpleNamespace):
    """As much of a lease as a request looks at."""

    __hash__ = object.__hash__

    def __init__(self, open_roots=10):
        super().__init__(open_roots=open_roots, ended=False, unheard_save=False)

    def __eq__(self, other):
        return self is other


def test_a_request_is_done_when_its_leases_have_reported_or_are_gone():
    a, b, c = leases = [Lease(), Lease(), Lease()]
    first = SaveRequest(leases, 0.0)
    assert first.next(0.0) == [a, b, c]
    assert not first.done
    first.reported(a)
    second = SaveRequest([a, b], 1.0)
    assert second.next(1.0) == [a, b]
    c.ended = True
    assert not first.done
    first.reported(b)
    second.reported(b)
    assert first.done
    assert not second.done  # a has not, since


def test_thousands_of_seats_are_asked_at_a_rate_and_a_few_at_a_time():
    request = SaveRequest([Lease() for _ in range(1000)], 0.0, rate=100.0)
    now, asked = 0.0, 0
    while not request.done:
        some = request.next(now)
        assert len(some) <= AT_ONCE_SEATS
        asked += len(some)
        assert asked <= BURST_SEATS + 100 * now + 1
        for lease in some:
            request.reported(lease)
        now += 0.1
    assert asked == 1000
    assert now == pytest.approx((1000 - BURST_SEATS) / 100, abs=0.2)


def test_a_silent_seat_is_waited_for_once():
    a, b = leases = [Lease(), Lease(10**7)]
    request = SaveRequest(leases, 0.0, patience_s=2.0)
    request.next(0.0)
    request.next(2.1)
    assert not request.done  # b has more to list
    request.next(2.1 + 10**7 * ROOT_S)
    assert request.done
    again = SaveRequest(leases, 10.0, patience_s=2.0)
    assert again.next(10.0) == [a, b]  # asked, both of them
    assert again.done
    a.unheard_save = False  # it has reported
    third = SaveRequest(leases, 20.0, patience_s=2.0)
    third.next(20.0)
    assert not third.done  # a answers again
    third.reported(a)
    assert third.done
