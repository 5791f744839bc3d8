"""User-defined aggregates: SASE+'s extension point (N1) and the arbitrary aggregates of SASE++ (X7).

An aggregate folds the numbers of a closure, in order, into one float64 and ends with one:

    acc = initial;  for each x that is not null, in order: acc = step(acc, x);  result = final(acc, n)

n is how many numbers there were. Of no numbers the result is null, as it is from the first call on that gives no finite
number: an infinity, NaN, a complex number, or an error of Python's arithmetic or of `math`. RETURN evaluates it over
finished closures (`fold`); kernels call the same functions as Python (`plain`) or compiled (`compiled`) in conditions.
Compiled functions know no errors: within a call they go on with an infinity or NaN.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any

from saffron.errors import AggregateError, one_line
from saffron.language.plan.pairs import OF_EXTREME
from saffron.schema.functions.built_in import find as find_function
from saffron.schema.functions.registry import Registry

_UNDEFINED = (ZeroDivisionError, OverflowError, ValueError)
"""Errors that Python's arithmetic and `math` raise in place of an infinity or NaN."""
_RULES = 2
"""The version of what is made of the functions of a user, for the stamp."""

Step = Callable[[float, float], float]
Final = Callable[[float, int], float]

BUILT_IN = frozenset({"count", "sum", "avg", "min", "max", "first", "last", "stddev", *OF_EXTREME.values()})
TAKEN = BUILT_IN | {"next", "any", "seq", "not", "and", "or", "in"}
"""Names that no function of a user can have, beside those of the language's functions."""


@dataclass(frozen=True)
class UserAggregate:
    """A user-defined aggregate: step(acc, x) and final(acc, n) on float64; n is an int64."""

    name: str
    initial: float
    step: Step
    final: Final

    def fold(self, values: Iterable[float]) -> float | None:
        """The aggregate of numbers (none of them null), in order. Raises AggregateError where a function fails."""
        step, final = self.plain
        acc, count = self.initial, 0
        try:
            for value in values:
                acc = step(acc, float(value))
                count += 1
            result = final(acc, count) if count else math.nan
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit(), too, is the aggregate's failure, and not the process's end
            raise AggregateError(
                f"aggregate {self.name!r} failed on its input number {count}: {one_line(error, repr)}"
            ) from error
        return result if math.isfinite(result) else None

    @cached_property
    def plain(self) -> tuple[Step, Final]:
        """(step, final) in Python, of float64s.

        They give what the compiled ones do, with one exception: an infinity or NaN may arise within a call that ends
        with a finite number. Python raises an error there, which makes the value null at once, as for `fold`.
        """
        return _of_finite(_number(self.step, float)), _of_finite(_number(self.final, int))

    @cached_property
    def compiled(self) -> tuple[Any, Any]:
        """(step, final) as Numba functions, for kernels to call; AggregateError where they do not compile.

        Within a call they divide as IEEE 754 says (1 / 0 is an infinity).
        """
        from saffron.engine.kernels.numba_functions import CompileError, compiled
        from saffron.engine.kernels.numba_types import float64, int64

        try:
            of_step, of_final = float64(float64, float64), float64(float64, int64)
            step = compiled(_of_finite(compiled(self.step, of_step)), of_step)
            final = compiled(_of_finite(compiled(self.final, of_final)), of_final)
        except CompileError as error:
            hint = "use numbers, math.* and local variables only"
            raise AggregateError(f"aggregate {self.name!r} cannot be compiled: {one_line(error)}; {hint}") from error
        return step, final

    @cached_property
    def stamp(self) -> str:
        """A hash of the functions' code and constants, by which cached kernels are recognised."""
        digest = hashlib.sha256(repr((_RULES, self.initial)).encode())
        for function in (self.step, self.final):
            digest.update(_fingerprint(function).encode())
        return digest.hexdigest()


_own = Registry[UserAggregate]("an aggregate", AggregateError)
require, registered, forget, changes = _own.require, _own.registered, _own.forget, _own.changes


def register(name: str, step: Step, *, initial: float = 0.0, final: Final | None = None) -> UserAggregate:
    """Make an aggregate known to queries of this process that are bound from now on; one of that name is replaced.

    Raises AggregateError: a name that is taken or none, wrong parameters, an initial value that is not finite, or a
    function that does not give a number for numbers.
    """
    _own.check_name(name, taken=name in TAKEN or find_function(name) is not None)
    if isinstance(initial, bool) or not isinstance(initial, int | float) or not math.isfinite(initial):
        raise AggregateError(f"aggregate {name!r}: initial is {initial!r}; it must be a finite number")
    ends = _unchanged if final is None else final
    _check_parameters(name, "step", step, "acc, x")
    _check_parameters(name, "final", ends, "acc, n")
    _check_number(name, "step", lambda: step(float(initial), 1.0))
    _check_number(name, "final", lambda: ends(float(step(float(initial), 1.0)), 1))
    aggregate = UserAggregate(name, float(initial), step, ends)
    _own.add(name, aggregate)
    return aggregate


def _of_finite(function: Callable[[float, Any], float]) -> Callable[[float, Any], float]:
    """The function of an accumulator that is finite; of another one it is NaN."""

    def guarded(acc: float, other: Any) -> float:
        return function(acc, other) if math.isfinite(acc) else math.nan

    return guarded


def _number(function: Callable[[float, Any], Any], second: type) -> Callable[[float, Any], float]:
    """The function with a float64 as its result: NaN where it is complex, or undefined in Python.

    `second`: the type of its second argument. Kernels in Python give scalars of NumPy, which compute otherwise.
    """

    def number(acc: float, other: Any) -> float:
        try:
            value = function(float(acc), second(other))
            return math.nan if isinstance(value, complex) else float(value)
        except _UNDEFINED:
            return math.nan

    return number


def _unchanged(acc: float, n: int) -> float:
    return acc


def _check_parameters(name: str, role: str, function: Any, wanted: str) -> None:
    if not isinstance(function, FunctionType):
        raise AggregateError(f"aggregate {name!r}: {role} is a {type(function).__name__}; write def {role}({wanted})")
    parameters = inspect.signature(function).parameters.values()
    if len(parameters) != 2 or any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters):
        raise AggregateError(f"aggregate {name!r}: {role} takes {inspect.signature(function)}; it must be ({wanted})")


def _check_number(name: str, role: str, call: Callable[[], Any]) -> None:
    """Raise AggregateError if a call fails or gives no number. An error of arithmetic is no failure.

    `call`: calls the function on the number 1; `role`: "step" or "final", for the error.
    """
    try:
        value = call()
    except _UNDEFINED:
        return
    except Exception as error:
        raise AggregateError(f"aggregate {name!r}: {role} fails on the number 1: {one_line(error, repr)}") from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise AggregateError(
            f"aggregate {name!r}: {role} gives {value!r}, a {type(value).__name__}; it must be a number"
        )


def _fingerprint(function: Callable[..., Any]) -> str:
    """The fingerprint of a function: its instructions and constants, those of inner functions, values of free names."""
    assert isinstance(function, FunctionType)
    captured = [repr(cell.cell_contents) for cell in function.__closure__ or ()]
    used = {
        name: repr(value)
        for name in _names(function.__code__)
        if isinstance(value := function.__globals__.get(name), int | float)
    }
    return repr((_instructions(function.__code__), captured, sorted(used.items())))


def _names(code: CodeType) -> set[str]:
    inner = (_names(const) for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*inner)


def _instructions(code: CodeType) -> list[tuple[str, str]]:
    return [
        (one.opname, repr(_instructions(one.argval)) if isinstance(one.argval, CodeType) else one.argrepr)
        for one in dis.get_instructions(code)
    ]
