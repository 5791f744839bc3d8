"""Eight lanes at a time: vector values inside Numba kernels, written as LLVM vector operations.

LLVM's own vectoriser gives up on loops over this many arrays that it cannot tell apart, and leaves long scalar rests
on segments of some dozen runs. These types exist inside kernels only; `plain_lanes` has the same functions for NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.cgutils import get_or_insert_function
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, models, register_model

from saffron.engine.kernels import plain_lanes
from saffron.engine.kernels.numba_types import types
from saffron.engine.kernels.plain_lanes import LANES

AS_PYTHON = plain_lanes
"""The module that replaces this one where kernels run as plain Python (`generated.load`)."""


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


def _splat(builder: Any, value: Any) -> Any:
    """All lanes the same."""
    vector = ir.VectorType(value.type, LANES)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), order)


def _spread(context: Any, builder: Any, kind: types.Type, value: Any, scalar: types.Type) -> Any:
    """A lane value of the scalar type, from a vector or a scalar."""
    if isinstance(kind, Vector):
        return value
    value = context.cast(builder, value, kind, scalar)
    if scalar is types.boolean:
        value = builder.trunc(value, ir.IntType(1)) if value.type.width > 1 else value
    return _splat(builder, value)


def _pointer(context: Any, builder: Any, kind: types.Type, array: Any, index: Any, vector: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


# ---------------------------------------------------------------- memory


@intrinsic  # type: ignore[misc]
def lanes(typingctx: Any, array: Any, index: Any) -> Any:
    """The eight elements of an array from `index` on."""
    vector = Vector(array.dtype)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = context.get_value_type(vector)
        pointer = _pointer(context, builder, array, args[0], args[1], kind)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return vector(array, index), code


@intrinsic  # type: ignore[misc]
def put(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write eight elements of an array from `index` on; a scalar fills them all."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = context.get_value_type(Vector(array.dtype))
        spread = _spread(context, builder, value, args[2], array.dtype)
        pointer = _pointer(context, builder, array, args[0], args[1], kind)
        builder.store(spread, pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, index, value), code


# ---------------------------------------------------------------- masks


@intrinsic  # type: ignore[misc]
def bits(typingctx: Any, mask: Any) -> Any:
    """A mask as an integer, lane 0 the lowest bit; a bool as all lanes."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        spread = _spread(context, builder, mask, args[0], types.boolean)
        return builder.zext(builder.bitcast(spread, ir.IntType(LANES)), ir.IntType(64))

    return types.int64(mask), code


@intrinsic  # type: ignore[misc]
def meets(typingctx: Any, values: Any, wanted: Any) -> Any:
    """The mask of the lanes that have a set bit in common with an integer."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        common = builder.and_(args[0], _splat(builder, args[1]))
        return builder.icmp_unsigned("!=", common, ir.Constant(common.type, [0] * LANES))

    return MASK(values, types.int64), code


@intrinsic  # type: ignore[misc]
def choose(typingctx: Any, mask: Any, yes: Any, no: Any) -> Any:
    """Lane by lane `yes` where the mask is set, else `no`, which is a vector."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        selector = _spread(context, builder, mask, args[0], types.boolean)
        return builder.select(selector, _spread(context, builder, yes, args[1], no.scalar), args[2])

    return no(mask, yes, no), code


@intrinsic  # type: ignore[misc]
def inside(typingctx: Any, offset: Any, count: Any) -> Any:
    """The mask of the lanes k with 0 <= offset + k < count (uint64, so an offset may be "negative")."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        i64 = ir.VectorType(ir.IntType(64), LANES)
        number = builder.add(_splat(builder, args[0]), ir.Constant(i64, list(range(LANES))))
        return builder.icmp_unsigned("<", number, _splat(builder, args[1]))

    return MASK(types.uint64, types.uint64), code


@intrinsic  # type: ignore[misc]
def flip(typingctx: Any, mask: Any) -> Any:
    """The opposite of a mask or bool."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.not_(_spread(context, builder, mask, args[0], types.boolean))

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
        first = _splat(builder, builder.trunc(args[0], ir.IntType(32)))
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
        null = _splat(builder, ir.Constant(ir.IntType(64), -(2**63)))
        nan = _splat(builder, ir.Constant(ir.DoubleType(), float("nan")))
        return builder.select(builder.icmp_signed("==", args[0], null), nan, builder.sitofp(args[0], kind))

    return target(value), code


@intrinsic  # type: ignore[misc]
def quotient8(typingctx: Any, a: Any, b: Any) -> Any:
    """a / b, NaN where b is 0."""
    target = Vector(types.float64)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        left, right = (_spread(context, builder, k, v, types.float64) for k, v in zip(sig.args, args, strict=True))
        zero = _splat(builder, ir.Constant(ir.DoubleType(), 0.0))
        nan = _splat(builder, ir.Constant(ir.DoubleType(), float("nan")))
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
        value, total, number = (
            _spread(context, builder, k, v, types.float64) for k, v in zip(sig.args, args, strict=True)
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
    return _splat(builder, ir.Constant(ir.DoubleType(), number))


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
        one, two, nan = (_splat(builder, ir.Constant(ir.DoubleType(), x)) for x in (1.0, 2.0, float("nan")))
        ratio = builder.fdiv(args[0], builder.fsub(args[1], one))
        kind = ir.FunctionType(ratio.type, [ratio.type])
        root = builder.call(get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f64"), [ratio])
        return builder.select(builder.fcmp_ordered("<", args[1], two), nan, root)

    return spread(spread, number), code


# ---------------------------------------------------------------- operators


def _scalar(args: Any) -> types.Type:
    """The scalar type that an operation of these computes in: that of its vector."""
    return next(arg.scalar for arg in args if isinstance(arg, Vector))


def _vectors(args: Any, *, masks: bool) -> bool:
    found = [arg for arg in args if isinstance(arg, Vector)]
    return len(args) == 2 and bool(found) and all((arg == MASK) is masks for arg in found)


def _register(function: Any, result: Callable[[Any], types.Type], masks: bool, emit: Callable[..., Any]) -> None:
    @infer_global(function)
    class _Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(result(args), *args) if _vectors(args, masks=masks) else None

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        scalar = _scalar(sig.args)
        return emit(builder, scalar, *(
            _spread(context, builder, kind, value, scalar) for kind, value in zip(sig.args, args, strict=True)
        ))  # fmt: skip

    for left, right in ((Vector, Vector), (Vector, types.Any), (types.Any, Vector)):
        lower_builtin(function, left, right)(code)


def _same(args: Any) -> types.Type:
    return Vector(_scalar(args))


def _arithmetic(real: str, integer: str) -> Callable[..., Any]:
    return lambda builder, scalar, a, b: getattr(builder, real if scalar is types.float64 else integer)(a, b)


def _comparison(sign: str) -> Callable[..., Any]:
    def emit(builder: Any, scalar: types.Type, a: Any, b: Any) -> Any:
        return (builder.fcmp_ordered if scalar is types.float64 else builder.icmp_signed)(sign, a, b)

    return emit


for _function, _real, _integer in (
    (operator.add, "fadd", "add"),
    (operator.sub, "fsub", "sub"),
    (operator.mul, "fmul", "mul"),
    (operator.truediv, "fdiv", "sdiv"),
):
    _register(_function, _same, False, _arithmetic(_real, _integer))
for _function, _sign in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
    (operator.ne, "!="),
):
    _register(_function, lambda _: MASK, False, _comparison(_sign))
_register(operator.and_, lambda _: MASK, True, lambda builder, _, a, b: builder.and_(a, b))
_register(operator.or_, lambda _: MASK, True, lambda builder, _, a, b: builder.or_(a, b))
