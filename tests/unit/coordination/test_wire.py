"""Messages come out as they went in, and damaged ones are refused."""

from dataclasses import replace

import numpy as np
import pytest

from dpbb.coordination.messages import (
    FullReport,
    Lease,
    LeaseId,
    Order,
    OrderKind,
    Report,
    UnitId,
)
from dpbb.coordination.wire import (
    decode_lease,
    decode_order,
    decode_report,
    encode_lease,
    encode_order,
    encode_report,
)
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError
from dpbb.tree.work_unit import WorkUnit

N_JOBS = 30  # far beyond 64 bits


def full_report(**changes):
    optima = tuple(
        Candidate(7, np.roll(np.arange(N_JOBS), shift)) for shift in range(3)
    )
    part = {
        "closed": np.arange(N_JOBS + 1, dtype=np.int64) * 2**40,
        "remaining": WorkUnit.from_paths(N_JOBS, [(0, 1, 2), (0, 1, 3), (5,)]),
        "donated": WorkUnit.from_paths(N_JOBS, [(4, 0)]),
        "last": False,
        "optima": optima,
    }
    return FullReport(**{**part, **changes})


def report(full=None, best=None, least_lb=9):
    return Report(LeaseId("run/3.1"), 4, 2**50, 2**40, 17, least_lb, best, 1.5, full)


def same(one, other):
    """Whether two values from a message are equal, arrays and units included."""
    if isinstance(one, Candidate):
        return one.value == other.value and same(one.permutation, other.permutation)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, FullReport | Report):
        return all(same(getattr(one, k), getattr(other, k)) for k in one.__slots__)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return one == other


@pytest.mark.parametrize(
    "sent",
    [
        report(),
        report(best=Candidate(12, np.arange(N_JOBS)[::-1]), least_lb=None),
        report(full_report()),
        report(full_report(optima=(), last=True, remaining=WorkUnit.empty(N_JOBS))),
    ],
    ids=["light", "best", "full", "last"],
)
def test_report_comes_out_as_it_went_in(sent):
    message = encode_report(sent)
    came = decode_report(message)
    assert came.n_bytes == sum(
        getattr(value, "nbytes", 0) for value in message.values()
    )
    assert same(replace(came, n_bytes=0), sent)
    for value in message.values():
        assert isinstance(value, str | int | float | bytes | np.ndarray | None)
        assert not isinstance(value, int) or abs(value) < 2**63


@pytest.mark.parametrize(
    "sent", [Order(OrderKind.DONATE, 7), Order(OrderKind.STOP, 7, 12, 2.5, 80.0)]
)
def test_order_comes_out_as_it_went_in(sent):
    assert decode_order(encode_order(sent)) == sent


def test_light_report_holds_no_array():
    message = encode_report(report(best=Candidate(12, np.arange(N_JOBS))))
    assert not any(isinstance(value, np.ndarray) for value in message.values())


def test_lease_comes_out_as_it_went_in():
    roots = WorkUnit.from_paths(N_JOBS, [(0, 1), (3, 4, 5)])
    sent = Lease(LeaseId("run/3.2"), UnitId(3), 2, roots, 2**40)
    assert decode_lease(encode_lease(sent)) == sent


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seq": None}, "TypeError"),
        ({"decomposed": "many"}, "ValueError"),
        ({"closed": np.zeros(N_JOBS + 1)}, "expected 'closed' as 31 int64"),
        ({"closed": np.zeros(N_JOBS, np.int64)}, "expected 'closed' as 31 int64"),
        ({"remaining_depths": np.array([3, 3, 1], np.int64)}, "uint16"),
        ({"remaining_depths": np.array([3, 3], np.uint16)}, "shared"),
        ({"donated_tails": np.array([4], np.uint16)}, "expected 2 digits"),
        ({"donated_depths": np.array([30], np.uint16)}, "depths < 30"),
        ({"optima_values": np.zeros(2, np.int64)}, "a value for each permutation"),
        ({"best": b"abc", "best_value": 3}, "buffer size"),
    ],
)
def test_damaged_report_is_refused(changes, said):
    with pytest.raises(InvariantError, match=f"damaged report .* run/3.1.*{said}"):
        decode_report({**encode_report(report(full_report())), **changes})


def test_lease_of_roots_out_of_order_is_refused():
    roots = WorkUnit.from_paths(N_JOBS, [(1,), (3, 4)])
    message = encode_lease(Lease(LeaseId("run/3.2"), UnitId(3), 2, roots, 9))
    message["roots_tails"] = np.array([3, 3, 4], np.uint16)
    with pytest.raises(ValueError, match="leaf order"):
        decode_lease(message)


@pytest.mark.parametrize("key", ["seq", "least_lb", "closed", "donated_shared"])
def test_report_with_a_field_missing_is_refused(key):
    message = encode_report(report(full_report()))
    del message[key]
    with pytest.raises(InvariantError, match=key):
        decode_report(message)


def test_report_with_a_gift_comes_back():
    """Roots without a list of what remains; an empty gift is one, too."""
    for paths in ([(2, 1), (3,)], []):
        gift = WorkUnit.from_paths(6, paths)
        report = Report("r/1.1", 2, 30, 4, 5, 7, None, 0.5, gift=gift)
        back = decode_report(encode_report(report))
        assert back.gift == gift
        assert back.has_roots
        assert back.full is None
    light = decode_report(encode_report(Report("r/1.1", 2, 30, 4, 5, 7, None, 0.5)))
    assert not light.has_roots
    assert light.donated is None


def test_order_with_a_lease_comes_out_as_it_went_in():
    lease = Lease(
        LeaseId("run/3.1"), UnitId(3), 1, WorkUnit.from_paths(N_JOBS, [(1, 2)]), 77
    )
    order = Order(OrderKind.DROP, 77, next=lease)
    assert decode_order(encode_order(order)) == order
    assert decode_order(encode_order(replace(order, next=None))).next is None
