"""Dotted names whose first word is a variable, a type, or the beginning of a path, as the pattern decides."""

from __future__ import annotations

from dataclasses import replace

from saffron.language.plan.expressions import Which
from saffron.language.plan.rewrite import reads
from saffron.language.plan.trees import tree_of
from saffron.language.scope.composition import kind_of
from saffron.language.scope.scope import Scope
from saffron.language.scope.sorts import Typed
from saffron.language.scope.typed import attribute, bind_value
from saffron.language.syntax import tree
from saffron.schema.computed import Computed
from saffron.schema.schema import Kind


def with_paths(query: tree.Query, scope: Scope) -> tree.Query:
    """The query with [order.id] and GROUP BY order.id as keys of all events where `order` is no owner of the pattern.

    The name of a key that is a function becomes that of its computed value.

    The components of `scope` are declared.
    """
    conditions = tuple(_key(one, scope) if isinstance(one, tree.Key) else one for one in query.conditions)
    return replace(query, conditions=conditions, group=tuple(_attribute(one, scope) for one in query.group))


def _key(key: tree.Key, scope: Scope) -> tree.Key:
    return replace(key, attributes=tuple(_attribute(one, scope) for one in key.attributes))


def _attribute(attribute: tree.KeyAttribute, scope: Scope) -> tree.KeyAttribute:
    if attribute.expression is not None:
        return replace(attribute, name=_computed(attribute.expression, scope).name)
    if attribute.owner is None or scope.owns(attribute.owner):
        return attribute
    return replace(attribute, owner=None, name=f"{attribute.owner}.{attribute.name}")


def _computed(expression: tree.Expression, scope: Scope) -> Computed:
    """The function of a key as a computed value of each event of the pattern."""

    def leaf(one: tree.Expression) -> Typed:
        """An attribute in a key's function, bound as that of the first component; its kinds are noted in `kinds`.

        QueryError: it is no attribute of all events of the pattern.
        """
        if not isinstance(one, tree.Reference):
            raise scope.schema_error("a key has functions of one event's attributes", one.span, _HINT)
        owner, dot, _ = one.variable.partition(".")
        if dot and scope.owns(owner):
            raise scope.schema_error(f"{one.variable} is of one event, a key of all", one.span, _HINT)
        found = [
            scope.attribute(types, one.variable, one.span) for types in dict.fromkeys(p.types for p in scope.places)
        ]
        kinds.extend(each.kind or Kind.NULL for each in found)
        return attribute(next((each for each in found if not each.null), found[0]), 0, Which.SINGLE)

    kinds: list[Kind] = []
    noted, scope.computed = scope.computed, {}
    expr = bind_value(expression, scope, leaf).expr
    scope.computed = noted  # what is computed is the key as a whole
    if not any(True for _ in reads(expr)):
        raise scope.schema_error("a key that reads no attribute", expression.span, _HINT)
    kind = kind_of(expr)
    if kind is Kind.ARRAY and all(each is Kind.NULL for each in kinds):
        kind = Kind.STRING  # it is not known yet; the query is bound again once it is
    one = Computed(tree_of(expr), kind)
    if one.kind is Kind.ARRAY:
        hint = "Name a value that is a number, a string or a truth value."
        raise scope.schema_error(
            "an array, or an element of any kind, by which events cannot agree", expression.span, hint
        )
    scope.note_computed(one.name, (place.types for place in scope.places))
    return one


_HINT = "Write the attribute without a variable, as in lower(user)."


def path_of(expression: tree.Expression, scope: Scope) -> str | None:
    """The attribute that an expression names by itself: x, a.x, or a path without owner; None for others."""
    if isinstance(expression, tree.Name):
        return expression.name
    if not isinstance(expression, tree.Reference):
        return None
    owned = scope.owns(expression.variable) or expression.index is not tree.Index.NONE
    return expression.attribute if owned else f"{expression.variable}.{expression.attribute}"
