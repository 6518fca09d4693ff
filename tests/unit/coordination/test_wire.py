"""Messages come out as they went in, and damaged ones are refused."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from dpbb.coordination.messages import (
    FullReport,
    Lease,
    LeaseId,
    Order,
    OrderKind,
    Report,
)
from dpbb.coordination.wire import decode, decode_report, encode
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError
from dpbb.tree.work_unit import WorkUnit

N_JOBS = 30  # far beyond 64 bits
ROOTS = WorkUnit.from_paths(N_JOBS, [(0, 1, 2), (0, 1, 3), (5,)])
LEASE = Lease(LeaseId("run/3.2"), ROOTS, 2**40)


def full_report(**changes):
    optima = tuple(
        Candidate(7, np.roll(np.arange(N_JOBS), shift)) for shift in range(3)
    )
    part = {
        "closed": np.arange(N_JOBS + 1, dtype=np.int64) * 2**40, "remaining": ROOTS,
        "last": False, "optima": optima,
    }  # fmt: skip
    return FullReport(**{**part, **changes})


def report(full=None, best=None, least_lb=9, gift=None):
    return Report(
        LeaseId("run/3.1"), 4, 2**50, 2**40, 17, least_lb, best, 1.5, full, gift
    )


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
        report(full_report(closed=-np.arange(N_JOBS + 1))),
        report(gift=ROOTS),
        LEASE,
        Order(OrderKind.DONATE, 7),
        Order(OrderKind.STOP, 7, 12, 2.5, 80.0),
        Order(OrderKind.DROP, 77),
    ],
)
def test_what_is_sent_comes_out_as_it_went_in(sent):
    content = encode(sent)
    assert same(decode(type(sent), content), sent)
    if isinstance(sent, Report):
        n_bytes = len(content) if sent.has_roots else 0
        assert same(decode_report(content), replace(sent, n_bytes=n_bytes))


def test_arrays_can_be_written():
    """As compiled code expects."""
    came = decode_report(encode(report(full_report())))
    assert came.full.closed.flags.writeable
    assert all(column.flags.writeable for column in came.full.remaining.paths)


def changed(message, *path, value):
    """Return the bytes of a message with another value at a place."""
    values = msgspec.msgpack.decode(encode(message))
    inner = values
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return msgspec.msgpack.encode(values)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("seq",), None),
        (("lease",), msgspec.Raw(b"\xa2\xff\xfe")),
        (("decomposed",), "many"),
        (("full", "closed"), ["<f8", [1], bytes(8)]),
        (("full", "closed"), ["<i8", [2**40], bytes(8)]),
        (("full", "remaining", 0), 0),
        (("full", "remaining", 1), ["<i8", [3], bytes(24)]),
        (("full", "remaining", 1), ["|u1", [2], bytes(2)]),
        (("full", "remaining", 1), ["|u1", [1], b"\x1e"]),
        (("full", "optima", 0), 7),
        (("gift",), "all"),
    ],
)
def test_damaged_report_is_refused(path, value):
    content = changed(report(full_report()), *path, value=value)
    with pytest.raises(InvariantError, match="damaged Report"):
        decode_report(content)


@pytest.mark.parametrize("content", [b"", b"\x93", encode(report())[:-1]])
def test_what_is_no_message_is_refused(content):
    with pytest.raises(InvariantError, match="damaged Report"):
        decode_report(content)
