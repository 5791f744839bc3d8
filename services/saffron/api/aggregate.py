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

    The accumulator starts as `initial`. For each value that is not null, in order, it becomes step(acc, x). The
    aggregate is final(acc, n), where n is the number of values; without `final` it is acc. It is null without values,
    and from the first call on that gives no finite number: an error of arithmetic or of `math` is one, too. In
    conditions, which are compiled, a call may go on with an infinity or NaN to a finite number, which counts then.
    All are numbers. The functions may use arithmetic and `math`, and must be deterministic. Raises AggregateError for a
    function of another form.
    """

    def add(function: Step) -> Step:
        register(name or str(getattr(function, "__name__", "")), function, initial=initial, final=final)
        return function

    return add if step is None else add(step)
