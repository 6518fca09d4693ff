"""Asking all seats for full reports, and waiting for them."""

import pytest

from dpbb.coordination.saves import AT_ONCE_SEATS, BURST_SEATS, ROOT_S, Saves

ABC = dict.fromkeys("abc", 10)


def test_a_request_is_done_when_its_leases_have_reported_or_are_gone():
    saves = Saves()
    first = saves.request(ABC, 0.0)
    assert saves.next(first, 0.0, ABC) == ["a", "b", "c"]
    assert not saves.done(first, ABC)
    saves.reported("a")
    second = saves.request({"a": 1, "b": 1}, 1.0)
    assert saves.next(second, 1.0, ABC) == ["a", "b"]
    assert not saves.done(first, {"a", "b"})  # c is gone
    saves.reported("b")
    assert saves.done(first, {"a", "b"})
    assert not saves.done(second, {"a", "b"})  # a has not, since
    assert saves.open == [second]


def test_thousands_of_seats_are_asked_at_a_rate_and_a_few_at_a_time():
    leases = {str(n): 10 for n in range(1000)}
    saves = Saves()
    token = saves.request(leases, 0.0, rate=100.0)
    now, asked = 0.0, 0
    while not saves.done(token, leases):
        some = saves.next(token, now, leases)
        assert len(some) <= AT_ONCE_SEATS
        asked += len(some)
        assert asked <= BURST_SEATS + 100 * now + 1
        for lease in some:
            saves.reported(lease)
        now += 0.1
    assert asked == 1000
    assert now == pytest.approx((1000 - BURST_SEATS) / 100, abs=0.2)


def test_a_silent_seat_is_waited_for_once():
    saves = Saves()
    leases = {"a": 10, "b": 10**7}
    token = saves.request(leases, 0.0, patience_s=2.0)
    saves.next(token, 0.0, leases)
    saves.next(token, 2.1, leases)
    assert not saves.done(token, leases)  # b has more to list
    saves.next(token, 2.1 + 10**7 * ROOT_S, leases)
    assert saves.done(token, leases)
    again = saves.request(leases, 10.0, patience_s=2.0)
    assert saves.next(again, 10.0, leases) == ["a", "b"]  # asked, both of them
    assert saves.done(again, leases)
    saves.reported("a")
    third = saves.request(leases, 20.0, patience_s=2.0)
    saves.next(third, 20.0, leases)
    assert not saves.done(third, leases)  # a answers again
    saves.reported("a")
    assert saves.done(third, leases)
