"""Adding streams, on the in-memory log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
import typer

from saffron.cli.client import Client
from saffron.cli.stream_changes import Given, check_format, check_name, put_rekeyed, put_stream
from saffron.errors import InputError
from saffron.runtime.config import Settings
from saffron.runtime.memory_broker import MemoryBroker
from saffron.runtime.memory_log import MemoryLog
from saffron.runtime.topics import topic_specs
from tests.contracts.test_schemas import validator

GIVEN = Given("quotes", None, "symbol", None, "json", None, None, None, 3)


@pytest.fixture
def client() -> Iterator[Client]:
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics(topic_specs("t.", 2))
    yield Client(Settings(prefix="t.", bootstrap="memory"), log)
    log.close()


def test_a_stream_has_topics_and_a_record_that_keeps_the_contract(client: Client) -> None:
    row, count = put_stream(client, replace(GIVEN, form="avro", registry="http://registry:8081", disorder=5))
    assert (row["topic"], count, client.log.partitions("t.quotes.windows")) == ("t.quotes", 3, 3)
    written: dict[str, Any] = client.table(client.topics.streams)["quotes"]
    assert written == row
    validator("streams").validate(orjson.loads(orjson.dumps(written)))
    with pytest.raises(InputError, match="has the format avro"):
        put_stream(client, GIVEN)


def test_a_stream_made_from_another_has_its_format_schema_and_bounds(client: Client) -> None:
    schema = {"type": "object", "properties": {"type": {"const": "A"}}}
    put_stream(client, replace(GIVEN, schema=schema, form="avro", registry="http://r", disorder=5, idle=7))
    row, count = put_rekeyed(client, replace(GIVEN, name="by_sector", key="sector", partitions=None), "quotes")
    assert (row["from"], row["key"], row["topic"], count) == ("quotes", "sector", "t.by_sector", 3)
    assert [row[part] for part in ("schema", "format", "registry", "disorder", "idle")] == [
        schema, "avro", "http://r", 5, 7,
    ]  # fmt: skip
    validator("streams").validate(orjson.loads(orjson.dumps(row)))
    one, count = put_rekeyed(client, replace(GIVEN, name="in_one", key=None, partitions=1, idle=9), "quotes")
    assert (one["key"], one["idle"], count, client.log.partitions("t.in_one")) == (None, 9, 1, 1)


def test_what_could_not_be_made_exactly_is_refused(client: Client) -> None:
    put_rekeyed(client, replace(GIVEN, name="by_sector", key="sector"), "events")
    with pytest.raises(InputError, match="is made from events itself: give --from events"):
        put_rekeyed(client, GIVEN, "by_sector")
    with pytest.raises(InputError, match=r"already \(from events, key sector\)"):
        put_rekeyed(client, replace(GIVEN, name="by_sector"), "events")
    with pytest.raises(InputError, match="made from events: give --from"):
        put_stream(client, replace(GIVEN, name="by_sector"))
    with pytest.raises(InputError, match="no stream 'nobody'"):
        put_rekeyed(client, GIVEN, "nobody")
    with pytest.raises(InputError, match="with a topic of its own"):
        put_rekeyed(client, replace(GIVEN, name="events"), "events")
    with pytest.raises(typer.BadParameter, match="--partitions 1"):
        put_rekeyed(client, replace(GIVEN, key=None), "events")


@pytest.mark.parametrize(
    ("form", "registry", "why"),
    [
        ("avro", None, "needs --registry"),
        ("json", "http://r", "need none"),
        ("json-schema", "http://r", "need none"),
        ("protobuf", "r:8081", "http://HOST:PORT"),
        ("avro", "http://me:secret@r", "registry_auth"),
    ],
)
def test_a_format_and_its_registry_go_together(form: str, registry: str | None, why: str) -> None:
    with pytest.raises(typer.BadParameter, match=why):
        check_format(form, registry)


def test_names_are_what_queries_can_say() -> None:
    check_name("events_by_sector")
    with pytest.raises(typer.BadParameter, match="no name of a stream"):
        check_name("a.b")
