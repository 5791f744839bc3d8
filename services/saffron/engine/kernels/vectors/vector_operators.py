"""The operators of Python between vectors, and between a vector and a scalar: registered with Numba at import."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from saffron.engine.kernels.numba_types import types
from saffron.engine.kernels.vectors.vector_type import MASK, Vector, as_lanes


def _scalar(args: Any) -> types.Type:
    """The scalar type that an operation of these computes in: that of its vector."""
    return next(arg.scalar for arg in args if isinstance(arg, Vector))


def _vectors(args: Any, *, masks: bool) -> bool:
    found = [arg for arg in args if isinstance(arg, Vector)]
    return len(args) == 2 and bool(found) and all((arg == MASK) is masks for arg in found)


def _register(function: Any, result: Callable[[Any], types.Type], masks: bool, emit: Callable[..., Any]) -> None:
    """Register a Python operator with Numba, for two vectors or a vector and a scalar.

    `result`: types of the arguments -> type of the result. `masks`: it is for masks, else for numbers. `emit`: makes
    the LLVM value from builder, scalar type and both sides.
    """

    @infer_global(function)
    class _Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(result(args), *args) if _vectors(args, masks=masks) else None

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        scalar = _scalar(sig.args)
        return emit(builder, scalar, *(
            as_lanes(context, builder, kind, value, scalar) for kind, value in zip(sig.args, args, strict=True)
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
