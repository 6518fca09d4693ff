"""What compiled code needs besides vectors: pointers, bits of a mask, atomics.

Memory is reached through *pointers*: a Numba array that is passed around, alone or in
a tuple, costs reference counts and a dozen registers, a pointer one. ``pointer[i]``
reads and writes single elements; indices are trusted. A pointer does not keep its array
alive: whoever calls compiled code does. Everything here is for ``numba.njit`` code.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import extending, types
from numba.core.errors import TypingError

_I1, _I64 = ir.IntType(1), ir.IntType(64)


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of compiled code from a generator of LLVM code.

    The typed face of Numba's decorator: the result is called without the generator's
    typing context.
    """
    return cast("Callable[..., Any]", extending.intrinsic(function))


def element_address(builder: Any, arguments: Any, llvm_type: Any) -> Any:
    """Address of element ``arguments[1]`` of pointer ``arguments[0]``, as a pointer."""
    address = builder.gep(arguments[0], [arguments[1]], inbounds=True)
    return builder.bitcast(address, llvm_type.as_pointer())


@intrinsic
def pointer_at(typing_context: Any, address: Any, like: Any) -> Any:
    """Pointer to an address (``array.ctypes.data``) of integers of the type of like."""
    if not isinstance(like, types.Integer):
        raise TypingError(f"expected an integer of the element type, got {like}")
    result = types.CPointer(like)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(result))

    return result(types.intp, like), generate


@intrinsic
def pointer_to(typing_context: Any, source: Any, index: Any) -> Any:
    """Pointer to element ``index`` of a pointer."""
    if not isinstance(source, types.CPointer):
        raise TypingError(f"expected a pointer, got {source}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]], inbounds=True)

    return source(source, types.intp), generate


@intrinsic
def popcount(typing_context: Any, bits: Any) -> Any:
    """Count the set bits of a uint64, as int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def ctz(typing_context: Any, bits: Any) -> Any:
    """Index of the lowest set bit of a uint64 that is not zero, as int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(_I1, 1))

    return types.int64(types.uint64), generate


_POINTER = types.CPointer(types.int64)


@intrinsic
def atomic_load(typing_context: Any, target: Any, index: Any) -> Any:
    """Read target[index]; sees what was written before the matching store."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = element_address(builder, arguments, _I64)
        return builder.load_atomic(address, "acquire", 8)

    return types.int64(_POINTER, types.intp), generate


@intrinsic
def atomic_store(typing_context: Any, target: Any, index: Any, value: Any) -> Any:
    """Write target[index]; everything written before is seen by who reads it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = element_address(builder, arguments, _I64)
        builder.store_atomic(arguments[2], address, "release", 8)
        return context.get_dummy_value()

    return types.void(_POINTER, types.intp, types.int64), generate


def _read_modify_write(name: str, instruction: str) -> Any:
    """Make an intrinsic that changes an element and returns its old value."""

    def operation(typing_context: Any, target: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = element_address(builder, arguments, _I64)
            return builder.atomic_rmw(instruction, address, arguments[2], "seq_cst")

        return types.int64(_POINTER, types.intp, types.int64), generate

    operation.__name__ = operation.__qualname__ = name
    return intrinsic(operation)


atomic_add = _read_modify_write("atomic_add", "add")
atomic_min = _read_modify_write("atomic_min", "min")


@intrinsic
def compare_exchange(
    typing_context: Any, target: Any, index: Any, expected: Any, value: Any
) -> Any:
    """Set target[index] to ``value`` if it is ``expected``; whether it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = element_address(builder, arguments, _I64)
        pair = builder.cmpxchg(
            address, arguments[2], arguments[3], "seq_cst", "seq_cst"
        )
        return builder.extract_value(pair, 1)

    signature = types.boolean(_POINTER, types.intp, types.int64, types.int64)
    return signature, generate
