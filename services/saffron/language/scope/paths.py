"""Dotted names whose first word may be a variable, a type, or the beginning of a path: told apart by the pattern."""

from __future__ import annotations

from dataclasses import replace

from saffron.language.scope.scope import Scope
from saffron.language.syntax import tree


def with_paths(query: tree.Query, scope: Scope) -> tree.Query:
    """The query with [order.id] and GROUP BY order.id as keys of all events where `order` is no owner of the pattern.

    The components of `scope` are declared.
    """
    conditions = tuple(_key(one, scope) if isinstance(one, tree.Key) else one for one in query.conditions)
    return replace(query, conditions=conditions, group=tuple(_attribute(one, scope) for one in query.group))


def _key(key: tree.Key, scope: Scope) -> tree.Key:
    return replace(key, attributes=tuple(_attribute(one, scope) for one in key.attributes))


def _attribute(attribute: tree.KeyAttribute, scope: Scope) -> tree.KeyAttribute:
    if attribute.owner is None or scope.owns(attribute.owner):
        return attribute
    return replace(attribute, owner=None, name=f"{attribute.owner}.{attribute.name}")


def path_of(expression: tree.Expression, scope: Scope) -> str | None:
    """The attribute that an expression names by itself: x, a.x, or a path without owner; None for others."""
    if isinstance(expression, tree.Name):
        return expression.name
    if not isinstance(expression, tree.Reference):
        return None
    owned = scope.owns(expression.variable) or expression.index is not tree.Index.NONE
    return expression.attribute if owned else f"{expression.variable}.{expression.attribute}"
