"""Which selection strategy a query asks for (N2)."""

from __future__ import annotations

from saffron.errors import QueryError
from saffron.language.plan import Strategy
from saffron.language.scope import Scope
from saffron.language.tree import Query, Span


def bind_strategy(query: Query, scope: Scope, default: Strategy) -> Strategy:
    """The one strategy of the whole pattern, or `default`.

    Brackets that name every variable, as the papers print them, are the same as none.
    """
    if not query.strategies:
        return default
    for use in query.strategies:
        for target in use.targets:
            scope.component(target.variable, target.span)
    first = query.strategies[0]
    if len(query.strategies) > 1:
        raise _per_step(scope, query.strategies[1].span)
    named = {scope.component(target.variable, target.span) for target in first.targets}
    if first.targets and (len(named) < len(scope.places) or any(target.current for target in first.targets)):
        raise _per_step(scope, first.span)
    return Strategy(first.name)


def _per_step(scope: Scope, span: Span) -> QueryError:
    hint = "Write one strategy without brackets, for the whole pattern: WHERE skip-till-next-match { ... }."
    return scope.refused("this version does not run a strategy for each step yet", span, hint)
