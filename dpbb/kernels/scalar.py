"""What compiled code needs besides vectors: pointers, bits of a mask, atomics.

Memory is reached through *pointers*: a Numba array that is passed around, alone or in
a tuple, costs reference counts and a dozen registers, a pointer one. ``pointer[i]``
reads and writes single elements; indices are trusted. A pointer does not keep its array
alive: whoever calls compiled code does. Everything here is for ``numba.njit`` code.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from llvmlite import ir
from numba import extending, types
from numba.core.errors import TypingError

_I1, _I64 = ir.IntType(1), ir.IntType(64)


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of compiled code from one of its types that says what it does.

    ``function``: takes the types of the arguments; returns Numba's signature, and
    ``emit(context, builder, *values)``, which writes LLVM code and returns the result.
    """

    def typed(_typing_context: Any, *given: Any) -> Any:
        signature, emit = function(*given)

        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            result = emit(context, builder, *values)
            is_void = signature.return_type == types.void
            return context.get_dummy_value() if is_void else result

        return signature, generate

    wrapped: Any = wraps(function)(typed)
    plain = inspect.signature(function)
    first = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wrapped.__signature__ = plain.replace(
        parameters=[first, *plain.parameters.values()]
    )
    return cast("Callable[..., Any]", extending.intrinsic(wrapped))


def element_address(builder: Any, pointer: Any, index: Any, llvm_type: Any) -> Any:
    """Address of an element of a pointer, as a pointer to another type."""
    address = builder.gep(pointer, [index], inbounds=True)
    return builder.bitcast(address, llvm_type.as_pointer())


@intrinsic
def pointer_at(address: Any, like: Any) -> Any:
    """Pointer to an address (``array.ctypes.data``) of integers of the type of like."""
    if not isinstance(like, types.Integer):
        raise TypingError(f"expected an integer of the element type, got {like}")
    result = types.CPointer(like)

    def emit(context: Any, builder: Any, at: Any, _like: Any) -> Any:
        return builder.inttoptr(at, context.get_value_type(result))

    return result(types.intp, like), emit


@intrinsic
def pointer_to(source: Any, index: Any) -> Any:
    """Pointer to element ``index`` of a pointer."""
    if not isinstance(source, types.CPointer):
        raise TypingError(f"expected a pointer, got {source}")

    def emit(_: Any, builder: Any, pointer: Any, at: Any) -> Any:
        return builder.gep(pointer, [at], inbounds=True)

    return source(source, types.intp), emit


@intrinsic
def load_word(source: Any, start: Any) -> Any:
    """Read the 64 bits that begin at source[start], whatever the type of an element."""

    def emit(_: Any, builder: Any, pointer: Any, at: Any) -> Any:
        return builder.load(element_address(builder, pointer, at, _I64), align=2)

    return types.uint64(source, types.intp), emit


@intrinsic
def store_word(target: Any, start: Any, word: Any) -> Any:
    """Write the 64 bits that begin at target[start], whatever an element's type."""

    def emit(_: Any, builder: Any, pointer: Any, at: Any, bits: Any) -> None:
        builder.store(bits, element_address(builder, pointer, at, _I64), align=2)

    return types.void(target, types.intp, types.uint64), emit


@intrinsic
def popcount(bits: Any) -> Any:
    """Count the set bits of a uint64, as int64."""
    return types.int64(types.uint64), lambda _, builder, x: builder.ctpop(x)


@intrinsic
def ctz(bits: Any) -> Any:
    """Index of the lowest set bit of a uint64 that is not zero, as int64."""
    true = ir.Constant(_I1, 1)
    return types.int64(types.uint64), lambda _, builder, x: builder.cttz(x, true)


_POINTER = types.CPointer(types.int64)


@intrinsic
def atomic_load(target: Any, index: Any) -> Any:
    """Read target[index]; sees what was written before the matching store."""

    def emit(_: Any, builder: Any, pointer: Any, at: Any) -> Any:
        address = element_address(builder, pointer, at, _I64)
        return builder.load_atomic(address, "acquire", 8)

    return types.int64(_POINTER, types.intp), emit


@intrinsic
def atomic_store(target: Any, index: Any, value: Any) -> Any:
    """Write target[index]; everything written before is seen by who reads it."""

    def emit(_: Any, builder: Any, pointer: Any, at: Any, new: Any) -> None:
        address = element_address(builder, pointer, at, _I64)
        builder.store_atomic(new, address, "release", 8)

    return types.void(_POINTER, types.intp, types.int64), emit


def _read_modify_write(name: str, instruction: str) -> Any:
    """Make an intrinsic that changes an element and returns its old value."""

    def operation(target: Any, index: Any, value: Any) -> Any:
        def emit(_: Any, builder: Any, pointer: Any, at: Any, new: Any) -> Any:
            address = element_address(builder, pointer, at, _I64)
            return builder.atomic_rmw(instruction, address, new, "seq_cst")

        return types.int64(_POINTER, types.intp, types.int64), emit

    operation.__name__ = operation.__qualname__ = name
    return intrinsic(operation)


atomic_add = _read_modify_write("atomic_add", "add")
atomic_min = _read_modify_write("atomic_min", "min")


@intrinsic
def compare_exchange(target: Any, index: Any, expected: Any, value: Any) -> Any:
    """Set target[index] to ``value`` if it is ``expected``; whether it was."""

    def emit(_: Any, builder: Any, pointer: Any, at: Any, old: Any, new: Any) -> Any:
        address = element_address(builder, pointer, at, _I64)
        pair = builder.cmpxchg(address, old, new, "seq_cst", "seq_cst")
        return builder.extract_value(pair, 1)

    return types.boolean(_POINTER, types.intp, types.int64, types.int64), emit
