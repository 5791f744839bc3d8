"""What the text of match conditions calls: the arithmetic of all engines, and more of its kind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int64
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import ConcreteTemplate, infer_global

from saffron.engine.kernels.arithmetic import greatest, least, quotient, remainder, rest, root
from saffron.engine.kernels.jit import jitable
from saffron.schema.schema import NULL_INT

__all__ = ["deviation", "finite", "greatest", "least", "quotient", "real", "real_at", "remainder", "rest", "root"]


def real_at(constants: Any, place: int) -> float:
    """The float64 whose bits stand at a place of an array of int64."""
    return float(constants[place : place + 1].view(np.float64)[0])


@infer_global(real_at)
class _RealAt(ConcreteTemplate):  # type: ignore[misc]
    cases = [float64(int64[::1], int64)]  # noqa: RUF012


@lower_builtin(real_at, int64[::1], int64)  # type: ignore[untyped-decorator]
def _real_at(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    constants = context.make_array(called.args[0])(context, builder, arguments[0])
    place = builder.gep(constants.data, [arguments[1]])
    return builder.load(builder.bitcast(place, ir.DoubleType().as_pointer()))


@jitable
def real(a: int) -> float:
    """An integer attribute as float64."""
    return math.nan if a == NULL_INT else float(a)


@jitable
def finite(a: float) -> float:
    """The same; null for an infinity."""
    return a if abs(a) < math.inf else math.nan


@jitable
def deviation(spread: float, number: float) -> float:
    """The sample standard deviation from Welford's sum and count; null below two values."""
    return math.sqrt(spread / (number - 1.0)) if number >= 2.0 else math.nan
