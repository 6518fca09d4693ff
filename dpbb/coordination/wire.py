"""Messages as flat dicts of strings, small numbers, byte strings and NumPy arrays.

Flat, with every array under a key of its own, so that the shell can hand the arrays
to its transport as frames without looking inside. A leaf index never travels, as it
passes 64 bits at 21 jobs. Whatever comes in is checked here: a message that no honest
seat sends raises ``InvariantError``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.messages import (
    FullReport,
    Lease,
    LeaseId,
    Order,
    OrderKind,
    Report,
    UnitId,
)
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError
from dpbb.tree.packing import KEYS
from dpbb.tree.work_unit import WorkUnit

Message = dict[str, Any]


def encode_order(order: Order) -> Message:
    """Turn an order into a message; only one with another lease holds arrays."""
    message: Message = {
        "kind": order.kind.value,
        "ub": order.ub,
        "max_roots": order.max_roots,
        "report_s": order.report_s,
        "full_s": order.full_s,
    }
    if order.next is not None:
        message |= {f"next_{k}": v for k, v in encode_lease(order.next).items()}
    return message


def decode_order(message: Mapping[str, Any]) -> Order:
    """Inverse of ``encode_order``."""
    return Order(
        OrderKind(message["kind"]),
        int(message["ub"]),
        int(message["max_roots"]),
        message["report_s"],
        message["full_s"],
        _decode_next(message) if "next_id" in message else None,
    )


def _decode_next(message: Mapping[str, Any]) -> Lease:
    prefix = "next_"
    return decode_lease(
        {k.removeprefix(prefix): v for k, v in message.items() if k.startswith(prefix)}
    )


def encode_lease(lease: Lease) -> Message:
    """Turn a lease into a message; the roots are arrays."""
    return {
        "id": lease.id,
        "unit": lease.unit,
        "attempt": lease.attempt,
        "ub": lease.ub,
        "n_jobs": lease.roots.n_jobs,
        **_encode_roots("roots", lease.roots),
    }


def decode_lease(message: Mapping[str, Any]) -> Lease:
    """Inverse of ``encode_lease``."""
    return Lease(
        LeaseId(message["id"]),
        UnitId(message["unit"]),
        int(message["attempt"]),
        _decode_roots("roots", int(message["n_jobs"]), message),
        int(message["ub"]),
    )


def encode_report(report: Report) -> Message:
    """Turn a report into a message; only a full one holds arrays.

    The best permutation is a byte string: it is short, and rides on light reports,
    which need no frame then.
    """
    message: Message = {
        "lease": report.lease,
        "seq": report.seq,
        "decomposed": report.decomposed,
        "leaves": report.leaves,
        "open_roots": report.open_roots,
        "least_lb": report.least_lb,
        "explore_s": report.explore_s,
        "age_s": report.age_s,
    }
    if report.best is not None:
        message["best_value"] = report.best.value
        message["best"] = np.asarray(report.best.permutation, "<u2").tobytes()
    if report.energy_j is not None:
        message["energy_j"] = report.energy_j
    if report.full is not None:
        message |= _encode_full(report.full)
    if report.gift is not None:
        message["gift_jobs"] = report.gift.n_jobs
        message |= _encode_roots("gift", report.gift)
    return message


def decode_report(message: Mapping[str, Any]) -> Report:
    """Inverse of ``encode_report``.

    Takes milliseconds for a large full report: call it off the event loop. Whether
    the roots are ordered, disjoint paths of the tree is for ``check_full_report`` to
    say, which has to look at them anyway.

    InvariantError: no honest seat sends this: a field is missing, of another type or
    shape.
    """
    try:
        best = None
        if "best" in message:
            permutation = np.frombuffer(message["best"], "<u2").astype(np.intp)
            best = Candidate(int(message["best_value"]), permutation)
        least_lb = message["least_lb"]
        return Report(
            lease=LeaseId(message["lease"]),
            seq=int(message["seq"]),
            decomposed=int(message["decomposed"]),
            leaves=int(message["leaves"]),
            open_roots=int(message["open_roots"]),
            least_lb=None if least_lb is None else int(least_lb),
            best=best,
            explore_s=float(message["explore_s"]),
            age_s=float(message["age_s"]),
            energy_j=float(message["energy_j"]) if "energy_j" in message else None,
            full=_decode_full(message) if "n_jobs" in message else None,
            gift=_unpack_roots("gift", int(message["gift_jobs"]), message)
            if "gift_jobs" in message
            else None,
            n_bytes=sum(
                value.nbytes
                for value in message.values()
                if isinstance(value, np.ndarray)
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        _refuse(message, error)


def _refuse(message: Mapping[str, Any], error: Exception) -> NoReturn:
    """Say whose report is damaged and how."""
    raise InvariantError(
        f"damaged report {message.get('seq')} of lease {message.get('lease')}: "
        f"{type(error).__name__}: {error}"
    ) from error


def _encode_full(full: FullReport) -> Message:
    message = {
        "n_jobs": full.remaining.n_jobs,
        "last": full.last,
        "closed": full.closed,
        **_encode_roots("remaining", full.remaining),
        **_encode_roots("donated", full.donated),
    }
    if full.optima:
        values, permutations = pack_candidates(full.optima)
        message |= {"optima_values": values, "optima": permutations}
    return message


def _decode_full(message: Mapping[str, Any]) -> FullReport:
    n_jobs = int(message["n_jobs"])
    closed = np.asarray(message["closed"])
    if closed.dtype != np.int64 or closed.shape != (n_jobs + 1,):
        raise ValueError(
            f"expected 'closed' as {n_jobs + 1} int64, "
            f"got {closed.dtype} of shape {closed.shape}"
        )
    optima: tuple[Candidate, ...] = ()
    if "optima" in message:
        optima = unpack_candidates(
            np.asarray(message["optima_values"]), np.asarray(message["optima"])
        )
    return FullReport(
        closed=closed,
        remaining=_unpack_roots("remaining", n_jobs, message),
        donated=_unpack_roots("donated", n_jobs, message),
        last=bool(message["last"]),
        optima=optima,
    )


def pack_candidates(
    candidates: Sequence[Candidate],
) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """Values, shape (k,), and permutations, shape (k, n_jobs), of k >= 1 candidates."""
    return (
        np.array([candidate.value for candidate in candidates], np.int64),
        np.array([candidate.permutation for candidate in candidates], np.uint16),
    )


def unpack_candidates(
    values: NDArray[np.int64], permutations: NDArray[np.uint16]
) -> tuple[Candidate, ...]:
    """Inverse of ``pack_candidates``; raises ValueError if the shapes do not fit."""
    if permutations.ndim != 2 or values.shape != permutations.shape[:1]:
        raise ValueError(
            f"expected a value for each permutation, got shapes {values.shape} "
            f"and {permutations.shape}"
        )
    return tuple(
        Candidate(int(value), permutation)
        for value, permutation in zip(values, permutations.astype(np.intp), strict=True)
    )


def _encode_roots(name: str, unit: WorkUnit) -> Message:
    return {f"{name}_{key}": array for key, array in unit.to_arrays().items()}


def _decode_roots(name: str, n_jobs: int, message: Mapping[str, Any]) -> WorkUnit:
    unit = _unpack_roots(name, n_jobs, message)
    unit.check()
    return unit


def _unpack_roots(name: str, n_jobs: int, message: Mapping[str, Any]) -> WorkUnit:
    """Roots as they came; not checked."""
    arrays = {key: message[f"{name}_{key}"] for key in KEYS}
    return WorkUnit.from_arrays_unchecked(n_jobs, arrays)
