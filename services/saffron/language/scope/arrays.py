"""The binding of values that are computed from arrays: length(a.x), contains(a.x, 'v'), a.x[1].sku.

The kind of an element is in no schema. It follows from what the query does with the element.
"""

from __future__ import annotations

from dataclasses import replace

from saffron.errors import QueryError
from saffron.language.plan import plan
from saffron.language.scope.scope import Found, Scope
from saffron.language.syntax import tree
from saffron.schema.computed import ELEMENT, Computed, Step
from saffron.schema.schema import Kind

ARRAY_HINT = "Read what is in it: length(a.x), contains(a.x, 'v') or a.x[1]."


def computed(expr: plan.Attribute, one: Computed, scope: Scope) -> plan.Attribute:
    """The attribute that reads a computed value of the event that `expr` reads."""
    if one.kind is not Kind.NULL:
        scope.computed[one.name] = None
    return replace(expr, name=one.name, kind=one.kind)


def element_of(found: Found, steps: tuple[Step, ...], kind: Kind, scope: Scope, span: tree.Span) -> Found:
    """An element of an array attribute, read as a kind. QueryError: the attribute is no array."""
    check_array(found.kind, scope, span)
    one = Computed(ELEMENT, found.name, steps, kind)
    scope.computed[one.name] = None
    return Found(one.name, kind, found.null)


def is_open(expr: plan.Expr) -> bool:
    """Whether an expression is an element whose kind is not known yet."""
    one = Computed.of_name(expr.name) if isinstance(expr, plan.Attribute) else None
    return one is not None and one.kind is Kind.NULL


def settled(expr: plan.Attribute, kind: Kind, scope: Scope) -> plan.Attribute:
    """An open element read as a kind."""
    one = Computed.of_name(expr.name)
    assert one is not None
    return computed(expr, replace(one, kind=kind), scope)


def check_array(kind: Kind | None, scope: Scope, span: tree.Span) -> None:
    """QueryError: an attribute of this kind is no array. Null, and what is not known, may become one."""
    if kind not in (None, Kind.NULL, Kind.ARRAY):
        raise no_array(kind.noun, scope, span)


def no_array(noun: str, scope: Scope, span: tree.Span) -> QueryError:
    """The error of something that should be an array."""
    hint = "length, contains and elements such as a.x[1] are of arrays."
    return scope.schema_error(f"this is {noun}, and no array", span, hint)


def open_error(scope: Scope, span: tree.Span) -> QueryError:
    """The error of an element whose kind nothing tells."""
    hint = "Read the element of one event: a[1].x[1] or a[last].x[1]."
    return scope.schema_error("whether this element is a string or a number is not known", span, hint)
