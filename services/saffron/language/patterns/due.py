"""Rules for NOT ... FOR and NOT ... EVERY: where in a pattern such a NOT may stand."""

from __future__ import annotations

from saffron.language.scope.scope import Scope
from saffron.language.syntax import tree


def nots_of(either: tree.Disjunction) -> list[tree.Negation]:
    """The NOTs with FOR or EVERY that are sides of an OR."""
    return [part for part in either.parts if isinstance(part, tree.Negation) and part.due is not None]


def check_due(parts: tuple[tree.Pattern, ...], scope: Scope) -> None:
    """Raise QueryError for a timed NOT beside another one, or an EVERY that does not end the SEQ `parts`."""
    for place, part in enumerate(parts):
        if not isinstance(part, tree.Negation) or part.due is None:
            continue
        around = (*parts[max(place - 1, 0) : place], *parts[place + 1 : place + 2])
        beside = next((one for one in around if isinstance(one, tree.Negation)), None)
        if beside is not None:
            hint = "Write one NOT of both, NOT (B OR C) FOR 5 minutes, or a component between them."
            raise scope.plan_error("a NOT that lasts for a time stands beside another NOT", beside.span, hint)
        if part.due.every and (place == 0 or place < len(parts) - 1):
            hint = "Write it last, SEQ(A a, NOT B EVERY 5 minutes), or write FOR."
            raise scope.plan_error("NOT ... EVERY ends a pattern", part.due.span, hint)


def check_no_due(parts: tuple[tree.Pattern, ...], scope: Scope) -> None:
    """Raise QueryError for a timed NOT among the parts of an AND."""
    for part in parts:
        if isinstance(part, tree.Negation) and part.due is not None:
            hint = "Say which comes first: SEQ(A a, NOT B FOR 5 minutes, C c), or SEQ(A a, C c, NOT B FOR 5 minutes)."
            message = "AND has no order, so it does not say from when the time of a NOT counts"
            raise scope.plan_error(message, part.span, hint)


def check_alternatives(either: tree.Disjunction, *, nullable: bool, scope: Scope) -> None:
    """Raise QueryError unless an OR is one of events and one NOT ... FOR. `nullable`: maybe no event comes before."""
    first, *more = nots_of(either)
    if more:
        hint = "Write a query for each, or one NOT of both: NOT (B OR C) FOR 5 minutes."
        raise scope.plan_error("an OR has one side that is a NOT", more[0].span, hint)
    assert first.due is not None
    if first.due.every:
        hint = "Write FOR, or end the pattern with the NOT alone."
        raise scope.plan_error("NOT ... EVERY is no side of OR", first.due.span, hint)
    if nullable:
        hint = "Put an event before the OR: SEQ(A a, (C c OR NOT B FOR 5 minutes))."
        raise scope.plan_error("the time of a NOT in an OR begins with the event before it", first.span, hint)
    for part in either.parts:
        if part is not first and not isinstance(part, tree.Event):
            hint = "Write single events beside it, as in (C c OR D d OR NOT B FOR 5 minutes), or a query for each side."
            raise scope.plan_error("beside a NOT in an OR stand single events", part.span, hint)
