"""`tables` and `add` of a definition's YAML (schemas/stream.schema.json)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from saffron.language.syntax.hints import known_names
from saffron.mapping.kinds import As
from saffron.mapping.mapper import RESERVED
from saffron.mapping.table_definition import AddRule, TableDefinition
from saffron.mapping.yaml_nodes import Node, optional, path_of
from saffron.records.stream import is_name

if TYPE_CHECKING:
    from saffron.mapping.definition import SourceDefinition

TABLE_FIELDS = ("name", "topic", "file", "key")
ADD_FIELDS = ("table", "key", "take", "as")
MAX_TABLES, MAX_ADDS = 64, 64


def read_tables(node: Node, sources: Sequence[SourceDefinition]) -> tuple[TableDefinition, ...]:
    """The tables of a stream, each name once."""
    items = node.items()
    if not 1 <= len(items) <= MAX_TABLES:
        node.error(f"a stream has 1 to {MAX_TABLES} tables, this one {len(items)}")
    found: dict[str, TableDefinition] = {}
    for item in items:
        fields = item.fields(TABLE_FIELDS, needed=("name", "key"))
        name = fields["name"].scalar()
        if not is_name(name):
            fields["name"].error("a table's name has letters, digits, _ and - only")
        if name in found:
            fields["name"].error(f"{name} is another table's name already")
        if ("topic" in fields) == ("file" in fields):
            item.error("a table has its rows from one of `topic` and `file`")
        if "topic" in fields and fields["topic"].scalar() in [one.topic for one in sources]:
            fields["topic"].error("this topic is a source of the stream, and cannot be a table, too")
        found[name] = TableDefinition(
            name, path_of(fields["key"]), optional(fields, "topic", Node.scalar), optional(fields, "file", Node.scalar)
        )
    return tuple(found.values())


def read_adds(
    node: Node, tables: Sequence[TableDefinition], sources: Sequence[SourceDefinition], key: str | None
) -> Mapping[str, AddRule]:
    """The attributes from tables. `key`: the stream's own."""
    pairs = [(name, name.scalar(), value) for name, value in node.pairs()]
    if len(pairs) > MAX_ADDS:
        node.error(f"a stream adds at most {MAX_ADDS} attributes, this one {len(pairs)}")
    added = {name for _, name, _ in pairs}
    found = {}
    for at, name, value in pairs:
        if name in RESERVED:
            at.error(f"an event has its own `{name}`", "Name the attribute otherwise.")
        if name == key:
            at.error(f"{name} is the stream's key, and a key comes from the message", "Name the attribute otherwise.")
        for source in sources:
            if name in source.attributes:
                at.error(f"source {source.topic} has a rule for {name} already", "Name the attribute otherwise.")
        found[name] = _add(value, [one.name for one in tables], added)
    return MappingProxyType(found)


def _add(node: Node, tables: Sequence[str], added: set[str]) -> AddRule:
    """The rule of an attribute from one of the stream's `tables`. `added`: names of all such attributes.

    DefinitionError: there is no such table, `as` has no `take`, or the look-up's key is itself such an attribute.
    """
    fields = node.fields(ADD_FIELDS, needed=("table", "key"))
    table, key = fields["table"].scalar(), fields["key"].scalar()
    if table not in tables:
        hint = known_names("There are", list(tables), table) if tables else "Name it under `tables`."
        fields["table"].error(f"there is no table {table}", hint)
    if key in added:
        fields["key"].error(f"{key} comes from a table, and a look-up's key comes from the message")
    if "as" in fields and "take" not in fields:
        fields["as"].error("without `take` the attribute is true or false, and has no `as`")
    kind = optional(fields, "as", lambda one: one.choice(As))
    return AddRule(table, key, optional(fields, "take", path_of), kind)
