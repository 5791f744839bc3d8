"""Names with dots, told apart by the pattern: the first word is a variable or a type of it, or begins a path."""

from __future__ import annotations

from dataclasses import replace

from saffron.language.syntax import tree
from saffron.language.syntax.expression_printer import expression_text
from saffron.language.syntax.parsing.parser import parse
from tests.reference.match.shape import shape_of
from tests.reference.rewritten import rewritten


def with_paths(text: str | tree.Query) -> tree.Query:
    """A query in which every dotted name without an owner is one name, and a key of a function "=" and its text."""
    query = parse(text) if isinstance(text, str) else text
    owners = shape_of(query.pattern).owners

    def attribute(one: tree.KeyAttribute) -> tree.KeyAttribute:
        if one.expression is not None:
            return tree.KeyAttribute(None, f"={expression_text(one.expression)}")
        path = one.owner is not None and one.owner not in owners
        return tree.KeyAttribute(None, f"{one.owner}.{one.name}") if path else one

    def leaf(one: tree.Expression) -> tree.Expression:
        if isinstance(one, tree.Key):
            return tree.Key(tuple(map(attribute, one.attributes)))
        if not isinstance(one, tree.Reference) or one.index is not tree.Index.NONE or one.variable in owners:
            return one
        path = f"{one.variable}.{one.attribute}"
        return tree.Name(path) if path in {item.name for item in group} else one

    group = tuple(map(attribute, query.group))
    returns = query.returns and replace(
        query.returns,
        items=tuple(replace(item, expression=rewritten(item.expression, leaf)) for item in query.returns.items),
    )
    return replace(
        query,
        conditions=tuple(rewritten(one, leaf) for one in query.conditions),
        group=group,
        having=query.having and rewritten(query.having, leaf),
        returns=returns,
    )
