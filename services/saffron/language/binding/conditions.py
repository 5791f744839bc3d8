"""The binding of the conjuncts of WHERE, each with its references and its text."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.binding.aggregates import bind_aggregate
from saffron.language.plan.expressions import Expr, Length, Which
from saffron.language.scope.scope import Scope
from saffron.language.scope.sorts import Sort, Typed
from saffron.language.scope.typed import attribute, bind_condition
from saffron.language.syntax import tree
from saffron.language.syntax.expression_printer import reference_text
from saffron.language.syntax.paths import attribute_text
from saffron.language.syntax.tree import Index

WHICH = {
    Index.NONE: Which.SINGLE,
    Index.CURRENT: Which.CURRENT,
    Index.PREVIOUS: Which.PREVIOUS,
    Index.FIRST: Which.FIRST,
    Index.NTH: Which.NTH,
    Index.LAST: Which.LAST,
}
TAKING = (Index.CURRENT, Index.PREVIOUS, Index.BEFORE, Index.THROUGH)
"""References that only exist while the closure takes events."""
LOOKING_BACK = (Index.PREVIOUS, Index.BEFORE)
"""References to events before the one being taken."""
FINISHED = (Index.LAST, Index.NTH, Index.ALL)
"""References for which the first event of a closure is not enough; b.len counts as ALL."""


@dataclass(frozen=True)
class Use:
    """A reference in a conjunct: its component, index and place. `aggregate`: it is the argument of an aggregate."""

    component: int
    index: Index
    span: tree.Span
    aggregate: bool = False


@dataclass(frozen=True)
class Conjunct:
    """A bound conjunct of WHERE with its references. `text`: as written, in one line."""

    expr: Expr
    uses: tuple[Use, ...]
    text: str
    span: tree.Span

    def taking(self) -> list[Use]:
        """The references that exist only while the list takes events."""
        return [use for use in self.uses if use.index in TAKING]

    def finished(self) -> list[Use]:
        """The references for which the first event of a list is not enough."""
        return [use for use in self.uses if use.index in FINISHED]


def bind_conjuncts(expressions: tuple[tree.Expression, ...], scope: Scope) -> list[Conjunct]:
    """The bound conjuncts in order, without the keys [attr]."""
    result: list[Conjunct] = []
    for expression in expressions:
        _refuse_next(expression, scope)
        if not isinstance(expression, tree.Key):
            uses: list[Use] = []
            expr = bind_condition(expression, scope, lambda leaf, uses=uses: _leaf(leaf, scope, uses))  # type: ignore[misc]
            text = " ".join(scope.text[expression.span.start : expression.span.end].split())
            result.append(Conjunct(expr, tuple(uses), text, expression.span))
    return result


def _refuse_next(expression: tree.Expression, scope: Scope) -> None:
    """Raise QueryError for NEXT, before what stands beside it, which reads a list as an aggregate query would."""
    if isinstance(expression, tree.Next):
        hint = f"In a match query write {expression.variable}[i-1] and {expression.variable}[i]."
        raise scope.schema_error("NEXT belongs to aggregate queries (COUNT(*) in RETURN)", expression.span, hint)
    for operand in tree.operands(expression):
        _refuse_next(operand, scope)


def _leaf(expression: tree.Expression, scope: Scope, uses: list[Use]) -> Typed:
    """A bound reference or aggregate of a condition; it is appended to `uses`."""
    if isinstance(expression, tree.Reference):
        return _reference(expression, scope, uses)
    if isinstance(expression, tree.Call):
        argument, component, typed = bind_aggregate(expression, scope)
        uses.append(Use(component, argument.index, expression.span, aggregate=True))
        return typed
    assert isinstance(expression, tree.Name)
    hint = f"Write whose it is: a.{attribute_text(expression.name)}; a string stands in quotes: '{expression.name}'."
    raise scope.bare_name_error(expression, hint)


def _reference(reference: tree.Reference, scope: Scope, uses: list[Use]) -> Typed:
    """A bound attribute or b.len; its use is appended to `uses`."""
    component = scope.component(reference.variable, reference.span)
    place = scope.places[component]
    if is_length(reference, place.closure):
        uses.append(Use(component, Index.ALL, reference.span))
        return Typed(Length(component), Sort.NUMBER)
    check_form(reference, component, scope)
    uses.append(Use(component, reference.index, reference.span))
    found = scope.attribute(place.types, str(reference.attribute), reference.span)
    return attribute(found, component, WHICH[reference.index], reference.back)


def is_length(reference: tree.Reference, closure: bool) -> bool:
    """True if a reference is b.len of a closure."""
    return closure and reference.index is Index.NONE and (reference.attribute or "").lower() == "len"


def check_form(reference: tree.Reference, component: int, scope: Scope) -> None:
    """Raise QueryError unless the reference reads one value: a.x of a single event, b[...].x of a closure."""
    place = scope.places[component]
    name = None if reference.attribute is None else attribute_text(reference.attribute)
    if place.closure and reference.index is Index.NONE:
        hint = f"Write {place.written}[1].{name} for the first event, {place.written}[last].{name} for the last, "
        hint += f"max({place.written}[].{name}) for all; in a condition {place.written}[i].{name} is of every event."
        raise scope.schema_error(f"{place.written} is a closure, a list of events", reference.span, hint)
    if not place.closure and reference.index is not Index.NONE:
        hint = f"Write {place.written}.{name or 'x'}; a closure has a plus: {place.written_types}+."
        raise scope.schema_error(f"{place.written} is one event, not a closure", reference.span, hint)
    if reference.index in (Index.BEFORE, Index.THROUGH, Index.ALL):
        hint = f"Aggregate it, as in max({place.written}[{reference.index.value.strip('[]')}].{name or 'x'})."
        raise scope.schema_error("a list of events where one value is needed", reference.span, hint)
    if name is None:
        hint = f"Name an attribute: {reference_text(reference)}.x."
        raise scope.schema_error("an event where a value is needed", reference.span, hint)
