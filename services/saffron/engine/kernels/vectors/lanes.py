"""Eight lanes at a time: vector values inside Numba kernels, written as LLVM vector operations.

LLVM's own vectoriser gives up on loops over this many arrays that it cannot tell apart, and leaves long scalar rests
on segments of some dozen runs. These types exist inside kernels only; `plain_lanes` has the same functions for NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

from saffron.engine.kernels.numba_types import types
from saffron.engine.kernels.vectors import plain_lanes, vector_operators  # noqa: F401 (the operators are registered)
from saffron.engine.kernels.vectors.plain_lanes import LANES
from saffron.engine.kernels.vectors.vector_type import MASK, Vector, as_lanes, pointer_to, splat

AS_PYTHON = plain_lanes
"""The module that replaces this one where kernels run as plain Python (`generated.load`)."""


# ---------------------------------------------------------------- memory


@intrinsic  # type: ignore[misc]
def lanes(typingctx: Any, array: Any, index: Any) -> Any:
    """The eight elements of an array from `index` on."""
    vector = Vector(array.dtype)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = context.get_value_type(vector)
        pointer = pointer_to(context, builder, array, args[0], args[1], kind)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return vector(array, index), code


@intrinsic  # type: ignore[misc]
def put(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write eight elements of an array from `index` on; a scalar fills them all."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = context.get_value_type(Vector(array.dtype))
        spread = as_lanes(context, builder, value, args[2], array.dtype)
        pointer = pointer_to(context, builder, array, args[0], args[1], kind)
        builder.store(spread, pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, index, value), code


# ---------------------------------------------------------------- masks


@intrinsic  # type: ignore[misc]
def bits(typingctx: Any, mask: Any) -> Any:
    """A mask as an integer, lane 0 the lowest bit; a bool as all lanes."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        spread = as_lanes(context, builder, mask, args[0], types.boolean)
        return builder.zext(builder.bitcast(spread, ir.IntType(LANES)), ir.IntType(64))

    return types.int64(mask), code


@intrinsic  # type: ignore[misc]
def meets(typingctx: Any, values: Any, wanted: Any) -> Any:
    """The mask of the lanes that have a set bit in common with an integer."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        common = builder.and_(args[0], splat(builder, args[1]))
        return builder.icmp_unsigned("!=", common, ir.Constant(common.type, [0] * LANES))

    return MASK(values, types.int64), code


@intrinsic  # type: ignore[misc]
def choose(typingctx: Any, mask: Any, yes: Any, no: Any) -> Any:
    """Lane by lane `yes` where the mask is set, else `no`, which is a vector."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        selector = as_lanes(context, builder, mask, args[0], types.boolean)
        return builder.select(selector, as_lanes(context, builder, yes, args[1], no.scalar), args[2])

    return no(mask, yes, no), code


@intrinsic  # type: ignore[misc]
def inside(typingctx: Any, offset: Any, count: Any) -> Any:
    """The mask of the lanes k with 0 <= offset + k < count (uint64, so an offset may be "negative")."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        i64 = ir.VectorType(ir.IntType(64), LANES)
        number = builder.add(splat(builder, args[0]), ir.Constant(i64, list(range(LANES))))
        return builder.icmp_unsigned("<", number, splat(builder, args[1]))

    return MASK(types.uint64, types.uint64), code


@intrinsic  # type: ignore[misc]
def flip(typingctx: Any, mask: Any) -> Any:
    """The opposite of a mask or bool."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.not_(as_lanes(context, builder, mask, args[0], types.boolean))

    return MASK(mask), code


@intrinsic  # type: ignore[misc]
def lowest(typingctx: Any, number: Any) -> Any:
    """The place of the lowest set bit of an integer that is not 0."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), code


# ---------------------------------------------------------------- numbers


@intrinsic  # type: ignore[misc]
def count_up(typingctx: Any, start: Any) -> Any:
    """uint32 lanes start, start + 1, ..."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        i32 = ir.VectorType(ir.IntType(32), LANES)
        first = splat(builder, builder.trunc(args[0], ir.IntType(32)))
        return builder.add(first, ir.Constant(i32, list(range(LANES))))

    return Vector(types.uint32)(start), code


@intrinsic  # type: ignore[misc]
def real8(typingctx: Any, value: Any) -> Any:
    """Integer attributes as float64, NaN where null; or a scalar float as it is."""
    if not isinstance(value, Vector):
        return None
    target = Vector(types.float64)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = context.get_value_type(target)
        null = splat(builder, ir.Constant(ir.IntType(64), -(2**63)))
        nan = splat(builder, ir.Constant(ir.DoubleType(), float("nan")))
        return builder.select(builder.icmp_signed("==", args[0], null), nan, builder.sitofp(args[0], kind))

    return target(value), code


@intrinsic  # type: ignore[misc]
def quotient8(typingctx: Any, a: Any, b: Any) -> Any:
    """a / b, NaN where b is 0."""
    target = Vector(types.float64)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        left, right = (as_lanes(context, builder, k, v, types.float64) for k, v in zip(sig.args, args, strict=True))
        zero = splat(builder, ir.Constant(ir.DoubleType(), 0.0))
        nan = splat(builder, ir.Constant(ir.DoubleType(), float("nan")))
        return builder.select(builder.fcmp_ordered("==", right, zero), nan, builder.fdiv(left, right))

    return target(a, b), code


def _beside_quotient(sign: str) -> Callable[..., Any]:
    """The code of value < or > total / number, equal to dividing first in every case, mostly without dividing.

    Let g be half the distance from the value to the next number towards the quotient. Then value > quotient if and only
    if value * number - total > number * g; otherwise the quotient is rounded to the value. On a tie it is rounded to
    the even one of the two. Near equality both sides are exact multiples of g (a fused multiplication and subtraction,
    a power of two); elsewhere their errors do not matter. Very small and very large values are divided, as their g
    lacks precision.
    """

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        """The LLVM value of the mask. Lanes are divided if any of the eight values is very small or very large."""
        value, total, number = (
            as_lanes(context, builder, k, v, types.float64) for k, v in zip(sig.args, args, strict=True)
        )
        kind = ir.FunctionType(value.type, [value.type] * 3)
        fma = get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f64")
        difference = builder.call(fma, [value, number, builder.fneg(total)])
        gap = builder.fmul(number, _rounding(builder, value, down=sign == ">"))
        result = cgutils.alloca_once_value(builder, builder.fcmp_ordered(sign, difference, gap))
        ordinary = builder.bitcast(_between(builder, _size(builder, value), 1e-290, 1e290), ir.IntType(LANES))
        strange = builder.icmp_unsigned("!=", ordinary, ir.Constant(ir.IntType(LANES), 2**LANES - 1))
        with builder.if_then(strange, likely=False):
            builder.store(builder.fcmp_ordered(sign, value, builder.fdiv(total, number)), result)
        return builder.load(result)

    return code


def _rounding(builder: Any, value: Any, *, down: bool) -> Any:
    """The half distance g of `_beside_quotient`, negative where the next number is the larger one.

    It is slightly smaller where a tie is not rounded to the value.
    """
    ints = ir.VectorType(ir.IntType(64), LANES)
    bits64 = builder.bitcast(value, ints)
    positive = builder.fcmp_ordered(">", value, _constant(builder, 0.0))
    one, minus_one = (ir.Constant(ints, [x] * LANES) for x in (1, -1))
    step = builder.select(positive, minus_one if down else one, one if down else minus_one)
    neighbour = builder.bitcast(builder.add(bits64, step), value.type)
    odd = builder.trunc(bits64, ir.VectorType(ir.IntType(1), LANES))
    half = builder.select(odd, _constant(builder, 0.5 - 2.0**-40), _constant(builder, 0.5))
    return builder.fmul(builder.fsub(value, neighbour), half)


def _constant(builder: Any, number: float) -> Any:
    return splat(builder, ir.Constant(ir.DoubleType(), number))


def _size(builder: Any, value: Any) -> Any:
    kind = ir.FunctionType(value.type, [value.type])
    return builder.call(get_or_insert_function(builder.module, kind, f"llvm.fabs.v{LANES}f64"), [value])


def _between(builder: Any, value: Any, low: float, high: float) -> Any:
    """The mask of values between two bounds; NaN is not."""
    above = builder.fcmp_ordered(">", value, _constant(builder, low))
    return builder.and_(above, builder.fcmp_ordered("<", value, _constant(builder, high)))


@intrinsic  # type: ignore[misc]
def above8(typingctx: Any, value: Any, total: Any, number: Any) -> Any:
    """The mask of value > total / number; false where number is 0 or value is NaN."""
    return MASK(value, total, number), _beside_quotient(">")


@intrinsic  # type: ignore[misc]
def below8(typingctx: Any, value: Any, total: Any, number: Any) -> Any:
    """The mask of value < total / number; false where number is 0 or value is NaN."""
    return MASK(value, total, number), _beside_quotient("<")


@intrinsic  # type: ignore[misc]
def deviation8(typingctx: Any, spread: Any, number: Any) -> Any:
    """The standard deviation sqrt(spread / (number - 1)) of eight lanes, NaN below two numbers."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one, two, nan = (splat(builder, ir.Constant(ir.DoubleType(), x)) for x in (1.0, 2.0, float("nan")))
        ratio = builder.fdiv(args[0], builder.fsub(args[1], one))
        kind = ir.FunctionType(ratio.type, [ratio.type])
        root = builder.call(get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f64"), [ratio])
        return builder.select(builder.fcmp_ordered("<", args[1], two), nan, root)

    return spread(spread, number), code
