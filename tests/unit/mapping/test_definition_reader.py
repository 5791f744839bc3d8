"""Definitions of streams: what is written is what is read, and an error shows its place."""

from __future__ import annotations

import json
from pathlib import Path as File
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from saffron.mapping import definition_reader as reader
from saffron.mapping.definition import (
    AttributeRule,
    CsvForm,
    Envelope,
    Header,
    OfMessage,
    Start,
    TimeFormat,
    TimeRule,
    TypeRule,
)
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.kinds import As
from saffron.mapping.paths import Path
from saffron.mapping.yaml_nodes import DefinitionError

SCHEMA: dict[str, Any] = json.loads((File(__file__).parents[3] / "schemas/stream.schema.json").read_text("utf-8"))
SHOP = """\
stream: shop
key: order_id
partitions: 6
disorder: 5s
idle: 10s
silence: 30s
on_mismatch: dead-letter
sources:
- topic: orders
  ts: {field: created_at, format: iso8601, zone: Europe/Berlin}
  attributes:
    total: {from: total, as: number}
    sku: items[1].sku
    trace: {header: trace-id}
    sent: {message: time}
- topic: payments
  type: {field: status, map: {SUCCEEDED: Paid, FAILED: PaymentFailed}}
  ts: {field: paid_at, format: epoch_s}
  only: true
  attributes: {order_id: order.id, brand: '"card.data".brand'}
- topic: shipments
  type: {header: ce_type}
  envelope: debezium
  explode: Records
  disorder: 1m
  start: latest
- topic: returns
  format: avro
  registry: http://registry:8081
  start: "2026-05-01T12:00:00+02:00"
"""


def test_a_definition_is_read_whole() -> None:
    shop = read_definition(SHOP)
    assert (shop.name, shop.key, shop.partitions) == ("shop", "order_id", 6)
    assert (shop.disorder, shop.idle, shop.silence) == (5000, 10_000, 30_000)
    assert shop.dead_letters
    orders, payments, shipments, returns = shop.sources
    assert orders.type == TypeRule(constant="orders")
    assert orders.time.form is TimeFormat.ISO
    assert str(orders.time.zone) == "Europe/Berlin"
    assert orders.attributes["total"] == AttributeRule(Path(("total",)), As.NUMBER)
    assert orders.attributes["sku"] == AttributeRule(Path(("items", 1, "sku")))
    assert orders.attributes["trace"] == AttributeRule(Header("trace-id"))
    assert orders.attributes["sent"] == AttributeRule(OfMessage.TIME)
    assert payments.type.names == {"SUCCEEDED": "Paid", "FAILED": "PaymentFailed"}
    assert payments.only
    assert payments.attributes["brand"] == AttributeRule(Path(("card.data", "brand")))
    assert (shipments.number, shipments.type) == (2, TypeRule(origin=Header("ce_type")))
    assert (shipments.envelope, shipments.explode) == (Envelope.DEBEZIUM, Path(("Records",)))
    assert (shipments.time, shipments.disorder) == (TimeRule(), 60_000)
    assert (orders.format, orders.registry, orders.csv) == ("json", None, None)
    assert (returns.format, returns.registry) == ("avro", "http://registry:8081")
    assert (orders.start, shipments.start, returns.start) == (Start.EARLIEST, Start.LATEST, 1_777_629_600_000)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("csv", CsvForm()),
        ("{csv: {columns: [a, b]}}", CsvForm(("a", "b"))),
        ("{csv: {separator: ;}}", CsvForm(None, ";")),
        ('{csv: {columns: [a], separator: "\\t"}}', CsvForm(("a",), "\t")),
        ("{csv: {columns: [a], separator: \\t}}", CsvForm(("a",), "\t")),
    ],
)
def test_rows_of_csv_have_columns_and_a_separator(text: str, form: CsvForm) -> None:
    written = f"stream: a\nsources:\n- topic: t\n  format: {text}"
    (source,) = read_definition(written).sources
    assert (source.format, source.csv) == ("csv", form)
    assert not list(Draft202012Validator(SCHEMA).iter_errors(yaml.safe_load(written)))


def test_a_time_needs_no_quotes() -> None:
    read = read_definition("stream: a\nsources:\n- topic: t\n  start: 2026-05-01T12:00:00Z")
    assert read.sources[0].start == 1_777_636_800_000


def test_the_schema_for_editors_takes_it() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert not list(Draft202012Validator(SCHEMA).iter_errors(yaml.safe_load(SHOP)))


@pytest.mark.parametrize(
    ("known", "properties"),
    [
        (reader.STREAM_FIELDS, SCHEMA["properties"]),
        (reader.SOURCE_FIELDS, SCHEMA["$defs"]["source"]["properties"]),
        (
            reader.CSV_FIELDS,
            SCHEMA["$defs"]["source"]["properties"]["format"]["oneOf"][1]["properties"]["csv"]["properties"],
        ),
        (reader.TYPE_FIELDS, SCHEMA["$defs"]["source"]["properties"]["type"]["oneOf"][1]["properties"]),
        (reader.TIME_FIELDS, SCHEMA["$defs"]["source"]["properties"]["ts"]["oneOf"][1]["properties"]),
        (
            reader.ATTRIBUTE_FIELDS,
            SCHEMA["$defs"]["source"]["properties"]["attributes"]["additionalProperties"]["oneOf"][1]["properties"],
        ),
    ],
)
def test_the_schema_has_the_fields_that_are_read(known: tuple[str, ...], properties: dict[str, Any]) -> None:
    assert sorted(known) == sorted(properties)


ERRORS = {
    "stream: a b\nsources: [{topic: t}]": ("a stream's name", "LINE 1: stream: a b", "        ^^^"),
    "sources: [{topic: t}]": ("needs `stream`", "LINE 1", ""),
    "stream: a\nsources: []": ("1 to 64 sources", "LINE 2", ""),
    "stream: a\nsources:\n- topic: t\n  typ: x": ("has no `typ`", "LINE 4:   typ: x", "Did you mean 'type'?"),
    "stream: a\nsources:\n- topic: t\n  topic: u": ("stands twice", "LINE 4", ""),
    "stream: a\nsources:\n- topic: t\n  ts: {field: a..b}": ("names joined by dots", "LINE 4", "order.id"),
    "stream: a\nsources:\n- topic: t\n  ts: {field: 'a[0]'}": ("counted from 1", "LINE 4", "items[1].sku"),
    "stream: a\nsources:\n- topic: t\n  ts: created_at": ("is `message`", "LINE 4", "ts: {field: created_at"),
    "stream: a\nsources:\n- topic: t\n  ts: {field: a, format: epoch}": ("cannot be 'epoch'", "LINE 4", "epoch_s"),
    "stream: a\nsources:\n- topic: t\n  ts: {field: a, format: epoch_seconds}": (
        "cannot be",
        "LINE 4",
        "mean 'epoch_s'",
    ),
    "stream: a\nsources:\n- topic: t\n  ts: {field: a, format: Epoch_Millis}": (
        "cannot be",
        "LINE 4",
        "mean 'epoch_ms'",
    ),
    "stream: a\nsources:\n- topic: t\n  ts: {field: a, format: microseconds}": (
        "cannot be",
        "LINE 4",
        "mean 'epoch_us'",
    ),
    "stream: a\nsources:\n- topic: t\n  ts: {field: a, format: epoch_nanos}": (
        "cannot be",
        "LINE 4",
        "mean 'epoch_ns'",
    ),
    "stream: a\nsources:\n- topic: t\n  ts: {field: a, format: '%Q'}": ("no pattern of strptime", "LINE 4", ""),
    "stream: a\nsources:\n- topic: t\n  ts: {field: a, zone: Berlin}": ("no time zone 'Berlin'", "LINE 4", "Europe/"),
    "stream: a\nsources:\n- topic: t\n  type: {map: {a: b}}": ("needs one of `field`", "LINE 4", ""),
    "stream: a\nsources:\n- topic: t\n  attributes: {ts: a}": ("an event has its own `ts`", "LINE 4", "event_ts"),
    "stream: a\nsources:\n- topic: t\n  attributes: {$topic: a}": ("has its own `$topic`", "LINE 4", "as event_topic"),
    "stream: a\nsources:\n- topic: t\n  attributes: {$.ts: a}": ("the message's own `ts`", "LINE 4", "from: ts"),
    "stream: a\nsources:\n- topic: t\n  attributes: {$.$topic: a}": ("own `$topic`", "LINE 4", "otherwise"),
    "stream: a\nsources:\n- topic: t\n  type: $pageview": ("does not begin with $", "LINE 4", "Saffron's own"),
    "stream: a\nsources:\n- topic: t\n  type: ''": ("is not empty", "LINE 4", "Saffron's own"),
    "stream: a\nsources:\n- topic: t\n  type: {constant: x, field: kind}": ("has no `field`", "LINE 4", "Leave"),
    "stream: a\nsources:\n- topic: t\n  type: {constant: x, map: {a: b}}": ("has no `map`", "LINE 4", "Leave"),
    "stream: a\nsources:\n- topic: t\n  type: {constant: $x}": ("does not begin with $", "LINE 4", "Saffron's own"),
    "stream: a\nsources:\n- topic: t\n  type: {field: a, map: {b: ''}}": ("is not empty", "LINE 4", "Saffron's own"),
    "stream: a\nidle: 5x\nsources: [{topic: t}]": ("should be a duration", "LINE 2: idle: 5x", "500ms"),
    "stream: a\nidle: 10\nsources: [{topic: t}]": ("a duration", "LINE 2: idle: 10\n              ^^", "10s or 10ms"),
    "stream: a\npartitions: 0\nsources: [{topic: t}]": ("from 1 to 10000", "LINE 2", ""),
    "stream: a\non_mismatch: drop\nsources: [{topic: t}]": ("tell or dead-letter", "LINE 2", ""),
    "stream: a\nsources: [{topic: t, only: maybe}]": ("true or false", "LINE 2", ""),
    "stream: a\nsources: {topic: t}": ("should be a list", "LINE 2", "dash"),
    "stream: a\nsources:\n- topic: t\n  ts: {field: a[1]}": ("no YAML", "LINE 4", "stands in quotes"),
    "stream: a\nsources:\n- topic: t\n  start: now": ("earliest, latest, or a time", "LINE 4", "2026-05-01T12:00:00Z"),
    "stream: a\nsources:\n- topic: t\n  start: 2026-05-01T12:00:00": (
        "with its offset",
        "LINE 4:   start: 2026",
        "+02:00",
    ),
    "stream: a\nsources:\n- topic: t\n  start: 2026-05-01": ("with its offset", "LINE 4", "+02:00"),
    "stream: a\nsources:\n- topic: t\n  start: 2026-13-01T12:00:00Z": ("with its offset", "LINE 4", "+02:00"),
    "stream: a\nsources:\n- topic: t\n  format: xml": ("cannot be 'xml'", "LINE 4", "json-schema"),
    "stream: a\nsources:\n- topic: t\n  format: avro": ("need the URL of their schema registry", "LINE 3", "registry:"),
    "stream: a\nsources:\n- topic: t\n  registry: http://r": ("format json need no registry", "LINE 4", ""),
    "stream: a\nsources:\n- topic: t\n  format: avro\n  registry: http://a:b@r": ("http://HOST", "LINE 5", "SAFFRON_R"),
    "stream: a\nsources:\n- topic: t\n  format: {csv: {separator: ab}}": ("one character", "LINE 4", "Write"),
    "stream: a\nsources:\n- topic: t\n  format: {csv: {columns: [a, a]}}": ("a stands twice", "LINE 4", ""),
    "stream: a\nsources:\n- topic: t\n  format: {csv: {columns: []}}": ("one column at least", "LINE 4", ""),
    "stream: a\nsources:\n- topic: t\n  format: csv\n  envelope: lines": ("has no `envelope`", "LINE 5", "is an event"),
    "stream: a\nsources:\n- topic: t\n  format: csv\n  explode: a": ("has no `explode`", "LINE 5", "is an event"),
    "stream: a\npatience: 30s\nsources: [{topic: t}]": ("has no `patience`", "LINE 2", "There are"),
    "[" * 20_000: ("nested too deep", "", ""),
    "stream: [": ("no YAML", "LINE 1", ""),
    "stream: a\nsources:\n\t- topic: t": ("no YAML", "LINE 3", "by spaces"),
    'stream: a\nsources:\n- topic: t\n  type: "T\n\n\n': ("no YAML", "LINE 4", "not closed"),
    "stream: a\nsources:\n- topic: t\n  type: T: U": ("no YAML", "LINE 4", "stands in quotes"),
    "stream: a\nsources:\n- topic: @t": ("no YAML", "LINE 3", "stands in quotes"),
    "stream: a\nsources:\n- topic: *t": ("no YAML", "LINE 3", "begins with *"),
    "stream: a\nsources:\n- topic: t\n type: T": ("no YAML", "LINE 4", "in one column"),
    "stream: a\nsources:\n- topic: t\n  type: 'T's'": ("no YAML", "LINE 4", "written twice"),
    "stream: a\nsources:\n- topic: t\n  ts: {field: a\n  type: T": ("no YAML", "LINE 5", "ends with }"),
    "stream: a\nsources:\n- topic: t\n  where: !x > 1": ("no YAML", "LINE 4", "begins with !"),
    "stream: a\nsources:\n- topic: t\n  where: x >": ("the end of the condition", "LINE 4", "as in x > 1"),
    "": ("empty", "stream: NAME", ""),
}


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_says_what_where_and_how_to_mend_it(text: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        read_definition(text)
    for part in ERRORS[text]:
        assert part in str(raised.value)
