"""The functions of the language as kernels call them: of_floor, of_power and so on, and the choices among values.

Numbers are float64, NaN for null; truth values are 1 and 0, -1 for null.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import FunctionType

from saffron.engine.kernels.jit import jitable
from saffron.schema.functions import numbers
from saffron.schema.functions.built_in import BUILT_IN

for _function in tuple(vars(numbers).values()):
    if isinstance(_function, FunctionType):
        jitable(_function)

globals().update({f"of_{name}": row.kernel for name, row in BUILT_IN.items() if row.kernel is not None})


def called(function: str, arguments: Sequence[str]) -> str:
    """The text of a call, by the texts of its arguments. An infinite value is null, as `Function.of` has it."""
    if not BUILT_IN[function].repeats:
        return f"finite(of_{function}({', '.join(arguments)}))"
    text = arguments[0]
    for argument in arguments[1:]:
        text = f"of_{function}({text}, {argument})"
    return f"finite({text})"


def chosen(function: str, arguments: Sequence[str], *, truths: bool) -> str:
    """The text of coalesce, nullif or case, by the texts of its values and, of case, conditions.

    An infinite number is null, as `Function.of` has it.
    """
    text = _choice(function, arguments, truths=truths)
    return text if truths else f"finite({text})"


def _choice(function: str, arguments: Sequence[str], *, truths: bool) -> str:
    """The text of a choice, in which an infinite number stays."""
    if function == "case":
        pairs = zip(arguments[:-1:2], arguments[1:-1:2], strict=True)
        return "(" + "".join(f"{value} if {test} else " for test, value in pairs) + arguments[-1] + ")"
    name = ("first_" if function == "coalesce" else "unless_") + ("truth" if truths else "number")
    text = arguments[0]
    for argument in arguments[1:]:
        text = f"{name}({text}, {argument})"
    return text


@jitable
def first_number(a: float, b: float) -> float:
    """The first of two numbers that is not null."""
    return b if math.isnan(a) else a


@jitable
def first_truth(a: int, b: int) -> int:
    """The first of two truth values that is not null (-1)."""
    return b if a == -1 else a


@jitable
def unless_number(a: float, b: float) -> float:
    """The number `a`; null if it equals `b`."""
    return math.nan if a == b else a


@jitable
def unless_truth(a: int, b: int) -> int:
    """The truth value `a`; null (-1) if it equals `b`."""
    return -1 if a == b else a
