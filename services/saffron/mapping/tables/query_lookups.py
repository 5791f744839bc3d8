"""Look-ups that queries ask for (`a.x IN t`), as attributes beside those that a definition adds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from saffron.errors import QueryError
from saffron.language.syntax.hints import known_names
from saffron.language.syntax.parsing.parser import parse
from saffron.language.syntax.table_lookups import lookups_in
from saffron.mapping.definition import StreamDefinition
from saffron.mapping.table_definition import NO_ADDS, AddRule
from saffron.schema.table_names import Lookup


def for_queries(definition: StreamDefinition, texts: Iterable[str]) -> StreamDefinition:
    """The definition with the look-ups of those queries that are of its stream. QueryError: see `require_tables`."""
    own = [text for text in texts if parse(text).stream == definition.name]
    for text in own:
        require_tables(text, definition)
    return with_lookups(definition, (one for text in own for one, _ in lookups_in(parse(text))))


def with_lookups(definition: StreamDefinition, lookups: Iterable[Lookup]) -> StreamDefinition:
    """The definition with these attributes too, as far as it has the tables."""
    tables = {one.name for one in definition.tables}
    more = {one.name: AddRule(one.table, one.attribute) for one in sorted(lookups) if one.table in tables}
    return replace(definition, add=MappingProxyType({**definition.add, **more})) if more else definition


def require_tables(text: str, definition: StreamDefinition | None) -> None:
    """QueryError: the query's look-ups cannot be made in its stream. `definition`: None for one without tables."""
    tables = [] if definition is None else [one.name for one in definition.tables]
    added = NO_ADDS if definition is None else definition.add
    query = parse(text)
    for one, span in lookups_in(query):
        if one.table not in tables:
            message = f"stream {query.stream or 'events'} has no table {one.table}"
            known = known_names("It has", tables, one.table) if tables else "A stream's definition names its tables."
            hint = f"{known} Values stand in brackets: a.x IN ('p', 'q')."
        elif one.attribute in added:
            message = f"{one.attribute} comes from a table, and what is looked up comes from the message"
            hint = f"Its own row is found by {added[one.attribute].key}, which the message has."
        else:
            continue
        raise QueryError(message, stage="schema", text=text, start=span.start, end=span.end, hint=hint)
