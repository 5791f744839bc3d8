"""The look-ups in tables (`a.x IN t`) that a query asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache

from saffron.errors import QueryError
from saffron.language.syntax.parsing.parser import parse
from saffron.language.syntax.tree import Next, Node, Reference, Span
from saffron.schema.table_names import Lookup


def lookups_in(node: Node) -> Iterator[tuple[Lookup, Span]]:
    """The look-ups in a query or a part of it, each with its place in the text."""
    if isinstance(node, Reference | Next) and (one := Lookup.of_name(node.attribute or "")) is not None:
        yield one, node.span
    for each in fields(node):
        value = getattr(node, each.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Node):
                yield from lookups_in(part)


@lru_cache(maxsize=4_096)
def lookups_of(text: str, stream: str) -> frozenset[Lookup]:
    """The look-ups of a query's text in the tables of a stream; none if it reads another one, or is no query."""
    try:
        query = parse(text)
    except QueryError:
        return frozenset()
    return frozenset(one for one, _ in lookups_in(query)) if query.stream == stream else frozenset()
