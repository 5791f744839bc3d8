"""Rules for NOT ... FOR and NOT ... EVERY: where in a pattern such a NOT may stand."""

from __future__ import annotations

from saffron.language.scope.scope import Scope
from saffron.language.syntax import tree


def nots_of(node: tree.Disjunction | tree.Conjunction) -> list[tree.Negation]:
    """The NOTs with FOR or EVERY that are sides of an OR, or parts of an AND."""
    return [part for part in node.parts if isinstance(part, tree.Negation) and part.due is not None]


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
    """Raise QueryError for a timed NOT among the parts of an AND that is no part of the outermost SEQ."""
    for part in parts:
        if isinstance(part, tree.Negation) and part.due is not None:
            hint = "Put it there: SEQ(A a, (C c AND NOT B FOR 5 minutes))."
            message = "a NOT with a time is a part of AND in the outermost SEQ only"
            raise scope.plan_error(message, part.span, hint)


def check_conjunction(both: tree.Conjunction, *, nullable: bool, scope: Scope) -> tuple[tree.Negation]:
    """The NOT ... FOR of an AND; QueryError for several. `nullable`: maybe no event comes before."""
    first, *more = nots_of(both)
    if more:
        hint = "Write one NOT of both: NOT (B OR C) FOR 5 minutes."
        raise scope.plan_error("an AND has one part that is a NOT", more[0].span, hint)
    _check_side("AND", first, nullable=nullable, scope=scope)
    return (first,)


def check_alternatives(either: tree.Disjunction, *, nullable: bool, scope: Scope) -> None:
    """Raise QueryError unless an OR is one of events and one NOT ... FOR. `nullable`: maybe no event comes before."""
    first, *more = nots_of(either)
    if more:
        hint = "Write a query for each, or one NOT of both: NOT (B OR C) FOR 5 minutes."
        raise scope.plan_error("an OR has one side that is a NOT", more[0].span, hint)
    _check_side("OR", first, nullable=nullable, scope=scope)
    for part in either.parts:
        if part is not first and not isinstance(part, tree.Event):
            hint = "Write single events beside it, as in (C c OR D d OR NOT B FOR 5 minutes), or a query for each side."
            raise scope.plan_error("beside a NOT in an OR stand single events", part.span, hint)


def _check_side(word: str, first: tree.Negation, *, nullable: bool, scope: Scope) -> None:
    """Raise QueryError for an EVERY in an OR or AND (`word`), or without an event before it."""
    assert first.due is not None
    if first.due.every:
        hint = "Write FOR, or end the pattern with the NOT alone."
        raise scope.plan_error(f"NOT ... EVERY is no side of {word}", first.due.span, hint)
    if nullable:
        hint = f"Put an event before the {word}: SEQ(A a, (C c {word} NOT B FOR 5 minutes))."
        raise scope.plan_error(f"the time of a NOT in an {word} begins with the event before it", first.span, hint)
