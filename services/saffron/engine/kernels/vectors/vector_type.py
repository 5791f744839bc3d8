"""The type of vectors in Numba kernels, and how LLVM values become vectors."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.extending import models, register_model

from saffron.engine.kernels.numba_types import types
from saffron.engine.kernels.vectors.plain_lanes import LANES


class Vector(types.Type):
    """Eight numbers of one scalar type; of boolean: a mask."""

    def __init__(self, scalar: types.Type) -> None:
        self.scalar = scalar
        super().__init__(name=f"lanes({scalar})")


def _element(scalar: Any) -> Any:
    if scalar is types.float64:
        return ir.DoubleType()
    return ir.IntType(1 if scalar is types.boolean else scalar.bitwidth)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, ir.VectorType(_element(vector.scalar), LANES))


MASK = Vector(types.boolean)


def splat(builder: Any, value: Any) -> Any:
    """All lanes the same."""
    vector = ir.VectorType(value.type, LANES)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), order)


def as_lanes(context: Any, builder: Any, kind: types.Type, value: Any, scalar: types.Type) -> Any:
    """A vector of the scalar type, from a vector or a scalar, which fills all lanes."""
    if isinstance(kind, Vector):
        return value
    value = context.cast(builder, value, kind, scalar)
    if scalar is types.boolean:
        value = builder.trunc(value, ir.IntType(1)) if value.type.width > 1 else value
    return splat(builder, value)


def pointer_to(context: Any, builder: Any, kind: types.Type, array: Any, index: Any, vector: Any) -> Any:
    """A pointer to the elements of an array from `index` on, as a vector of this LLVM type."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())
