"""From arrays in Python to pointers in compiled code.

Python holds arrays in named tuples. What it hands to compiled code is the same tuples
with addresses in place of the arrays, which cost nothing to pass and little to compile;
there they become the same tuples with pointers. Whoever calls keeps the arrays alive.

The annotation of a field says what its pointer is to: ``Lanes``, ``Ints`` or ``Words``;
a field of another annotation stays as it is, and named tuples may hold each other.
Their modules need ``from __future__ import annotations``, which leaves the names.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numpy.typing import DTypeLike, NDArray

from dpbb.kernels.scalar import intrinsic

Lanes = NDArray[Any]
"""Integers of the width of a tree's bounds: int16 or int32."""

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

State = TypeVar("State", bound=tuple[Any, ...])

_ALIGNMENT = 64


def aligned_zeros(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Zeros from the start of a cache line on, so that no vector spans two."""
    item = np.dtype(dtype).itemsize
    memory = np.zeros(size * item + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size * item].view(dtype)


def addresses(state: State) -> State:
    """Replace the arrays of a named tuple by their addresses."""
    make: Any = type(state)
    return make(*map(_address, state))


def _address(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        return part.ctypes.data
    return addresses(part) if isinstance(part, tuple) else part


@intrinsic
def pointers(at: Any, lane: Any) -> Any:
    """Pointers for the addresses of a tuple; ``lane``: an integer of type ``Lanes``."""
    result = _pointed(at, lane)

    def emit(context: Any, builder: Any, value: Any, _lane: Any) -> Any:
        return _point(context, builder, result, value)

    return result(at, lane), emit


def _pointed(at: Any, lane: Any) -> Any:
    """Type of the tuple with pointers."""
    if not all((isinstance(at, types.BaseNamedTuple), isinstance(lane, types.Integer))):
        raise TypingError(f"expected a named tuple and an integer, got {at}, {lane}")
    elements = {"Lanes": lane, "Ints": types.int64, "Words": types.uint64}
    parts: list[Any] = []
    annotations = at.instance_class.__annotations__.values()
    for annotation, part in zip(annotations, at.types, strict=True):
        element = elements.get(getattr(annotation, "__forward_arg__", annotation))
        if element is not None:
            parts.append(types.CPointer(element))
        elif isinstance(part, types.BaseNamedTuple):
            parts.append(_pointed(part, lane))
        else:
            parts.append(part)
    return types.BaseTuple.from_types(parts, at.instance_class)


def _point(context: Any, builder: Any, result: Any, value: Any) -> Any:
    parts = []
    for index, kind in enumerate(result.types):
        part = builder.extract_value(value, index)
        if isinstance(kind, types.BaseNamedTuple):
            part = _point(context, builder, kind, part)
        elif isinstance(kind, types.CPointer):
            part = builder.inttoptr(part, context.get_value_type(kind))
        parts.append(part)
    return context.make_tuple(builder, result, parts)


@intrinsic
def pointer_of(array: Any) -> Any:
    """Pointer to the first element of an array, which has to outlive it.

    So in a function that was given the array, and nowhere else.
    """
    if not isinstance(array, types.Array) or array.layout != "C":
        raise TypingError(f"expected a contiguous array, got {array}")
    result = types.CPointer(array.dtype)

    def emit(context: Any, builder: Any, value: Any) -> Any:
        return context.make_array(array)(context, builder, value).data

    return result(array), emit
