"""The reader of definitions: YAML text to a StreamDefinition (schemas/stream.schema.json)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from urllib.parse import urlsplit

from saffron.errors import QueryError
from saffron.language.syntax.hints import known_names, listing, suggestion
from saffron.mapping.definition import (
    CSV,
    FORMATS,
    AttributeRule,
    CsvForm,
    Envelope,
    Header,
    OfMessage,
    Origin,
    SourceDefinition,
    Start,
    StreamDefinition,
    TimeFormat,
    TimeRule,
    TypeRule,
)
from saffron.mapping.kinds import As
from saffron.mapping.mapper import OWN, RESERVED
from saffron.mapping.paths import Path
from saffron.mapping.table_definition import NO_ADDS
from saffron.mapping.tables.table_reader import read_adds, read_tables
from saffron.mapping.time_formats import TimeError, zone_of
from saffron.mapping.where import condition
from saffron.mapping.yaml_nodes import Node, optional, path_of
from saffron.records.stream import JSON, WITH_REGISTRY, AppliedDefinition, is_name
from saffron.schema.event_types import is_type
from saffron.schema.iso_times import parse_iso
from saffron.schema.numbers import is_number_text, number_text

STREAM_FIELDS = (
    "stream",
    "key",
    "partitions",
    "disorder",
    "idle",
    "silence",
    "on_mismatch",
    "sources",
    "tables",
    "add",
)
SOURCE_FIELDS = (
    "topic", "type", "ts", "attributes", "only", "envelope", "explode", "where", "disorder", "idle", "start",
    "format", "registry",
)  # fmt: skip
ORIGINS = ("field", "header", "message")
TYPE_FIELDS = (*ORIGINS, "constant", "map")
CSV_FIELDS = ("columns", "separator")
TIME_FIELDS = (*ORIGINS, "format", "zone")
ATTRIBUTE_FIELDS = ("from", "header", "message", "as")
_REGISTRY = re.compile(r"https?://[^/@\s]+(/[^@\s]*)?")
_AROUND_ROWS = (Envelope.NONE.value, Envelope.CLOUDEVENTS.value)
"""Envelopes that do not touch a message's value."""
_WITH_OFFSET = re.compile(r"[T ].*(?:[zZ]|[+-]\d\d(?::?\d\d)?)$", re.ASCII)
MISMATCH = ("tell", "dead-letter")
MAX_SOURCES, MAX_PARTITIONS = 64, 10_000


def read_definition(text: str) -> StreamDefinition:
    """The definition in a text. DefinitionError, with the place, if there is none."""
    fields = Node.root(text).fields(STREAM_FIELDS, needed=("stream", "sources"))
    name = fields["stream"].scalar()
    if not is_name(name):
        fields["stream"].error("a stream's name has letters, digits, _ and - only")
    items = fields["sources"].items()
    if not 1 <= len(items) <= MAX_SOURCES:
        fields["sources"].error(f"a stream has 1 to {MAX_SOURCES} sources, this one {len(items)}")
    _refuse_twice(items)
    mismatch = fields["on_mismatch"].scalar() if "on_mismatch" in fields else MISMATCH[0]
    if mismatch not in MISMATCH:
        fields["on_mismatch"].error(f"`on_mismatch` is {' or '.join(MISMATCH)}")
    sources = tuple(_source(item, number) for number, item in enumerate(items))
    tables = read_tables(fields["tables"], sources) if "tables" in fields else ()
    key = optional(fields, "key", Node.scalar)
    return StreamDefinition(
        name,
        sources,
        key,
        optional(fields, "partitions", lambda node: node.whole(1, MAX_PARTITIONS)),
        optional(fields, "disorder", Node.milliseconds) or 0,
        optional(fields, "idle", Node.milliseconds) or None,
        mismatch == MISMATCH[1],
        optional(fields, "silence", Node.milliseconds) or None,
        tables,
        read_adds(fields["add"], tables, sources, key) if "add" in fields else NO_ADDS,
    )


def definition_of(applied: AppliedDefinition) -> StreamDefinition:
    """The definition that was applied, its sources with their numbers in the stream."""
    return read_definition(applied.text).numbered(applied.numbers)


def _refuse_twice(items: Sequence[Node]) -> None:
    """DefinitionError: a topic is the one of two sources."""
    seen = set()
    for item in items:
        topic = item.fields(SOURCE_FIELDS, needed=("topic",))["topic"]
        if topic.scalar() in seen:
            topic.error(
                f"topic {topic.scalar()} is another source's already",
                "One source reads a topic whole: its `type` can come from a field, with a `map`.",
            )
        seen.add(topic.scalar())


def _source(node: Node, number: int) -> SourceDefinition:
    """The source in an element of `sources`, the topic's name being the type where none is given.

    `number`: its place among the sources. DefinitionError: a field is wrong.
    """
    fields = node.fields(SOURCE_FIELDS, needed=("topic",))
    topic = fields["topic"].scalar()
    form, registry, csv = _written(node, fields)
    return SourceDefinition(
        topic,
        number,
        _type(fields["type"]) if "type" in fields else TypeRule(constant=topic),
        _time(fields["ts"]) if "ts" in fields else TimeRule(),
        _attributes(fields["attributes"]) if "attributes" in fields else MappingProxyType({}),
        optional(fields, "only", Node.flag) or False,
        optional(fields, "envelope", lambda one: one.choice(Envelope)) or Envelope.NONE,
        optional(fields, "explode", path_of),
        _where(fields["where"], csv) if "where" in fields else None,
        optional(fields, "disorder", Node.milliseconds),
        optional(fields, "idle", Node.milliseconds),
        _start(fields["start"]) if "start" in fields else Start.EARLIEST,
        form,
        registry,
        csv,
    )


def _where(node: Node, csv: CsvForm | None) -> str:
    text = node.scalar()
    try:
        condition(text, texts=csv is not None)
    except QueryError as error:
        node.error(error.message, error.hint, start=error.start, stop=error.end)
    return text


def _written(node: Node, fields: Mapping[str, Node]) -> tuple[str, str | None, CsvForm | None]:
    """(format, registry, csv) of a source."""
    given = fields.get("format")
    form, csv = (JSON, None) if given is None else _message_format(given)
    if (form in WITH_REGISTRY) != ("registry" in fields):
        if "registry" in fields:
            fields["registry"].error(f"messages in the format {form} need no registry")
        node.error(f"messages in the format {form} need the URL of their schema registry", "registry: http://HOST:8081")
    registry = fields["registry"].scalar() if "registry" in fields else None
    if registry is not None and not is_registry(registry):
        fields["registry"].error(
            "a registry is http://HOST:PORT or https://HOST:PORT", "A name and password go into SAFFRON_REGISTRY_AUTH."
        )
    if csv is not None:
        for name in ("explode", "envelope"):
            if name in fields and fields[name].scalar() not in _AROUND_ROWS:
                fields[name].error(f"a row of CSV has no `{name}`", "Each row of a message is an event.")
    return form, registry, csv


def is_registry(url: str) -> bool:
    """True if a text is the URL of a registry, without a name and password."""
    try:
        return _REGISTRY.fullmatch(url) is not None and bool(urlsplit(url).hostname)
    except ValueError:  # half an IPv6 address
        return False


def _message_format(node: Node) -> tuple[str, CsvForm | None]:
    """The format of messages, and the form of their rows, which is None unless the format is CSV.

    DefinitionError: the node is no known format, or its separator or columns are wrong.
    """
    if node.is_text:
        form = node.scalar()
        if form not in FORMATS:
            node.error(f"{node.what} cannot be {form!r}", known_names("There are", list(FORMATS), form))
        return form, CsvForm() if form == CSV else None
    fields = node.fields((CSV,), needed=(CSV,))[CSV].fields(CSV_FIELDS)
    separator = fields["separator"].scalar() if "separator" in fields else ","
    if separator == "\\t":
        separator = "\t"
    if len(separator) != 1 or separator in '"\r\n':
        fields["separator"].error("a separator is one character, and no quote", 'Write "," or ";" or "\\t".')
    if "columns" not in fields:
        return CSV, CsvForm(None, separator)
    columns = tuple(one.scalar() for one in fields["columns"].items())
    if twice := [one for one in fields["columns"].items() if columns.count(one.scalar()) > 1]:
        twice[-1].error(f"{twice[-1].scalar()} stands twice in the columns")
    if not columns:
        fields["columns"].error("rows have one column at least")
    return CSV, CsvForm(columns, separator)


def _start(node: Node) -> Start | int:
    """The place at which a source begins: an end of its topic, or a time in ms since 1970.

    DefinitionError: the node is neither, or a time without an offset.
    """
    text = node.scalar()
    if text in [one.value for one in Start]:
        return Start(text)
    moment = parse_iso(text) if _WITH_OFFSET.search(text) else None
    if moment is None:
        node.error(
            f"{node.what} is earliest, latest, or a time with its offset",
            "Write 2026-05-01T12:00:00Z or 2026-05-01T12:00:00+02:00.",
        )
    return moment


def _type(node: Node) -> TypeRule:
    """The rule for the type of a source's events. DefinitionError: the node says a type, and where it is, too."""
    if node.is_text:
        return TypeRule(constant=_name_of_type(node))
    fields = node.fields(TYPE_FIELDS)
    named = {key.scalar(): _name_of_type(value) for key, value in fields["map"].pairs()} if "map" in fields else {}
    names = {**{number_text(key): name for key, name in named.items() if is_number_text(key)}, **named}
    if "constant" in fields:
        if other := next((name for name in fields if name != "constant"), None):
            fields[other].error(f"a type that is constant has no `{other}`", "Leave `constant` or the others out.")
        return TypeRule(constant=_name_of_type(fields["constant"]))
    return TypeRule(origin=_origin(node, fields, "field"), names=MappingProxyType(names))


def _name_of_type(node: Node) -> str:
    name = node.scalar()
    if not is_type(name):
        node.error("an event's type is not empty and does not begin with $", "Those with $ are Saffron's own.")
    return name


def _time(node: Node) -> TimeRule:
    """The rule of an event's time: `message` for the message's own, else an origin with format and zone.

    ISO 8601 is the format where none is given. DefinitionError: the node is wrong.
    """
    if node.is_text:
        if node.scalar() != "message":
            node.error(
                "`ts` is `message`, or says where the time is", "Write: ts: {field: created_at, format: iso8601}"
            )
        return TimeRule()
    fields = node.fields(TIME_FIELDS)
    zone = None
    if "zone" in fields:
        try:
            zone = zone_of(fields["zone"].scalar())
        except TimeError as error:
            fields["zone"].error(str(error), "Zones are named as in Europe/Berlin.")
    form = _format(fields["format"]) if "format" in fields else TimeFormat.ISO
    return TimeRule(_origin(node, fields, "field"), form, zone)


def _format(node: Node) -> TimeFormat | str:
    text = node.scalar()
    if "%" not in text:
        return _named_format(node, text)
    try:
        datetime.strptime(datetime(2000, 2, 3, tzinfo=UTC).strftime(text), text)  # noqa: DTZ007 (only whether it fits)
    except ValueError as error:
        node.error(f"this is no pattern of strptime: {error}")
    return text


def _named_format(node: Node, text: str) -> TimeFormat:
    """The format of this name. DefinitionError: there is none; the message names one that may be meant."""
    known = [one.value for one in TimeFormat]
    if text not in known:
        unit = text.casefold().rpartition("_")[2]
        near = [form.value for start, form in _UNITS.items() if unit.startswith(start)]
        hint = f"Did you mean {near[0]!r}?" if near else suggestion(text, known)
        node.error(
            f"{node.what} cannot be {text!r}", f"There are: {listing(known)}, and patterns of strptime. {hint}".rstrip()
        )
    return TimeFormat(text)


_UNITS = {
    "sec": TimeFormat.SECONDS,
    "mil": TimeFormat.MILLISECONDS,
    "mic": TimeFormat.MICROSECONDS,
    "nan": TimeFormat.NANOSECONDS,
}
"""The format of an epoch by how others begin its unit: `epoch_seconds`, `millis`. A wrong unit would go unnoticed."""


def _attributes(node: Node) -> Mapping[str, AttributeRule]:
    """The rules of attributes by name. DefinitionError: a name is one of an event's own.

    An attribute such as `$.ts` is a message's own field `ts`: its rule may read that field alone.
    """
    found = {}
    for key, value in node.pairs():
        name = key.scalar()
        if name in RESERVED:
            other = f"event_{name.removeprefix('$')}"
            key.error(f"an event has its own `{name}`", f"Name the attribute otherwise, as {other}.")
        found[name] = _attribute(value)
        own = name.removeprefix(OWN)
        if own != name and own in RESERVED and found[name].origin != Path((own,)):
            what = f"`{name}` is the message's own `{own}`, which would be lost where it has one"
            key.error(what, f"Name the attribute otherwise, or read it from there: from: {own}.")
    return MappingProxyType(found)


def _attribute(node: Node) -> AttributeRule:
    if node.is_text:
        return AttributeRule(path_of(node))
    fields = node.fields(ATTRIBUTE_FIELDS)
    return AttributeRule(_origin(node, fields, "from"), optional(fields, "as", lambda one: one.choice(As)))


def _origin(node: Node, fields: Mapping[str, Node], path: str) -> Origin:
    """The origin of a value: one of a path, a header, and a part of the message."""
    said = [name for name in (path, "header", "message") if name in fields]
    if len(said) != 1:
        node.error(f"{node.what} needs one of `{path}`, `header` and `message`, and has {len(said)}")
    value = fields[said[0]]
    if said[0] == "header":
        return Header(value.scalar())
    return value.choice(OfMessage) if said[0] == "message" else path_of(value)
