"""The vector type of ``dpbb.kernels.simd``, and what its code generators share."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.errors import TypingError
from numba.extending import register_model

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


# -- helpers of the code generators --------------------------------------------


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
