"""A vector type for Numba: LLVM ``<W x i16>`` and ``<W x i32>`` as plain values.

Numba does not vectorize branch-and-bound loops by itself; it falls back to scalar
code. Here a vector is a first-class Numba type, so that compiled functions hold
vectors in local variables, pass and return them, and add them with ``+``. LLVM
lowers a width that the processor does not have to several registers, and the same
code to AVX2, AVX-512 or NEON.

Every function is for ``numba.njit`` code. Memory is reached through pointers, see
``dpbb.kernels.scalar``.

The element type of a vector is that of the pointer it comes from; where there is none,
a ``like`` argument, any vector of the wanted type, gives it. Lanes in *pairs* (0, 1),
(2, 3), ... carry two values that belong together. Bit i of a mask (uint64) is lane i.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from llvmlite import ir
from numba import types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, register_model

from dpbb.kernels.scalar import element_address, intrinsic

_I1, _I64 = ir.IntType(1), ir.IntType(64)
_MAX_MASK_LANES = 64


Vector: TypeAlias = Any
"""A vector, as type checkers of Python see it."""

I32 = ir.IntType(32)


class VectorType(types.Type):
    """Numba type of a vector of ``lanes`` signed integers of ``dtype``."""

    def __init__(self, dtype: Any, lanes: int) -> None:
        if lanes < 2 or lanes & (lanes - 1):
            raise TypingError(f"expected a power of two >= 2 as lanes, got {lanes}")
        self.dtype = dtype
        self.lanes = lanes
        super().__init__(name=f"vector({dtype} x {lanes})")

    @property
    def llvm(self) -> ir.VectorType:
        """The LLVM type."""
        return ir.VectorType(ir.IntType(self.dtype.bitwidth), self.lanes)


@register_model(VectorType)
class _VectorModel(PrimitiveModel):
    """A vector is one LLVM value, kept in registers."""

    def __init__(self, manager: Any, vector: VectorType) -> None:
        super().__init__(manager, vector, vector.llvm)


# -- what the code generators share ----------------------------------------------


def expect_vector(value: Any, what: str) -> None:
    """Refuse what is not a vector; ``what`` names the argument."""
    if not isinstance(value, VectorType):
        raise TypingError(f"expected a vector as {what}, got {value}")


def expect_pointer(pointer: Any, dtype: types.Integer) -> None:
    """Refuse what is not a pointer to this type."""
    if pointer != types.CPointer(dtype):
        raise TypingError(f"expected a pointer to {dtype}, got {pointer}")


def lane_indices(lanes: list[int]) -> ir.Constant:
    """Return the constant that says which lanes a shuffle takes."""
    return ir.Constant(ir.VectorType(I32, len(lanes)), lanes)


def shuffle(builder: Any, value: Any, lanes: list[int]) -> Any:
    """Emit a vector of these lanes of a vector."""
    undefined = ir.Constant(value.type, ir.Undefined)
    return builder.shuffle_vector(value, undefined, lane_indices(lanes))


def emit_splat(builder: Any, scalar: Any, llvm_type: ir.VectorType) -> Any:
    """Emit a vector with a scalar in every lane."""
    undefined = ir.Constant(llvm_type, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(I32, 0))
    return shuffle(builder, first, [0] * llvm_type.count)


def call_llvm(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """Call an LLVM intrinsic function, declaring it once a module."""
    function_type = ir.FunctionType(result, [a.type for a in arguments])
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, function_type, name)
    return builder.call(function, arguments)


def suffix(llvm_type: ir.VectorType) -> str:
    """Return how LLVM ends the name of an intrinsic function on this type."""
    return f"v{llvm_type.count}i{llvm_type.element.width}"


@intrinsic
def lanes_of(a: Any) -> Any:
    """Return the number of lanes."""
    expect_vector(a, "operand")
    return types.int64(a), lambda *_: ir.Constant(_I64, a.lanes)


# -- making vectors, memory ----------------------------------------------------


@intrinsic
def zeros(source: Any, lanes: Any) -> Any:
    """Return ``lanes`` (a literal) zeros of the element type of a pointer."""
    if not isinstance(lanes, types.IntegerLiteral):
        raise TypingError(f"expected a literal number of lanes, got {lanes}")
    if not isinstance(source, types.CPointer):
        raise TypingError(f"expected a pointer, got {source}")
    vector = VectorType(source.dtype, lanes.literal_value)
    nothing = ir.Constant(vector.llvm, [0] * vector.lanes)
    return vector(source, lanes), lambda *_: nothing


@intrinsic
def splat(value: Any, like: Any) -> Any:
    """Return ``value`` in every lane; an integer too wide is truncated."""
    expect_vector(like, "like")

    def emit(context: Any, builder: Any, scalar: Any, _like: Any) -> Any:
        narrow = context.cast(builder, scalar, value, like.dtype)
        return emit_splat(builder, narrow, like.llvm)

    return like(value, like), emit


@intrinsic
def load(source: Any, start: Any, like: Any) -> Any:
    """Return source[start], source[start + 1], ...; no alignment needed."""
    expect_vector(like, "like")
    expect_pointer(source, like.dtype)

    def emit(_: Any, builder: Any, pointer: Any, at: Any, _like: Any) -> Any:
        address = element_address(builder, pointer, at, like.llvm)
        return builder.load(address, align=like.dtype.bitwidth // 8)

    return like(source, types.intp, like), emit


@intrinsic
def load_pair(source: Any, start: Any, like: Any) -> Any:
    """Return source[start] in every even lane and source[start + 1] in every odd one.

    One broadcasting load of the double width on x86: unlike two broadcasts of a
    16-bit element it needs no shuffle unit.
    """
    expect_vector(like, "like")
    expect_pointer(source, like.dtype)
    wide = ir.IntType(2 * like.dtype.bitwidth)

    def emit(_: Any, builder: Any, pointer: Any, at: Any, _like: Any) -> Any:
        address = element_address(builder, pointer, at, wide)
        scalar = builder.load(address, align=like.dtype.bitwidth // 8)
        pairs = emit_splat(builder, scalar, ir.VectorType(wide, like.lanes // 2))
        return builder.bitcast(pairs, like.llvm)

    return like(source, types.intp, like), emit


@intrinsic
def store(target: Any, start: Any, value: Any) -> Any:
    """Write a vector to target[start], target[start + 1], ...; any alignment."""
    expect_vector(value, "value")
    expect_pointer(target, value.dtype)

    def emit(_: Any, builder: Any, pointer: Any, at: Any, vector: Any) -> None:
        address = element_address(builder, pointer, at, value.llvm)
        builder.store(vector, address, align=value.dtype.bitwidth // 8)

    return types.void(target, types.intp, value), emit


# -- lane-wise arithmetic ------------------------------------------------------


def _maximum(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed(">", a, b), a, b)


def _minimum(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed("<", a, b), a, b)


def _lanewise(name: str, emit: Callable[[Any, Any, Any], Any]) -> Any:
    """Make an intrinsic of two vectors of one type from an LLVM instruction."""

    def operation(a: Any, b: Any) -> Any:
        expect_vector(a, "first operand")
        if a != b:
            raise TypingError(f"expected two vectors of one type, got {a} and {b}")
        return a(a, b), lambda _, builder, x, y: emit(builder, x, y)

    operation.__name__ = operation.__qualname__ = name
    return intrinsic(operation)


maximum = _lanewise("maximum", _maximum)
minimum = _lanewise("minimum", _minimum)


def _define_operator(symbol: Any, emit: Callable[[Any, Any, Any], Any]) -> None:
    """Make an operator of Python work on two vectors of one type."""

    @infer_global(symbol)
    class _Typing(AbstractTemplate):
        def generic(self, arguments: Any, keywords: Any) -> Any:
            if len(arguments) != 2 or keywords:
                return None
            a, b = arguments
            return signature(a, a, b) if isinstance(a, VectorType) and a == b else None

    @lower_builtin(symbol, VectorType, VectorType)  # type: ignore[untyped-decorator]
    def _lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return emit(builder, arguments[0], arguments[1])


# +, - and * wrap around, as the processor's do
_define_operator(operator.add, lambda builder, a, b: builder.add(a, b))
_define_operator(operator.sub, lambda builder, a, b: builder.sub(a, b))
_define_operator(operator.mul, lambda builder, a, b: builder.mul(a, b))
_define_operator(operator.and_, lambda builder, a, b: builder.and_(a, b))
_define_operator(operator.or_, lambda builder, a, b: builder.or_(a, b))
_define_operator(operator.xor, lambda builder, a, b: builder.xor(a, b))


# -- masks ---------------------------------------------------------------------


def _comparison(name: str, predicate: str) -> Any:
    """Make an intrinsic that compares two vectors into a mask."""

    def operation(a: Any, b: Any) -> Any:
        expect_vector(a, "first operand")
        if a != b or a.lanes > _MAX_MASK_LANES:
            raise TypingError(
                "expected two vectors of one type with at most "
                f"{_MAX_MASK_LANES} lanes, got {a} and {b}"
            )

        def emit(_: Any, builder: Any, x: Any, y: Any) -> Any:
            bits = builder.icmp_signed(predicate, x, y)
            mask = builder.bitcast(bits, ir.IntType(a.lanes))
            return builder.zext(mask, _I64) if a.lanes < _MAX_MASK_LANES else mask

        return types.uint64(a, b), emit

    operation.__name__ = operation.__qualname__ = name
    return intrinsic(operation)


less = _comparison("less", "<")
equal = _comparison("equal", "==")


@intrinsic
def blend(mask: Any, a: Any, b: Any) -> Any:
    """Lanes of ``a`` where the mask's bit is set, else of ``b``."""
    expect_vector(a, "first operand")
    if a != b or a.lanes > _MAX_MASK_LANES:
        raise TypingError(f"expected two equal vector types, got {a} and {b}")

    def emit(_: Any, builder: Any, bits: Any, x: Any, y: Any) -> Any:
        if a.lanes < _MAX_MASK_LANES:
            bits = builder.trunc(bits, ir.IntType(a.lanes))
        bits = builder.bitcast(bits, ir.VectorType(_I1, a.lanes))
        return builder.select(bits, x, y)

    return a(types.uint64, a, b), emit


# -- across lanes --------------------------------------------------------------


def _reduction(name: str, text: str) -> Any:
    """Make an intrinsic that takes one of all lanes, as a scalar of the element."""

    def operation(a: Any) -> Any:
        expect_vector(a, "operand")
        full = f"llvm.vector.reduce.{text}.{suffix(a.llvm)}"

        def emit(_: Any, builder: Any, x: Any) -> Any:
            return call_llvm(builder, full, a.llvm.element, [x])

        return a.dtype(a), emit

    operation.__name__ = operation.__qualname__ = name
    return intrinsic(operation)


reduce_min = _reduction("reduce_min", "smin")
reduce_least = _reduction("reduce_least", "umin")  # of lanes that are not negative
reduce_max = _reduction("reduce_max", "smax")


@intrinsic
def reduce_pairs(a: Any) -> Any:
    """Sum of the even lanes less the sum of the odd lanes as int64, exact."""
    expect_vector(a, "operand")
    # a sum of 16-bit lanes fits 32 bits: half the registers of 64
    width = 32 if a.dtype.bitwidth == 16 and a.lanes <= 2**15 else 64
    wide = ir.VectorType(ir.IntType(width), a.lanes)

    def emit(_: Any, builder: Any, x: Any) -> Any:
        # one instruction multiplies and adds pairs of signed lanes, and LLVM finds it
        # only where it cannot know that lanes are never negative: so it gets ~x
        signs = ir.Constant(wide, [-1, 1] * (a.lanes // 2))
        terms = builder.mul(builder.sext(builder.not_(x), wide), signs)
        name = f"llvm.vector.reduce.add.{suffix(wide)}"
        total = call_llvm(builder, name, wide.element, [terms])
        return builder.sext(total, _I64) if width < 64 else total

    return types.int64(a), emit


def _shuffled(name: str, order: Callable[[int], list[int]]) -> Any:
    """Make an intrinsic of some of the lanes of a vector: of how many lanes which."""

    def operation(a: Any) -> Any:
        expect_vector(a, "operand")
        lanes = order(a.lanes)
        result = VectorType(a.dtype, len(lanes))
        return result(a), lambda _, builder, x: shuffle(builder, x, lanes)

    operation.__name__ = operation.__qualname__ = name
    return intrinsic(operation)


reverse = _shuffled("reverse", lambda lanes: [*range(lanes)][::-1])
evens = _shuffled("evens", lambda lanes: [*range(0, lanes, 2)])
"""The first of each pair."""
first_pair = _shuffled("first_pair", lambda _: [0, 1])
last_pair = _shuffled("last_pair", lambda lanes: [lanes - 2, lanes - 1] * (lanes // 2))
"""The last pair in every pair."""


@intrinsic
def paired(a: Any, b: Any) -> Any:
    """Return pairs of a lane of each, as a vector of twice the lanes."""
    expect_vector(a, "first operand")
    if a != b:
        raise TypingError(f"expected two vectors of one type, got {a} and {b}")
    order = [side * a.lanes + lane for lane in range(a.lanes) for side in range(2)]

    def emit(_: Any, builder: Any, vectors: Any, *rest: Any) -> Any:
        return builder.shuffle_vector(vectors, *rest, lane_indices(order))

    return VectorType(a.dtype, 2 * a.lanes)(a, b), emit


@intrinsic
def scan_max_pairs(a: Any) -> Any:
    """Return the running maximum from the first pair on, even and odd lanes apart.

    log2(lanes / 2) steps of one shuffle and one maximum.
    """
    expect_vector(a, "operand")

    def emit(_: Any, builder: Any, value: Any) -> Any:
        pairs, reach = a.lanes // 2, 1
        while reach < pairs:
            # in blocks of 2 reach pairs, the last pair of the lower half goes to all
            # pairs of the upper half; the lower half keeps its own
            source = [
                p // reach * reach - 1 if p // reach % 2 else p for p in range(pairs)
            ]
            moved = shuffle(
                builder, value, [lane for p in source for lane in (2 * p, 2 * p + 1)]
            )
            value = _maximum(builder, value, moved)
            reach *= 2
        return value

    return a(a), emit


@intrinsic
def copy_transposed(
    source: Any,
    rows: Any,
    row_size: Any,
    offset: Any,
    target: Any,
    start: Any,
    stride: Any,
    like: Any,
) -> Any:
    """Copy a square block of pairs, rows gathered, as columns.

    For all pairs i, j of a vector: pair j of ``source`` at ``rows[i] * row_size +
    offset`` becomes pair i of ``target`` at ``start + j * stride``.

    Parameters
    ----------
    rows
        Pointer to as many int64 as a vector has pairs.
    row_size, offset, start, stride
        In elements.
    like
        A vector of the pointers' type.
    """
    expect_vector(like, "like")
    expect_pointer(source, like.dtype)
    expect_pointer(target, like.dtype)
    expect_pointer(rows, types.int64)
    pairs = like.lanes // 2
    align = like.dtype.bitwidth // 8

    def lanes_of(chosen: list[int]) -> ir.Constant:
        return lane_indices([lane for p in chosen for lane in (2 * p, 2 * p + 1)])

    def emit(_: Any, builder: Any, *arguments: Any) -> None:
        source, rows, row_size, offset, target, start, stride, _like = arguments
        block = []
        for i in range(pairs):
            row = builder.load(builder.gep(rows, [ir.Constant(_I64, i)]))
            at = builder.add(builder.mul(row, row_size), offset)
            address = element_address(builder, source, at, like.llvm)
            block.append(builder.load(address, align=align))
        # exchange the off-diagonal quarters of all 2 s x 2 s blocks, s = 1, 2, 4 ...
        reach = 1
        while reach < pairs:
            low = [p if not p & reach else pairs + p - reach for p in range(pairs)]
            high = [p + reach if not p & reach else pairs + p for p in range(pairs)]
            for i in range(pairs):
                if not i & reach:
                    a, b = block[i], block[i + reach]
                    block[i] = builder.shuffle_vector(a, b, lanes_of(low))
                    block[i + reach] = builder.shuffle_vector(a, b, lanes_of(high))
            reach *= 2
        for value in block:
            address = element_address(builder, target, start, like.llvm)
            builder.store(value, address, align=align)
            start = builder.add(start, stride)

    index = types.intp
    return types.void(source, rows, index, index, target, index, index, like), emit
