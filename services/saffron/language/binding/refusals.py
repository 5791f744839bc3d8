"""Errors (stage "plan") for clauses that a kind of query cannot have, with the reason and an alternative."""

from __future__ import annotations

from saffron.errors import QueryError
from saffron.language.plan.pattern import Strategy
from saffron.language.scope.scope import Scope
from saffron.language.syntax.tree import Expression, Query


def refuse_clauses(query: Query, scope: Scope, *, aggregate: bool) -> None:
    """Raise QueryError for the first clause that a query of this kind cannot have."""
    output, consume = query.output, query.consume
    if not aggregate and query.having is not None:
        raise _having(query.having, scope)
    if not aggregate and query.exact is not None:
        hint = "Leave it out: the numbers of one match are always exact."
        raise scope.plan_error("EXACT belongs to aggregate queries (COUNT(*) in RETURN)", query.exact.span, hint)
    if output is not None and output.mode != "ALL" and aggregate:
        hint = "Leave OUTPUT out; or match the pattern: RETURN without COUNT(*) and its like."
        raise scope.plan_error(
            f"OUTPUT {output.mode} chooses among matches, and trends are never built", output.span, hint
        )
    if aggregate and output is not None and output.timeouts:
        hint = "Leave OUTPUT out; or match the pattern: RETURN without COUNT(*) and its like."
        raise scope.plan_error("WITH TIMEOUTS reports what was begun, and trends are never built", output.span, hint)
    if output is not None and output.mode == "COMPRESSED" and query.returns is not None and query.returns.items:
        hint = "Leave RETURN out: `saffron enumerate` lists the matches by their positions; or leave OUTPUT out."
        raise scope.plan_error(
            "OUTPUT COMPRESSED has one result for many matches: no values of one", query.returns.span, hint
        )
    if aggregate and consume is not None and consume.scope != "none":
        hint = "Leave CONSUME out: an event may serve several trends."
        raise scope.plan_error(
            "CONSUME takes events from later matches, and trends are never built", consume.span, hint
        )
    if aggregate and query.returns is not None and query.returns.into is not None:
        hint = "Leave INTO out: what a window holds is known when the events that it would stand among are past."
        raise scope.plan_error(
            "the results of an aggregate query are no events to others", query.returns.into_span, hint
        )
    if aggregate and query.confidence is not None:
        hint = "Leave CONFIDENCE out: trends are counted over exact times."
        raise scope.plan_error("CONFIDENCE belongs to match queries", query.confidence.span, hint)
    if aggregate and query.emit is not None:
        hint = "Leave it out: a result of an aggregate query has no events."
        raise scope.plan_error("EMIT VALUES belongs to match queries", query.emit.span, hint)
    if output is not None and output.mode == "COMPRESSED" and query.emit is not None:
        hint = "Leave one of both out: a graph is made of events, and has no values."
        raise scope.plan_error("OUTPUT COMPRESSED has no values of one match to emit", query.emit.span, hint)
    if output is not None and output.mode == "COMPRESSED" and query.publish is not None and query.publish.key:
        hint = "Leave KEY out: the messages then have the query's name as their key."
        raise scope.plan_error(
            "OUTPUT COMPRESSED has one result for many matches: no key of one", query.publish.key.span, hint
        )
    if not aggregate and query.group:
        hint = f"To have all events of a match agree, write WHERE [{query.group[0].name}]."
        span = query.group[0].span
        raise scope.plan_error("GROUP BY belongs to aggregate queries (COUNT(*) in RETURN)", span, hint)


def refuse_imprecise(query: Query, scope: Scope) -> None:
    """Raise QueryError for clauses that need one order of events, which imprecise times (X2) do not give."""
    for use in query.strategies:
        if use.name != Strategy.ANY.value:
            hint = "Leave it out, or write skip-till-any-match."
            raise scope.plan_error(f"imprecise time is not matched by {use.name}", use.span, hint)
    hint = "Leave it out, or leave CONFIDENCE out where each event has one exact ts."
    if query.within.size.events:
        raise scope.plan_error("imprecise times give events no positions to count", query.within.size.span, hint)
    if query.output is not None and (query.output.mode not in ("ALL", "COMPRESSED") or query.output.timeouts):
        message = "OUTPUT chooses among matches by the order of events, which imprecise times do not give"
        raise scope.plan_error(message, query.output.span, hint)
    if query.consume is not None and query.consume.scope != "none":
        message = "CONSUME takes matches in the order of events, which imprecise times do not give"
        raise scope.plan_error(message, query.consume.span, hint)


def _having(having: Expression, scope: Scope) -> QueryError:
    hint = "Write it into WHERE: a condition on finished lists, such as b.len > 3 or avg(b[].x) > 5."
    return scope.plan_error("HAVING belongs to aggregate queries (COUNT(*) in RETURN)", having.span, hint)
