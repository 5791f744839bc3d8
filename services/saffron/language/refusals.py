"""What the grammar has and this version does not run yet: each with what can be written instead.

Stage "plan" in all of them. A clause that later versions run is taken out of here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator

from saffron.errors import QueryError
from saffron.language.plan import Strategy, TrendPlan
from saffron.language.printer import expression_text
from saffron.language.scope import Scope
from saffron.language.tree import (
    Call,
    Event,
    Expression,
    Name,
    Negation,
    Pattern,
    Query,
    Reference,
    Repeat,
    Star,
)


def not_yet(scope: Scope, what: str, node: Pattern | Expression, hint: str) -> QueryError:
    return scope.refused(f"this version does not run {what} yet", node.span, hint)


def refuse_clauses(query: Query, scope: Scope, *, aggregate: bool) -> None:
    """Raise for the first clause that this version does not run."""
    output, consume = query.output, query.consume
    if not aggregate and query.having is not None:
        raise _having(query.having, scope)
    if not aggregate and query.exact is not None:
        hint = "Leave it out: the numbers of one match are always exact."
        raise scope.refused("EXACT belongs to aggregate queries (COUNT(*) in RETURN)", query.exact.span, hint)
    if output is not None and output.mode != "ALL" and aggregate:
        hint = "Leave OUTPUT out; or match the pattern: RETURN without COUNT(*) and its like."
        raise scope.refused(
            f"OUTPUT {output.mode} chooses among matches, and trends are never built", output.span, hint
        )
    if aggregate and output is not None and output.timeouts:
        hint = "Leave OUTPUT out; or match the pattern: RETURN without COUNT(*) and its like."
        raise scope.refused("WITH TIMEOUTS reports what was begun, and trends are never built", output.span, hint)
    if output is not None and output.mode == "COMPRESSED" and query.returns is not None and query.returns.items:
        hint = "Leave RETURN out: `saffron enumerate` lists the matches by their positions; or leave OUTPUT out."
        raise scope.refused(
            "OUTPUT COMPRESSED has one result for many matches: no values of one", query.returns.span, hint
        )
    if aggregate and consume is not None and consume.scope != "none":
        hint = "Leave CONSUME out: an event may serve several trends."
        raise scope.refused("CONSUME takes events from later matches, and trends are never built", consume.span, hint)
    if aggregate and query.returns is not None and query.returns.into is not None:
        hint = "Leave INTO out: what a window holds is known when the events that it would stand among are past."
        raise scope.refused("the results of an aggregate query are no events to others", query.returns.span, hint)
    if aggregate and query.confidence is not None:
        hint = "Leave CONFIDENCE out: trends are counted over exact times."
        raise scope.refused("CONFIDENCE belongs to match queries", query.confidence.span, hint)
    if not aggregate and query.group:
        hint = f"To have all events of a match agree, write WHERE [{query.group[0].name}]."
        span = query.group[0].span
        raise scope.refused("GROUP BY belongs to aggregate queries (COUNT(*) in RETURN)", span, hint)


def refuse_imprecise(query: Query, scope: Scope) -> None:
    """Raise for what has no meaning where events have no one order: imprecise time (X2)."""
    for use in query.strategies:
        if use.name != Strategy.ANY.value:
            hint = "Leave it out, or write skip-till-any-match."
            raise scope.refused(f"imprecise time is not matched by {use.name}", use.span, hint)
    hint = "Leave it out, or leave CONFIDENCE out where each event has one exact ts."
    if query.within.size.events:
        raise scope.refused("imprecise times give events no positions to count", query.within.size.span, hint)
    if query.output is not None and (query.output.mode not in ("ALL", "COMPRESSED") or query.output.timeouts):
        message = "OUTPUT chooses among matches by the order of events, which imprecise times do not give"
        raise scope.refused(message, query.output.span, hint)
    if query.consume is not None and query.consume.scope != "none":
        message = "CONSUME takes matches in the order of events, which imprecise times do not give"
        raise scope.refused(message, query.consume.span, hint)


def _having(having: Expression, scope: Scope) -> QueryError:
    hint = "Write it into WHERE: a condition on finished lists, such as b.len > 3 or avg(b[].x) > 5."
    return scope.refused("HAVING belongs to aggregate queries (COUNT(*) in RETURN)", having.span, hint)


def refuse_unrun(query: Query, plan: TrendPlan, scope: Scope) -> None:
    """Raise for the first part of an aggregate query that its engine does not run yet; asked of a whole plan."""
    if plan.negatives:
        negation = next(part for part in _parts(query.pattern) if isinstance(part, Negation))
        hint = "Leave the negated component out, or match the pattern without COUNT(*)."
        raise not_yet(scope, "NOT in an aggregate query", negation, hint)
    if plan.sides:
        hint = "Add one query for each order: SEQ(A, B) and SEQ(B, A)."
        raise not_yet(scope, "AND in an aggregate query", query.pattern, hint)
    for use in query.strategies:
        if use.name != Strategy.ANY.value:
            hint = "Leave it out, or write skip-till-any-match."
            raise scope.refused(f"this version does not count trends by {use.name} yet", use.span, hint)
    assert query.returns is not None
    for item in query.returns.items:
        expression = item.expression
        if isinstance(expression, Call) and not isinstance(expression.arguments[0], Star):
            raise not_yet(scope, expression_text(expression), expression, "Count the trends: COUNT(*).")
        if not isinstance(expression, Call | Name | Reference):
            hint = "Return COUNT(*) by itself, and compute with it where it is used."
            raise not_yet(scope, "computing with aggregates", expression, hint)
    if query.having is not None:
        hint = "Leave it out and filter the results by what RETURN names."
        raise not_yet(scope, "HAVING", query.having, hint)
    if query.exact is not None:
        hint = "Leave it out: counts are exact up to 2^63, and say so."
        raise scope.refused("this version does not run EXACT yet", query.exact.span, hint)


def _parts(pattern: Pattern) -> Iterator[Pattern]:
    """A pattern and all that is in it, in the order of the text."""
    yield pattern
    if isinstance(pattern, Repeat | Negation):
        yield from _parts(pattern.pattern)
    elif not isinstance(pattern, Event):
        for part in pattern.parts:
            yield from _parts(part)
