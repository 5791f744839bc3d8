"""The content of `streams`, where something else writes to it."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest

from saffron.engine.events.decoding.growth import knows
from saffron.engine.events.schema_record import schema_to_record
from saffron.records.table import Unreadable
from saffron.records.version import VersionRecord
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.known_streams import KnownStreams
from saffron.runtime.streams.schema_versions import is_complete
from saffron.schema.schema import Kind, Schema

PRICES = Schema({"price": Kind.FLOAT}, {"Quote": ("price",)}, {})


def known(*values: bytes) -> KnownStreams:
    found = KnownStreams(Topics("t."))
    first = VersionRecord("s", 3, schema_to_record(PRICES))
    for offset, value in enumerate((first.encode(), *values)):
        found.apply(b"s/schema", value, offset)
    return found


@pytest.mark.parametrize("value", [b"zz", b"{}", b'{"record":1,"stream":"s","version":4,"schema":{"kinds":7}}'])
def test_a_version_that_cannot_be_read_is_written_anew_with_all_that_was_known(value: bytes) -> None:
    """Kafka forgets the one before."""
    version = known(value).versions.of("s")
    assert version is not None
    assert not is_complete(version, PRICES), "so that windowing writes the next"
    assert (version.number, version.combined) == (3, PRICES)
    following = VersionRecord("s", 4, schema_to_record(version.combined)).encode()
    healed = known(value, following).versions.of("s")
    assert healed is not None
    assert is_complete(healed, PRICES)


def test_a_version_of_no_stream_that_cannot_be_read_is_none() -> None:
    found = KnownStreams(Topics("t."))
    assert isinstance(found.apply(b"s/schema", b"zz", 0), Unreadable)
    assert found.versions.of("s") is None


GOOD = schema_to_record(PRICES)
VALUES: list[Any] = [None, 5, "x", [], {}, [1], {"price": 5}, {"price": "weird"}, {"Quote": 5}, {"Quote": ["size"]}]


def test_a_version_whose_schema_is_none_is_named_and_a_readable_one_ends_that() -> None:
    for field, value in itertools.product(("kinds", "types", "required"), VALUES):
        if value == GOOD[field]:
            continue
        record = VersionRecord("s", 4, {**GOOD, field: value})
        found = known(record.encode())
        version = found.versions.of("s")
        assert version is not None
        if found.unreadable:
            assert [(one.key, one.offset) for one in found.unreadable] == [("s/schema", 1)]
            assert version.combined == PRICES
            found.apply(b"s/schema", VersionRecord("s", 5, GOOD).encode(), 2)
            assert found.unreadable == []
        else:
            assert knows(version.combined, PRICES), "every attribute of a type has a kind"
            assert all(name in version.schema.kinds for names in version.schema.types.values() for name in names)


DEFINITION = {"text": "stream: s\nsources: [{topic: orders}]", "numbers": {"orders": 0}, "version": 1}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"schema": {"type": "array"}}, "type"),
        ({"schema": {"type": "object", "properties": {"type": 5}}}, "#/properties/type"),
        ({"definition": DEFINITION | {"text": "stream: s\nsources: 5"}}, "`sources` should be a list"),
        ({"definition": DEFINITION | {"text": "stream: [s\n"}}, "definition error"),
        ({"definition": DEFINITION | {"text": "stream: s\nsources: [{topic: orders, later: 5}]"}}, "later"),
        ({"definition": DEFINITION | {"numbers": {"payments": 0}}}, "has no source 'orders'"),
        ({"topic": "my topic"}, "'my topic'"),
        ({"topic": ""}, "''"),
        ({"generation": 0}, '"generation" should be 1 or more'),
    ],
)
def test_a_stream_that_no_service_could_read_is_unreadable_and_the_one_before_stays(
    fields: dict[str, Any], why: str
) -> None:
    """Whichever reader meets its parts first would end with them, and with it all other streams."""
    found = KnownStreams(Topics("t."))
    before = {"name": "s", "topic": "s", "definition": DEFINITION}
    found.apply(b"s", orjson.dumps(before), 0)
    found.apply(b"s", orjson.dumps(before | fields), 1)
    assert found.all()["s"].definition is not None
    (unreadable,) = found.unreadable
    assert (unreadable.key, unreadable.offset) == ("s", 1)
    assert why in unreadable.reason
