"""`@saffron.function`: user-defined functions of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from saffron.engine.operators.aggregates import TAKEN, registered
from saffron.schema.functions.built_in import BUILT_IN
from saffron.schema.functions.own import register

F = TypeVar("F", bound=Callable[..., Any])


@overload
def function(made: F, /) -> F: ...


@overload
def function(*, name: str | None = None) -> Callable[[F], F]: ...


def function(made: F | None = None, /, *, name: str | None = None) -> F | Callable[[F], F]:
    """Register a function of values of one event, under its own name or `name`.

        @saffron.function
        def domain(address: str) -> str | None:
            return address.partition("@")[2] or None

    Its annotations say what it takes and gives: str, float, int or bool. It is called with values of these kinds alone,
    none of them null; otherwise its value is null, as it is where it returns None. It must be deterministic. Raises
    FunctionError for a function of another form.
    """
    taken = frozenset({*TAKEN, *BUILT_IN, *registered(), "cast", "element"})

    def add(found: F) -> F:
        register(name or str(getattr(found, "__name__", "")), found, taken)
        return found

    return add if made is None else add(made)
