"""Messages between seats and scheduler as bytes: MessagePack of their dataclasses.

``msgspec`` compares every field with its annotation where bytes come in. An array is
its dtype, its shape and its bytes, so nothing is built that was not sent. Integers are
sent as narrow as they are, and become again what the field says.
"""

import math
from dataclasses import replace
from typing import Any, TypeVar, get_args

import msgspec
import numpy as np

from dpbb.coordination.messages import Lease, Order, Report
from dpbb.errors import InvariantError
from dpbb.tree.work_unit import KEYS, WorkUnit

Message = TypeVar("Message")

DTYPES = ("|u1", "<u2", "<u4", "<i8")
"""Of arrays that travel."""


def encode(message: Any) -> bytes:
    """Return a message of ``dpbb.coordination.messages`` as bytes."""
    return _ENCODER.encode(message)


def decode(kind: type[Message], content: bytes) -> Message:
    """Inverse of ``encode``; takes milliseconds for a large report.

    Whether the roots are ordered, disjoint paths of the tree is for ``WorkUnit.check``
    to say, and so for the check of a report.

    InvariantError: it is no such message.
    """
    try:
        message: Message = _DECODERS[kind].decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvariantError(f"damaged {kind.__name__}: {error}") from error
    return message


def decode_report(content: bytes) -> Report:
    """Return a report, of which is noted what its roots took on the way.

    InvariantError: see ``decode``.
    """
    report = decode(Report, content)
    return replace(report, n_bytes=len(content)) if report.has_roots else report


def _plain(value: Any) -> Any:
    """Return what MessagePack has for an array or a unit of work."""
    if isinstance(value, WorkUnit):
        return [value.n_jobs, *value.paths]
    if not isinstance(value, np.ndarray):
        raise NotImplementedError(f"expected an array or a unit, got {type(value)}")
    if value.dtype == np.int64 and value.size and value.min() >= 0:
        value = value.astype(np.min_scalar_type(value.max()))
    if value.dtype.newbyteorder("<").str not in DTYPES:  # uint64
        value = value.astype(np.int64)
    value = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
    return [value.dtype.str, value.shape, value.data]


def _made(kind: Any, value: Any) -> Any:
    """Inverse of ``_plain``; raises ValueError where it does not fit ``kind``."""
    if kind is WorkUnit:
        n_jobs, *columns = value
        if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < 1:
            raise ValueError(f"expected a number of jobs, got {n_jobs!r}")
        arrays = dict(zip(KEYS, map(_array, columns), strict=True))
        return WorkUnit.from_arrays_unchecked(n_jobs, arrays)
    (dtype,) = get_args(get_args(kind)[1])
    return _array(value).astype(dtype, copy=False)


def _array(value: Any) -> np.ndarray[Any, Any]:
    dtype, shape, content = value
    if dtype not in DTYPES:
        raise ValueError(f"expected one of {', '.join(DTYPES)}, got {dtype!r}")
    if len(content) != math.prod(shape) * np.dtype(dtype).itemsize:
        raise ValueError(
            f"expected the bytes of shape {tuple(shape)} and {dtype}, got "
            f"{len(content)} bytes"
        )
    # a copy: arrays of bytes cannot be written, which compiled code is not made for
    return np.frombuffer(content, dtype).reshape(shape).copy()


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)


_DECODERS: dict[Any, msgspec.msgpack.Decoder[Any]] = {
    kind: msgspec.msgpack.Decoder(kind, dec_hook=_made)
    for kind in (Lease, Order, Report)
}
