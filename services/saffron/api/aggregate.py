"""`@saffron.aggregate`: user-defined aggregates."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from saffron.engine.operators.aggregates import Final, Step, register


@overload
def aggregate(step: Step, /) -> Step: ...


@overload
def aggregate(
    *, name: str | None = None, initial: float = 0.0, final: Final | None = None
) -> Callable[[Step], Step]: ...


def aggregate(
    step: Step | None = None, /, *, name: str | None = None, initial: float = 0.0, final: Final | None = None
) -> Step | Callable[[Step], Step]:
    """Register a function as an aggregate over closures, under its own name or `name`.

        @saffron.aggregate(initial=1.0, final=lambda acc, n: acc ** (1 / n))
        def geomean(acc, x):
            return acc * x

    It starts with `initial`, is called as step(acc, x) for each value that is not null, in order, and ends with
    final(acc, n), n being their number (without `final`: acc). All are numbers: the functions may use arithmetic and
    `math`, and must give the same answer each time. Of no values, and where the end is not finite, it is null.
    Raises AggregateError at once where a function is not of this form.
    """

    def add(function: Step) -> Step:
        register(name or str(getattr(function, "__name__", "")), function, initial=initial, final=final)
        return function

    return add if step is None else add(step)
