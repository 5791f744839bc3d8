"""The binding of elements of arrays: a.x[1].sku.

The kind of an element is in no schema. It follows from what the query does with the element.
"""

from __future__ import annotations

from dataclasses import replace

from saffron.errors import QueryError
from saffron.language.plan.expressions import Attribute, Expr
from saffron.language.scope.scope import Found, Scope
from saffron.language.syntax import tree
from saffron.schema.computed import Computed, Read
from saffron.schema.computed import element_of as element
from saffron.schema.functions.arrays import Step
from saffron.schema.schema import Kind

ARRAY_HINT = "Read what is in it: length(a.x), contains(a.x, 'v') or a.x[1]."


def element_of(found: Found, steps: tuple[Step, ...], kind: Kind, scope: Scope, span: tree.Span) -> Found:
    """An element of an array attribute, read as a kind. QueryError: the attribute is no array."""
    check_array(found.kind, scope, span)
    one = Computed(element(Read(found.name), steps), kind)
    return Found(one.name, kind, found.null)


def open_element(expr: Attribute, steps: tuple[Step, ...]) -> Attribute:
    """An element of the array that an attribute reads, of a kind that is not known yet."""
    one = Computed(element(Read(expr.name), steps), Kind.NULL)
    return replace(expr, name=one.name, kind=Kind.NULL)


def is_open(expr: Expr) -> bool:
    """True if an expression is an element whose kind is not known yet."""
    one = Computed.of_name(expr.name) if isinstance(expr, Attribute) else None
    return one is not None and one.kind is Kind.NULL


def holds_element(expr: Expr) -> bool:
    """True if an expression of unknown kind may have a value: any other one is null until its attributes have kinds."""
    one = Computed.of_name(expr.name) if isinstance(expr, Attribute) else None
    return one is not None and one.kind is Kind.NULL and one.reads_element


def settled(expr: Attribute, kind: Kind) -> Attribute:
    """An open element read as a kind."""
    one = Computed.of_name(expr.name)
    assert one is not None
    return replace(expr, name=replace(one, kind=kind).name, kind=kind)


def check_array(kind: Kind | None, scope: Scope, span: tree.Span) -> None:
    """QueryError: an attribute of this kind is no array. Null, and what is not known, may become one."""
    if kind not in (None, Kind.NULL, Kind.ARRAY):
        raise no_array(kind.noun, scope, span)


def no_array(noun: str, scope: Scope, span: tree.Span) -> QueryError:
    """The error of something that should be an array."""
    hint = "Elements such as a.x[1] are of arrays."
    return scope.schema_error(f"this is {noun}, and no array", span, hint)


def open_error(scope: Scope, span: tree.Span) -> QueryError:
    """The error of an element whose kind cannot be inferred."""
    hint = "Read the element of one event: a[1].x[1] or a[last].x[1]."
    return scope.schema_error("whether this element is a string or a number is not known", span, hint)
